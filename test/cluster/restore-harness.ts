import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createGunzip, gzipSync } from 'node:zlib'
import { type Backup, BackupKind, type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import { type KubeClient, type KubeObject, systemClock } from '@lateen/kube'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import { groupResource } from '../../packages/server/src/item/item.ts'
import { itemPaths } from '../../packages/server/src/item/item-paths.ts'
import { createBackupLog } from '../../packages/server/src/report/backup-log.ts'
import { openBackupArchive } from '../../packages/server/src/restore/archive/open-backup-archive.ts'
import { rawEntry, tarEnd, versionEntry } from '../../packages/server/src/restore/archive/testing/raw-tar.ts'
import type { RestoredItem } from '../../packages/server/src/restore/items/restored-item.ts'
import { defaultPriorities } from '../../packages/server/src/restore/order/priorities.ts'
import type {
  RestoreOutcome,
  RestorePorts,
  RestoreRequest,
} from '../../packages/server/src/restore/restore-request.ts'
import { runRestore } from '../../packages/server/src/restore/run-restore.ts'
import { createClusterSink } from '../../packages/server/src/restore/sink/cluster-sink.ts'
import { RequestGate } from '../../packages/server/src/restore/sink/request-gate.ts'
import {
  noBackedUpVolumes,
  noVolumeRestore,
} from '../../packages/server/src/restore/volumes/volume-restore.ts'
import { createBlockWorkers } from '../../packages/server/src/workers/block-workers.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** How a test wants its restore done. */
export interface RestoreOptions {
  client: KubeClient
  /** A tar.gz, or where it is. */
  archive: Buffer | string
  spec?: RestoreSpec
  annotations?: Record<string, string>
  name?: string
  workers?: number
  request?: Partial<RestoreRequest>
  ports?: Partial<RestorePorts>
  signal?: AbortSignal
}

/** What a restore did, by `groupResource namespace/name`. */
export interface DoneRestore {
  outcome: RestoreOutcome
  items: ReadonlyMap<string, RestoredItem>
  log: string
}

/** Restores with the engine alone: no controller, no bucket. */
export async function restoreArchive(options: RestoreOptions): Promise<DoneRestore> {
  const { client, archive: source, workers: count = 4 } = options
  const signal = options.signal ?? new AbortController().signal
  const clock = systemClock
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'lateen-restore-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(scratch, { recursive: true, force: true }))
  const log = cleanup.use(await createBackupLog({ scratch, level: 'debug', format: 'text', clock }))
  const stream = typeof source === 'string' ? createReadStream(source) : Readable.from([source])
  const archive = cleanup.use(await openBackupArchive({ stream, scratch, signal }))
  const gate = new RequestGate({ clock, most: count })
  const ports: RestorePorts = {
    archive,
    sink: createClusterSink({ client, gate, clock, log }),
    discovery: client.discovery,
    clock,
    newUid: () => crypto.randomUUID(),
    log,
    actions: builtInRestoreActions({ client, namespace: 'velero' }),
    volumes: noVolumeRestore,
    workers: cleanup.use(createBlockWorkers({ count })),
    timeouts: { resource: 20_000, terminating: 20_000 },
    ...options.ports,
  }
  const request = { ...requestOf(options), ...options.request }
  const outcome = await runRestore(request, ports, signal)
  const items = new Map([...outcome.items()].map(item => [nameOf(item), item]))
  const lines = await text(Readable.from(await log.open()).pipe(createGunzip()))
  return { outcome, items, log: lines }
}

function nameOf({ groupResource: type, namespace, name }: RestoredItem): string {
  return namespace === '' ? `${type} ${name}` : `${type} ${namespace}/${name}`
}

/** The request that a test's options mean. */
export function requestOf({ spec = {}, name = 'again', annotations = {} }: RestoreOptions): RestoreRequest {
  const { group, version } = RestoreKind
  const restore: Restore = {
    apiVersion: `${group}/${version}`,
    kind: RestoreKind.kind,
    metadata: { name, namespace: 'velero', uid: '00000000-0000-4000-8000-000000000002', annotations },
    spec: { backupName: 'test', ...spec },
  }
  const backup: Backup = {
    apiVersion: `${group}/${version}`,
    kind: BackupKind.kind,
    metadata: { name: 'test', namespace: 'velero' },
    spec: {},
  }
  return { restore, backup, volumes: noBackedUpVolumes, priorities: defaultPriorities }
}

/** An object for an archive, with the plural name of its kind. */
export interface ArchivedObject {
  plural: string
  /** Text is stored as it is. */
  object: Stored | string
  /** The name of its file, if not its own. */
  path?: string
}

/** The archive of a backup that was made by hand. */
export function archiveOf(...objects: readonly ArchivedObject[]): Buffer {
  return gzipSync(Buffer.concat([versionEntry, ...objects.map(entriesOf), tarEnd]))
}

function entriesOf({ plural, object, path: file }: ArchivedObject): Buffer {
  const parsed: KubeObject = typeof object === 'string' ? JSON.parse(object) : object
  const [version = '', group = ''] = parsed.apiVersion.split('/').reverse()
  const paths = itemPaths({
    groupResource: groupResource({ group, plural }),
    namespace: parsed.metadata.namespace ?? '',
    name: file ?? parsed.metadata.name ?? '',
    version,
    preferred: true,
  })
  const content = typeof object === 'string' ? object : JSON.stringify(object)
  return Buffer.concat(paths.map(entry => rawEntry({ path: entry, content })))
}

/** An object of whatever kind. */
export interface Stored extends KubeObject {
  [field: string]: unknown
}

/** Metadata with at least a place. */
export interface Named {
  namespace: string
  name: string
  [field: string]: unknown
}

export function configMap(metadata: Named, data: Record<string, string> = {}): Stored {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
}

/** An object as `archiveOf` takes it; good for kinds whose plural ends in s. */
export function stored(object: Stored): ArchivedObject {
  return { plural: `${object.kind.toLowerCase()}s`, object }
}

/** What tests look at and prepare in a cluster, with kubectl. */
export interface ClusterHands {
  get(resource: string, name: string, namespace?: string): Promise<Stored>
  create(...objects: object[]): Promise<void>
  /** Makes a namespace in which pods can be created: the cluster makes the account that they need a moment later. */
  createForPods(metadata: { name: string; [field: string]: unknown }): Promise<void>
  /** Waits until the server refuses to create the object: quotas and policies take effect a moment after they are there. */
  untilRefused(object: object, reason: string): Promise<void>
}

export function handsOn(cluster: Pick<Cluster, 'kubectl'>): ClusterHands {
  const create = async (...items: object[]): Promise<void> => {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await cluster.kubectl(['create', '-f', '-'], { stdin })
  }
  return {
    async get(resource, name, namespace) {
      const place = namespace === undefined ? [] : ['-n', namespace]
      const args = ['get', resource, name, '-o', 'json', '--show-managed-fields', ...place]
      return JSON.parse(await cluster.kubectl(args))
    },
    create,
    async createForPods(metadata) {
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata })
      const account = ['--for=create', 'serviceaccount/default', '-n', metadata.name]
      await cluster.kubectl(['wait', ...account, '--timeout=180s'])
    },
    async untilRefused(object, reason) {
      const stdin = JSON.stringify(object)
      const ask = () => cluster.kubectl(['create', '--dry-run=server', '-f', '-'], { stdin }).catch(String)
      const failure = async () => new Error(`not refused with "${reason}": ${await ask()}`)
      await waitUntil(async () => (await ask()).includes(reason), { timeoutMs: 60_000, failure })
    },
  }
}
