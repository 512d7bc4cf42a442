import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { littleMemory } from '../../tools/image/lateen-image.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'

/** A server that runs. */
export interface RunningContender extends AsyncDisposable {
  pid: number
  /** What it has logged, if that is known. */
  readonly log?: readonly string[]
}

/** A server that takes backups. */
export interface Contender {
  name: string
  /** Where its objects live. */
  namespace: string
  start(cluster: Pick<Cluster, 'kubeconfigPath' | 's3'>): Promise<RunningContender>
}

/** Velero with these flags, and with these plugins beside the one for S3. */
export function velero(name: string, flags: readonly string[], plugins: readonly string[] = []): Contender {
  const namespace = 'velero-server'
  return { name, namespace, start: cluster => startVeleroServer({ cluster, namespace, flags, plugins }) }
}

/** Lateen as it is shipped, with these flags beyond those that it needs here. */
export function lateen(
  folder: string,
  entry: string,
  { name = 'Lateen', flags = [] }: { name?: string; flags?: readonly string[] } = {},
): Contender {
  const namespace = 'lateen-server'
  return { name, namespace, start: cluster => startLateen(cluster, { folder, entry, namespace, flags }) }
}

/** Lateen as it is shipped, and Velero as it is installed and as people tune it. */
export function contenders(folder: string, entry: string) {
  return {
    ours: lateen(folder, entry),
    theirs: velero('Velero 1.18.3', []),
    tuned: velero('Velero 1.18.3, 8 workers, QPS 1000', [
      '--item-block-worker-count=8',
      '--client-qps=1000',
      '--client-burst=2000',
    ]),
  }
}

async function startLateen(
  { kubeconfigPath, s3 }: Pick<Cluster, 'kubeconfigPath' | 's3'>,
  given: { folder: string; entry: string; namespace: string; flags: readonly string[] },
): Promise<RunningContender> {
  const { folder, entry, namespace, flags } = given
  const credentials = path.join(folder, 'credentials')
  const keys = `aws_access_key_id = ${s3.accessKeyId}\naws_secret_access_key = ${s3.secretAccessKey}\n`
  await writeFile(credentials, `[default]\n${keys}`)
  const scratch = path.join(folder, 'scratch')
  await mkdir(scratch, { recursive: true })
  const usual = ['--namespace', namespace, '--metrics-address=', '--log-format=json']
  const command = [entry, 'server', ...usual, ...flags]
  const child = spawn(process.execPath, command, {
    env: {
      ...littleMemory,
      PATH: process.env.PATH ?? '',
      HOME: folder,
      KUBECONFIG: kubeconfigPath,
      AWS_SHARED_CREDENTIALS_FILE: credentials,
      VELERO_SCRATCH_DIR: scratch,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  const started = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      log = `${log}${chunk}`.slice(-100_000)
      if (log.includes('controllers started')) resolve()
    })
    child.once('exit', code => reject(new Error(`lateen server ended with ${code}:\n${log}`)))
  })
  await started
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
