import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { veleroImageName, veleroImages } from '../../tools/velero/velero-images.ts'
import { modestServer } from '../cluster/fs-scene.ts'
import type { BothPrograms } from './both-programs.ts'
import { installWords, serverReplaced } from './node-installation.ts'

export interface VeleroOnNodeOptions {
  /** Of the installation; no other test file may use it. */
  namespace: string
  /** Below which its backups are in the bucket. */
  prefix: string
  /** More flags of `velero install`. */
  flags?: readonly string[]
  /** Arguments of its server for which `velero install` has no flag. */
  serverArgs?: readonly string[]
}

/** A real Velero with its node agent, installed on a node. Disposing removes it, but for its kinds. */
export interface VeleroOnNode extends AsyncDisposable {
  readonly namespace: string
  /** Runs its CLI on this installation and returns what it says. Throws unless it succeeds. */
  run(...args: string[]): Promise<string>
  /** Has it look at the bucket now: Velero does once a minute, and when it starts. Waits until it knows these backups. */
  sync(backups: readonly string[]): Promise<void>
}

/** Installs Velero with its node agent on the node of a cluster. */
export async function installVeleroOnNode(
  cluster: Cluster,
  both: Pick<BothPrograms, 'run'>,
  { namespace, prefix, flags = [], serverArgs = [] }: VeleroOnNodeOptions,
): Promise<VeleroOnNode> {
  const { kubectl } = cluster
  const run: VeleroOnNode['run'] = (...args) => both.run('velero', [...args, '--namespace', namespace])
  await Promise.all((await veleroImages()).map(image => cluster.deliverImage(image)))
  await using folder = await mkdtempDisposable(path.join(tmpdir(), 'lateen-velero-on-node-'))
  const wishes = { image: veleroImageName, prefix, folder: folder.path }
  const words = [...(await installWords(cluster, wishes)), '--use-node-agent', ...modestServer, ...flags]
  if (serverArgs.length === 0) await run(...words, '--wait')
  else {
    await run(...words)
    const path = '/spec/template/spec/containers/0/args/-'
    const patch = JSON.stringify(serverArgs.map(value => ({ op: 'add', path, value })))
    await kubectl(['-n', namespace, 'patch', 'deployment/velero', '--type=json', '-p', patch])
    await serverReplaced(cluster, namespace)
    await kubectl(['-n', namespace, 'rollout', 'status', 'daemonset/node-agent', '--timeout=180s'])
  }
  // Its pod is ready before it has looked at the location, and until then it refuses backups.
  const available = ['wait', '--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/default']
  await kubectl(['-n', namespace, ...available, '--timeout=120s'])
  return {
    namespace,
    run,
    async sync(backups) {
      await kubectl(['-n', namespace, 'delete', 'pod', '-l', 'deploy=velero', '--grace-period=0', '--force'])
      await serverReplaced(cluster, namespace)
      await knowsBackups({ kubectl }, namespace, backups)
    },
    async [Symbol.asyncDispose]() {
      await kubectl(['delete', 'clusterrolebinding', `velero-${namespace}`, '--ignore-not-found'])
      await kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait=false'])
    },
  }
}

/** Waits until these backups are in a namespace. */
export async function knowsBackups(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  namespace: string,
  backups: readonly string[],
): Promise<void> {
  let known: string[] = []
  await waitUntil(
    async () => {
      const names = ['get', 'backups.velero.io', '-n', namespace, '-o=jsonpath={.items[*].metadata.name}']
      known = (await kubectl(names)).split(' ')
      return backups.every(name => known.includes(name))
    },
    {
      timeoutMs: 150_000,
      everyMs: 300,
      failure: () => new Error(`${namespace} knows only ${known.join(', ')}`),
    },
  )
}
