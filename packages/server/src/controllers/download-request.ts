import {
  type Backup,
  BackupKind,
  BackupStorageLocationKind,
  type DownloadRequest,
  DownloadRequestKind,
  type DownloadTargetKind,
  formatTime,
  lateenAnnotation,
  parseTime,
  RestoreKind,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isNotFound,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  unlessNotFound,
  watching,
} from '@lateen/kube'
import { createBackupStore, type StoredFile } from '../backup-store/backup-store.ts'
import type { BackupFile, RestoreFile } from '../backup-store/bucket-layout.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'

/** How long a link can be used, and how long its request stays. Velero's own. */
export const LINK_LIFETIME_MS = 10 * 60_000

/** A request that could not be answered is tried again this often until it expires. */
const RETRY_MS = 5_000

/** Says why a request has no link yet. Velero's kind has no field for it. */
export const downloadErrorAnnotation = lateenAnnotation('error')

export interface DownloadRequestControllerOptions {
  client: KubeClient
  informer: Informer<DownloadRequest>
  clock: Clock
  random: () => number
  ports: LocationPorts
  /** Called before a file is handed out that the server may hold newer than the bucket does. */
  beforeLink?: (file: StoredFile, signal: AbortSignal) => Promise<void>
}

export type DownloadRequestStep =
  | { type: 'answer' }
  | { type: 'wait'; afterMs: number }
  | { type: 'delete' }
  | { type: 'ignore' }

/** What to do about a request: answer a new one, delete one that has expired, answered or not. */
export function nextStep(request: DownloadRequest | undefined, now: number): DownloadRequestStep {
  if (request === undefined) return { type: 'ignore' }
  const { phase, expiration } = request.status ?? {}
  const afterMs = expiration == null ? Number.POSITIVE_INFINITY : parseTime(expiration) - now
  if (afterMs <= 0) return { type: 'delete' }
  if (phase === undefined || phase === 'New') return { type: 'answer' }
  return Number.isFinite(afterMs) ? { type: 'wait', afterMs } : { type: 'delete' }
}

type Target = { of: 'backup'; file: BackupFile } | { of: 'restore'; file: RestoreFile }

const targets: Readonly<Record<DownloadTargetKind, Target>> = {
  BackupLog: { of: 'backup', file: 'log' },
  BackupContents: { of: 'backup', file: 'contents' },
  BackupVolumeSnapshots: { of: 'backup', file: 'volumeSnapshots' },
  BackupItemOperations: { of: 'backup', file: 'itemOperations' },
  BackupResourceList: { of: 'backup', file: 'resourceList' },
  BackupResults: { of: 'backup', file: 'results' },
  BackupVolumeInfos: { of: 'backup', file: 'volumeInfo' },
  CSIBackupVolumeSnapshots: { of: 'backup', file: 'csiVolumeSnapshots' },
  CSIBackupVolumeSnapshotContents: { of: 'backup', file: 'csiVolumeSnapshotContents' },
  RestoreLog: { of: 'restore', file: 'log' },
  RestoreResults: { of: 'restore', file: 'results' },
  RestoreResourceList: { of: 'restore', file: 'resourceList' },
  RestoreItemOperations: { of: 'restore', file: 'itemOperations' },
  RestoreVolumeInfo: { of: 'restore', file: 'volumeInfo' },
}

/** The file in the bucket that a target means. */
export function fileOfTarget({ kind, name }: { kind: DownloadTargetKind; name: string }): StoredFile {
  return { ...targets[kind], name }
}

/** Hands out links to files of backups and restores, which the command lines show to people. */
export function downloadRequestController(options: DownloadRequestControllerOptions): ControllerOptions {
  const { informer, clock } = options

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const request = informer.get(key)
    const step = nextStep(request, clock.now())
    if (request === undefined) return done()
    switch (step.type) {
      case 'answer':
        return answer(request, options, context)
      case 'wait':
        return again({ afterMs: step.afterMs })
      case 'delete':
        await clientOf(request, options).delete(nameOf(request), context).catch(unlessNotFound)
        return done()
      case 'ignore':
        return done()
    }
  }

  return { name: 'download-request', sources: [watching({ informer })], reconcile, concurrency: 10 }
}

async function answer(
  request: DownloadRequest,
  options: DownloadRequestControllerOptions,
  { signal }: ReconcileContext,
): Promise<Outcome> {
  const expiration = request.status?.expiration ?? formatTime(options.clock.now() + LINK_LIFETIME_MS)
  try {
    const downloadURL = await linkTo(request, options, signal)
    const answered = { phase: 'Processed', downloadURL, expiration }
    await patch(request, options, { status: answered, error: null, signal })
    return again({ afterMs: LINK_LIFETIME_MS })
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    await patch(request, options, { status: { phase: 'New', expiration }, error: reason, signal })
    return again({ afterMs: RETRY_MS })
  }
}

async function linkTo(
  request: DownloadRequest,
  options: DownloadRequestControllerOptions,
  signal: AbortSignal,
): Promise<string> {
  const { client, ports } = options
  const { namespace } = request.metadata
  const file = fileOfTarget(request.spec.target)
  const backup = await backupOf(file, { client, namespace, signal })
  const locationName = backup.spec.storageLocation ?? ''
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(locationName, { signal })
    .catch(error => {
      throw missing(error, `the backup location ${locationName} of the backup ${backup.metadata.name}`)
    })
  await options.beforeLink?.(file, signal)
  await using opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock: options.clock, random: options.random })
  return await store.signedUrl(file, LINK_LIFETIME_MS / 1000, signal)
}

interface Reading {
  client: KubeClient
  namespace: string | undefined
  signal: AbortSignal
}

async function backupOf(file: StoredFile, { client, namespace, signal }: Reading): Promise<Backup> {
  const name = file.of === 'backup' ? file.name : await backupOfRestore(file.name)
  return client
    .resource(BackupKind, namespace)
    .get(name, { signal })
    .catch(error => {
      throw missing(error, `the backup ${name}`)
    })

  async function backupOfRestore(restoreName: string): Promise<string> {
    const restore = await client
      .resource(RestoreKind, namespace)
      .get(restoreName, { signal })
      .catch(error => {
        throw missing(error, `the restore ${restoreName}`)
      })
    return restore.spec.backupName ?? ''
  }
}

/** One sentence for what is not there; other errors as they are. */
function missing(error: unknown, what: string): unknown {
  return isNotFound(error) ? new Error(`${what} does not exist`, { cause: error }) : error
}

interface Answer {
  status: object
  /** Null takes a former error away. */
  error: string | null
  signal: AbortSignal
}

async function patch(
  request: DownloadRequest,
  options: DownloadRequestControllerOptions,
  { status, error, signal }: Answer,
): Promise<void> {
  const annotations = { [downloadErrorAnnotation]: error }
  const known = request.metadata.annotations?.[downloadErrorAnnotation]
  const body = known === undefined && error === null ? { status } : { metadata: { annotations }, status }
  await clientOf(request, options)
    .patch(nameOf(request), { type: 'merge', body }, { signal })
    .catch(unlessNotFound)
}

function clientOf({ metadata }: DownloadRequest, { client }: DownloadRequestControllerOptions) {
  return client.resource(DownloadRequestKind, metadata.namespace)
}

function nameOf({ metadata }: DownloadRequest): string {
  return metadata.name ?? ''
}
