import {
  type Backup,
  BackupKind,
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  DataUploadKind,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  type Restore,
  RestoreKind,
} from '@lateen/api'
import type { KubeClient, KubeObject, ResourceClient, ResourceType } from '@lateen/kube'
import type { Contender } from './contenders.ts'
import { watchMovers } from './watch-movers.ts'

/** What became of one Backup or Restore. */
export interface Measured {
  /** From creating it until it is Completed. */
  readonly seconds: number
  /** The most memory that a mover had. */
  readonly moverMiB: number
  readonly volumes: readonly VolumeTimes[]
  /** What its moves told in all. */
  readonly bytes: number
}

/** An object that stands for the data of one volume on its way. */
export type Move = PodVolumeBackup | PodVolumeRestore | DataUpload | DataDownload

/** When a move was first seen in each phase, in milliseconds since the epoch; `created` is its first. */
export type VolumeTimes = Readonly<Record<string, number>>

export interface WorkPorts {
  client: KubeClient
  signal: AbortSignal
}

/** How the data of volumes goes to the repository and back: the setting of backups, and what stands for each move. */
export interface Way {
  readonly setting: Partial<Backup['spec']>
  readonly backups: ResourceType<Move>
  readonly restores: ResourceType<Move>
}

export const ways = {
  files: {
    setting: { defaultVolumesToFsBackup: true },
    backups: PodVolumeBackupKind,
    restores: PodVolumeRestoreKind,
  },
  snapshots: { setting: { snapshotMoveData: true }, backups: DataUploadKind, restores: DataDownloadKind },
} satisfies Record<string, Way>

/** Backs up a namespace with its volumes. Throws when that does not end well. */
export function backUp(
  { namespace }: Contender,
  { name, workload, way = ways.files }: { name: string; workload: string; way?: Way },
  ports: WorkPorts,
): Promise<Measured> {
  const backup: Backup = {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec: { includedNamespaces: [workload], storageLocation: 'default', ...way.setting },
  }
  return measure({ kind: BackupKind, moves: way.backups, object: backup }, ports)
}

/** A backup, and the namespaces that it is restored from and to. */
export interface WantedRestore {
  name: string
  backup: string
  from: string
  to: string
  way?: Way
}

/** Restores a backup into another namespace. Throws when that does not end well. */
export function restore(
  { namespace }: Contender,
  { name, backup, from, to, way = ways.files }: WantedRestore,
  ports: WorkPorts,
): Promise<Measured> {
  const object: Restore = {
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name, namespace },
    spec: { backupName: backup, namespaceMapping: { [from]: to } },
  }
  return measure({ kind: RestoreKind, moves: way.restores, object }, ports)
}

/** A Backup or a Restore. */
export interface Ending extends KubeObject {
  status?: { phase?: string }
}

/** A Backup or Restore to create, and the kind of its moves. */
export interface Work<T extends Ending, M extends Move> {
  kind: ResourceType<T>
  moves: ResourceType<M>
  object: T
}

/** Creates a Backup or Restore and watches it until it is Completed. Throws when it ends otherwise. */
export async function measure<T extends Ending, M extends Move>(
  { kind, moves, object }: Work<T, M>,
  { client, signal }: WorkPorts,
): Promise<Measured> {
  const { namespace = '', name = '' } = object.metadata
  const over = new AbortController()
  const times = watchMoves(client.resource(moves, namespace), AbortSignal.any([signal, over.signal]))
  const movers = watchMovers()
  const started = performance.now()
  const { metadata } = await client.resource(kind, namespace).create(object, { signal })
  const ended = await endOf(client.resource(kind, namespace), {
    name,
    from: metadata.resourceVersion,
    signal,
  })
  const seconds = (performance.now() - started) / 1000
  const moverMiB = await movers.stop()
  over.abort()
  const { volumes, bytes } = await times
  if (ended.status?.phase === 'Completed') return { seconds, moverMiB, volumes, bytes }
  throw new Error(`${kind.kind} ${namespace}/${name} is ${JSON.stringify(ended.status)}`)
}

async function endOf<T extends Ending>(
  objects: ResourceClient<T>,
  { name, from, signal }: { name: string; from: string | undefined; signal: AbortSignal },
): Promise<T> {
  const options = { resourceVersion: from, fieldSelector: `metadata.name=${name}`, signal }
  for await (const event of objects.watch(options)) {
    if (event.type !== 'BOOKMARK' && ends.includes(event.object.status?.phase ?? '')) return event.object
  }
  throw new Error('the watch ended')
}

const ends = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']

/** Writes down when each object of a kind comes to each phase, from now until the signal aborts. */
async function watchMoves<M extends Move>(
  objects: ResourceClient<M>,
  signal: AbortSignal,
): Promise<Pick<Measured, 'volumes' | 'bytes'>> {
  const times = new Map<string, Record<string, number>>()
  const bytes = new Map<string, number>()
  try {
    for await (const event of objects.watch({ signal })) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue
      const { metadata, status } = event.object
      const seen = times.get(metadata.name ?? '') ?? { created: Date.now() }
      times.set(metadata.name ?? '', seen)
      if (status?.phase) seen[status.phase] ??= Date.now()
      bytes.set(metadata.name ?? '', status?.progress?.totalBytes ?? 0)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return { volumes: [...times.values()], bytes: [...bytes.values()].reduce((sum, some) => sum + some, 0) }
}
