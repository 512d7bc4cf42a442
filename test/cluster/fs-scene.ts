import assert from 'node:assert/strict'
import { mkdtempDisposable } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, type TestContext } from 'node:test'
import type { PodVolumeBackup, PodVolumeRestore } from '@lateen/api'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import type { Given } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { deliverLateen } from '../../tools/image/deliver-lateen.ts'
import { type KopiaRepository, kopiaRepository } from '../compat/kopia.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { s3Flags } from './install-scene.ts'

/** What an installation for file system backups is to be like. */
export interface FsSceneOptions {
  /** Of the installation; no other test file may use it. Its backups are below a prefix of the same name. */
  namespace: string
  /** More flags of `lateen install`. */
  flags?: readonly string[]
}

/** Lateen with its node agent, installed on a node. */
export interface FsScene {
  readonly namespace: string
  /** Runs the CLI on this installation, whatever its exit code. */
  lateen(...args: string[]): Promise<Ended>
  /** Runs the CLI on this installation and returns what it says. Throws unless it succeeds. */
  succeed(...args: string[]): Promise<string>
  /** The objects in the installation's namespace, of a backup or restore where one is named. */
  podVolumeBackups(backup?: string): Promise<PodVolumeBackup[]>
  podVolumeRestores(restore?: string): Promise<PodVolumeRestore[]>
  /** The names of movers' pods that are there. */
  moverPods(): Promise<string[]>
  /** Waits until every PodVolumeBackup and PodVolumeRestore is in a last phase, and no mover is left. */
  settled(): Promise<void>
  /** The repository of a namespace's volumes, for the kopia program. */
  kopia(t: TestContext, volumeNamespace: string): Promise<KopiaRepository>
}

/**
 * Installations that share a node ask for little of it. Four servers with the usual half a core have all of a node with two, of which
 * the kubelet then refuses movers that ask for anything.
 */
export const modestServer = ['--velero-pod-cpu-request=10m']

/**
 * Lateen with its node agent on the node of a cluster, for the suite that is being described: installed before its tests and removed after them.
 */
export async function fsScene(given: Given, { namespace, flags = [] }: FsSceneOptions): Promise<FsScene> {
  const kubectl: Cluster['kubectl'] = (...args) => given.cluster.kubectl(...args)
  const run: Lateen = given.skip
    ? () => Promise.reject(new Error(given.skip || ''))
    : await lateenFor(given.cluster.kubeconfigPath)
  const lateen = (...args: string[]) => run([...args, '--namespace', namespace])

  /** What became of that which a command has created. */
  async function described([kind = '', , name = '']: string[]): Promise<string> {
    const [description, logs] = await Promise.all([
      lateen(kind, 'describe', name, '--details'),
      lateen(kind, 'logs', name),
    ])
    return `${description.stdout}${description.stderr}${logs.stdout}${logs.stderr}`
  }

  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(...args)
    const reasons = status !== 0 && args.includes('--wait') ? await described(args) : ''
    assert.equal(status, 0, `${args.join(' ')}: ${stderr}${stdout}${reasons}`)
    return stdout
  }

  async function listed<T>(kind: string, labels: Record<string, string | undefined>): Promise<T[]> {
    const selector = Object.entries(labels).flatMap(([key, value]) =>
      value === undefined ? [] : ['-l', `${key}=${value}`],
    )
    return JSON.parse(await kubectl(['-n', namespace, 'get', kind, '-o', 'json', ...selector])).items
  }

  const scene: FsScene = {
    namespace,
    lateen,
    succeed,
    podVolumeBackups: backup => listed('podvolumebackups', { 'velero.io/backup-name': backup }),
    podVolumeRestores: restore => listed('podvolumerestores', { 'velero.io/restore-name': restore }),
    async moverPods() {
      const args = ['-n', namespace, 'get', 'pods', '-l', 'velero.io/exposer-pod-group', '-o', 'name']
      return (await kubectl(args)).split('\n').filter(Boolean)
    },
    async settled() {
      let left: string[] = []
      const failure = () => new Error(`not over: ${left.join(', ')}`)
      const isOver = async () => {
        const moves = [...(await scene.podVolumeBackups()), ...(await scene.podVolumeRestores())]
        const going = moves
          .filter(({ status }) => !/^(Completed|Failed|Canceled)$/.test(status?.phase ?? ''))
          .map(({ kind, metadata, status }) => `${kind} ${metadata.name} ${status?.phase ?? 'New'}`)
        left = [...going, ...(await scene.moverPods())]
        return left.length === 0
      }
      await waitUntil(isOver, { timeoutMs: 180_000, everyMs: 500, failure })
    },
    kopia: (t, volumeNamespace) =>
      kopiaRepository(t, {
        storage: { ...given.cluster.s3, prefix: `${namespace}/kopia/${volumeNamespace}/` },
        connect: true,
        password: 'static-passw0rd',
        username: 'default',
        hostname: 'default',
      }),
  }
  before(async () => {
    await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-fs-scene-'))
    const image = await deliverLateen(given.cluster)
    const location = await s3Flags(given.cluster, folder.path, namespace)
    await succeed(
      ...['install', ...location, `--image=${image}`, '--use-node-agent', '--wait'],
      ...[...modestServer, ...flags],
    )
    // A backup that comes before its location was looked at fails validation, as with Velero.
    const available = ['wait', '--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/default']
    await kubectl(['-n', namespace, ...available, '--timeout=120s'])
  })
  after(async () => {
    // Not by `uninstall`, which takes the definitions away from other installations.
    await kubectl(['delete', 'clusterrolebinding', `velero-${namespace}`, '--ignore-not-found'])
    await kubectl(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
  })
  return scene
}

/** A pod with volumes for files, and what can be done in it. */
export interface FilesPod {
  readonly namespace: string
  readonly name: string
  /** Waits until it runs. */
  ready(): Promise<void>
  run(script: string): Promise<string>
  /** Every file of a folder with its kind, mode, owner, target and content. */
  tree(folder: string): Promise<string>
}

export interface FilesPodOptions {
  namespace: string
  name?: string
  /** By their names; they are mounted at `/<name>`. */
  volumes: Record<string, object>
  annotations?: Record<string, string>
}

/** The manifest of a pod that waits with volumes mounted. */
export function filesPodManifest({ namespace, name = 'writer', volumes, annotations = {} }: FilesPodOptions) {
  const names = Object.keys(volumes)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'main',
          image: busyboxImageName,
          imagePullPolicy: 'Never',
          volumeMounts: names.map(volume => ({ name: volume, mountPath: `/${volume}` })),
        },
      ],
      volumes: names.map(volume => ({ name: volume, ...volumes[volume] })),
    },
  }
}

/** A pod that is there or will be, as a restore brings it. */
export function filesPod(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  { namespace, name = 'writer' }: Pick<FilesPodOptions, 'namespace' | 'name'>,
): FilesPod {
  const run = (script: string) => kubectl(['-n', namespace, 'exec', name, '--', 'sh', '-c', script])
  return {
    namespace,
    name,
    run,
    async ready() {
      const of = ['-n', namespace]
      const wait = kubectl([...of, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=180s'])
      await wait.catch(async cause => {
        const told = await kubectl([...of, 'describe', 'pods,pvc']).catch(String)
        throw new Error(`the pod ${namespace}/${name} does not become ready: ${told}`, { cause })
      })
    },
    tree: folder =>
      run(
        `cd ${folder}; find . ! -path './.velero*' | sort | while read -r f; do stat -c '%n %F %a %u:%g' "$f"; [ -L "$f" ] && readlink "$f"; [ -f "$f" ] && sha256sum < "$f"; done; true`,
      ),
  }
}

/** Creates a pod with volumes, in a namespace that is made if it is not there, and waits until it runs. */
export async function createFilesPod(
  cluster: Pick<Cluster, 'kubectl'>,
  options: FilesPodOptions,
): Promise<FilesPod> {
  await ensureNamespace(cluster, options.namespace)
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(filesPodManifest(options)) })
  const pod = filesPod(cluster, options)
  await pod.ready()
  return pod
}
