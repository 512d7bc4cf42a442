import type { Readable } from 'node:stream'
import { type DataUpload, DataUploadKind, readObject } from '@lateen/api'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { VolumeSnapshotClass, VolumeSnapshotContent } from '../csi/snapshot-kinds.ts'
import { storedContent } from '../csi/stored-snapshot.ts'
import { messageOf } from '../item/item-error.ts'
import { archiveEntries } from '../restore/archive/archive-entries.ts'
import { ArchiveError } from '../restore/archive/archive-error.ts'
import type { DeletionScope } from './deletion-step.ts'

/** What the archive of a backup tells of snapshots of its volumes. */
export interface ArchivedSnapshots {
  contents: VolumeSnapshotContent[]
  /** By their names. */
  classes: Map<string, VolumeSnapshotClass>
  dataUploads: DataUpload[]
}

/**
 * Reads them from the archive; nothing of it is there when the archive is missing or damaged, which its owner is told. Throws ObjectStoreError, and the signal's
 * reason.
 */
export async function archivedSnapshots(
  scope: DeletionScope,
  store: BackupStore,
): Promise<ArchivedSnapshots> {
  const { backup, log, signal, warn } = scope
  const { name = '' } = backup.metadata
  const found: ArchivedSnapshots = { contents: [], classes: new Map(), dataUploads: [] }
  const stream = await store.get({ of: 'backup', name, file: 'contents' }, signal)
  if (stream === undefined) return found
  try {
    await readInto(found, stream, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof ArchiveError)) {
      throw new Error(`error downloading backup tarball: ${messageOf(error)}`, { cause: error })
    }
    log.warn({ error, backup: name }, 'the archive of a deleted backup cannot be read')
    await warn(
      'BackupArchiveDamaged',
      `${error.message}. Snapshots of volumes that only the archive knew of are left`,
    )
  } finally {
    stream.destroy()
  }
  return found
}

async function readInto(found: ArchivedSnapshots, stream: Readable, signal: AbortSignal): Promise<void> {
  for await (const { path, content } of archiveEntries(stream, signal)) {
    const add = Object.entries(readers).find(([folder]) => path.startsWith(folder))?.[1]
    if (add !== undefined) add(found, parsed(content))
  }
}

/** By the folder, how what lies there is taken up. What is none of its kind is left. */
const readers: Readonly<Record<string, (found: ArchivedSnapshots, value: unknown) => void>> = {
  'resources/volumesnapshotcontents.snapshot.storage.k8s.io/cluster/'({ contents }, value) {
    const content = storedContent(value)
    if (content !== undefined) contents.push(content)
  },
  'resources/volumesnapshotclasses.snapshot.storage.k8s.io/cluster/'({ classes }, value) {
    addClass(classes, value)
  },
  'resources/datauploads.velero.io/namespaces/'({ dataUploads }, value) {
    const read = readObject(DataUploadKind, value)
    if (read.ok) dataUploads.push(read.object)
  },
}

/** Adds a class as it was stored, if it is one. Those that are there stay. */
export function addClass(classes: Map<string, VolumeSnapshotClass>, value: unknown): void {
  const object = value as Partial<VolumeSnapshotClass> | null
  const name = object?.metadata?.name
  if (typeof name !== 'string' || typeof object?.driver !== 'string') return
  if (!classes.has(name)) classes.set(name, object as VolumeSnapshotClass)
}

function parsed(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    return undefined
  }
}
