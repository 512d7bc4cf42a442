import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** What `kopia` takes for the same folders without a cluster around it, in seconds. */
export interface KopiaTimes {
  readonly first: number
  readonly again: number
  readonly restore: number
}

/** Runs `kopia` on folders, one after the other, with a repository of its own in the cluster's bucket. `scratch` is emptied afterwards. */
export async function kopiaAlone(
  { s3 }: Pick<Cluster, 's3'>,
  { folders, scratch, prefix }: { folders: readonly string[]; scratch: string; prefix: string },
): Promise<KopiaTimes> {
  const program = await tool('kopia')
  await mkdir(scratch, { recursive: true })
  const env = {
    ...process.env,
    KOPIA_PASSWORD: 'bench-password',
    KOPIA_CONFIG_PATH: path.join(scratch, 'repository.config'),
    KOPIA_LOG_DIR: path.join(scratch, 'logs'),
    KOPIA_CHECK_FOR_UPDATES: 'false',
    KOPIA_USE_KEYRING: 'false',
    HOME: scratch,
  }
  const kopia = (...args: string[]) => runCommand(program, [...args, '--no-progress'], { env })
  const { host, protocol } = new URL(s3.endpoint)
  await kopia(
    ...['repository', 'create', 's3', `--bucket=${s3.bucket}`, `--prefix=${prefix}/`, `--endpoint=${host}`],
    ...[
      `--access-key=${s3.accessKeyId}`,
      `--secret-access-key=${s3.secretAccessKey}`,
      `--region=${s3.region}`,
    ],
    ...(protocol === 'http:' ? ['--disable-tls'] : []),
    `--cache-directory=${path.join(scratch, 'cache')}`,
  )
  const ids: string[] = []
  const snapshot = async () => {
    for (const folder of folders) {
      const printed = await kopia('snapshot', 'create', folder, '--json', '--no-auto-maintenance')
      ids.push((JSON.parse(printed) as { id: string }).id)
    }
  }
  const first = await secondsOf(snapshot)
  const again = await secondsOf(snapshot)
  // A mover has no cache from its backup either.
  await kopia('cache', 'clear')
  const restore = await secondsOf(async () => {
    for (const [at, id] of ids.slice(0, folders.length).entries()) {
      await kopia('restore', id, path.join(scratch, 'restored', String(at)))
    }
  })
  await rm(scratch, { recursive: true, force: true })
  return { first, again, restore }
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
