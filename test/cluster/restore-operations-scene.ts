import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { cancelAnnotation, type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import type { OperationProgress } from '@lateen/plugin'
import type { ServerOptions } from '@lateen/server'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { makePluginFolder } from '../compat/plugin-folder.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import type { LocationInBucket } from './backups.ts'
import { archiveOf, configMap, stored } from './restore-harness.ts'
import { publishBackup } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

/** An operation in the file of a restore. */
export interface StoredOperation {
  spec: { operationID: string; restoreItemAction: string; resourceIdentifier: Record<string, string> }
  status: { phase: string; error?: string; nCompleted?: number; nTotal?: number; description?: string }
}

/** What the actions of the test's plugin do in a restore. */
export interface Behaviour {
  /** An operation begins for each of the two ConfigMaps. */
  begin?: boolean
  /** The ConfigMap whose action does not come back before it is let go. */
  hold?: 'one' | 'two'
  /** As often it is said that what an action waits for is not ready. */
  ready?: number
  readyTimeoutMs?: number
}

/** A server with a plugin program that begins operations in restores, and a backup of ConfigMaps `one`, `two` and `plain`. */
export interface OperationsScene extends AsyncDisposable {
  readonly scene: ServerScene
  /** The folder of the server's plugins. */
  readonly plugins: string
  start(options?: Partial<ServerOptions>): Promise<RunningServer>
  /** Restores into a namespace of its own. */
  create(name: string, behaviour: Behaviour, spec?: Partial<RestoreSpec>): Promise<void>
  /** Where a restore's objects are. */
  target(name: string): string
  cancel(name: string): Promise<void>
  /** Says how an operation stands from now on. */
  tell(operation: string, progress: Partial<OperationProgress>): Promise<void>
  /** Whether somebody told an operation to stop. */
  isCancelled(operation: string): Promise<boolean>
  /** Lets the action of a restore come back that is held. */
  release(name: string, item: 'one' | 'two'): Promise<void>
  /** Waits until an action is held. */
  held(name: string, item: 'one' | 'two'): Promise<void>
  /** Ids of the operations that have begun. */
  begun(): Promise<string[]>
  /** Lets the plugin crash when it is next asked about an operation. */
  crash(operation: string): Promise<void>
  /** Waits until the plugin has crashed. */
  crashed(operation: string): Promise<void>
  /** Makes the plugin forget an operation. */
  lose(operation: string): Promise<void>
  note(file: string): Promise<string>
  /** By their ids: the two may begin in either order. */
  operations(name: string): Promise<StoredOperation[]>
  /** Keys of the journals in the bucket. */
  journal(): Promise<string[]>
}

/** Prepares all of it. No server runs yet. */
export async function openOperationsScene(
  cluster: Cluster,
  name: string,
  location: Partial<LocationInBucket> = {},
): Promise<OperationsScene> {
  const scene = await openServerScene(cluster, name, location)
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-operations-'))
  const plugins = await makePluginFolder()
  const source = path.join(import.meta.dirname, 'restore-operations-plugin.ts')
  await plugins.launcher('operations', {
    command: [process.execPath, source],
    env: { OPERATIONS: folder },
  })
  const labels = { 'test.lateen.dev/operation': 'true' }
  const archive = archiveOf(
    stored(configMap({ namespace: 'source', name: 'one', labels })),
    stored(configMap({ namespace: 'source', name: 'plain' })),
    stored(configMap({ namespace: 'source', name: 'two', labels })),
  )
  await publishBackup(scene, { name: 'whole', archive })
  const made = new Set<string>()
  const target = (restore: string) => `${scene.data}-${restore}`
  const at = (...names: string[]) => path.join(folder, ...names)
  const exists = async (file: string) => (await readdir(path.dirname(file))).includes(path.basename(file))
  const resource = scene.client.resource(RestoreKind, scene.namespace)
  return {
    scene,
    plugins: plugins.path,
    target,
    start: options =>
      scene.start({ pluginFolder: plugins.path, itemOperationSyncFrequency: 300, ...options }),
    async create(restore, behaviour, spec = {}) {
      made.add(target(restore))
      await resource.create({
        apiVersion: 'velero.io/v1',
        kind: 'Restore',
        metadata: { name: restore, namespace: scene.namespace, annotations: annotationsOf(behaviour) },
        spec: {
          backupName: 'whole',
          includedNamespaces: ['source'],
          namespaceMapping: { source: target(restore) },
          ...spec,
        },
      } satisfies Restore)
    },
    async cancel(restore) {
      const body = { metadata: { annotations: { [cancelAnnotation]: 'true' } } }
      await resource.patch(restore, { type: 'merge', body })
    },
    async tell(operation, progress) {
      // The plugin must not read half of it.
      await writeFile(at(operation, 'told'), JSON.stringify(progress))
      await rename(at(operation, 'told'), at(operation, 'progress.json'))
    },
    isCancelled: operation => exists(at(operation, 'cancelled')),
    release: (restore, item) => writeFile(at(`${restore}.${item}.go`), ''),
    held: (restore, item) =>
      waitUntil(async () => ((await exists(at(`${restore}.${item}.held`))) ? true : undefined), {
        timeoutMs: 60_000,
        failure: () => new Error(`the action for ${item} in ${restore} was not called`),
        everyMs: 30,
      }).then(() => undefined),
    begun: async () =>
      (await readdir(folder, { withFileTypes: true }))
        .filter(entry => entry.isDirectory())
        .map(({ name }) => name),
    crash: operation => writeFile(at(operation, 'crash'), ''),
    crashed: operation =>
      waitUntil(async () => ((await exists(at(operation, 'crash'))) ? undefined : true), {
        timeoutMs: 60_000,
        failure: () => new Error(`nobody asked about ${operation}`),
        everyMs: 30,
      }).then(() => undefined),
    // The plugin may be noting something there at that moment.
    lose: operation => rm(at(operation), { recursive: true, maxRetries: 20 }),
    note: file => readFile(at(file), 'utf8'),
    async operations(restore) {
      const key = `restores/${restore}/restore-${restore}-itemoperations.json.gz`
      const stored: StoredOperation[] = JSON.parse(gunzipSync(await scene.bucket.read(key)).toString())
      return stored.toSorted((a, b) => (a.spec.operationID < b.spec.operationID ? -1 : 1))
    },
    journal: async () => (await scene.bucket.keys()).filter(key => key.includes('lateen-operations')),
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]()
      await plugins[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
      if (made.size === 0) return
      await cluster.kubectl(['delete', 'namespace', '--wait=false', '--ignore-not-found', ...made])
    },
  }
}

function annotationsOf({ begin = false, hold, ready, readyTimeoutMs }: Behaviour): Record<string, string> {
  return {
    'test.lateen.dev/begin': `${begin}`,
    ...(hold !== undefined && { 'test.lateen.dev/hold': hold }),
    ...(ready !== undefined && { 'test.lateen.dev/ready': `${ready}` }),
    ...(readyTimeoutMs !== undefined && { 'test.lateen.dev/ready-timeout': `${readyTimeoutMs}` }),
  }
}
