import { open } from 'node:fs/promises'
import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import type { Repository } from '../../repository.ts'
import type { DirectoryEntry } from '../../snapshot/directory.ts'
import { readDirectory } from '../../snapshot/read-directory.ts'
import type { SnapshotManifest } from '../../snapshot/snapshot-manifest.ts'
import { writeObject } from '../../snapshot/write-object.ts'
import type { RunOptions } from '../uploader-provider.ts'

/**
 * Writes the one file of a block volume's snapshot over a device, and syncs it.
 * Resolves to the bytes written. Throws `INVALID_ARGUMENT` for a snapshot of a folder, `TARGET_FAILED` when
 * the device cannot be written.
 */
export async function restoreBlockDevice(
  repository: Repository,
  snapshot: SnapshotManifest,
  { path, signal, onProgress }: RunOptions & { readonly path: string },
): Promise<number> {
  const file = await onlyFile(repository, snapshot, signal)
  const object = await repository.objects.open(file.obj, signal)
  const totalBytes = object.length
  let bytesDone = 0
  await using device = await open(path, 'r+').catch((cause: unknown) => {
    throw targetFailed(path, cause)
  })
  await writeObject(device.fd, object, {
    size: file.size,
    // What the device held before must not show through.
    sparse: false,
    signal,
    onBytes: bytes => {
      bytesDone += bytes
      onProgress?.({ bytesDone, totalBytes })
    },
  }).catch((cause: unknown) => {
    throw isRepoError(cause) ? cause : targetFailed(path, cause)
  })
  await device.sync()
  return bytesDone
}

/** Throws `INVALID_ARGUMENT` for a snapshot of a block volume, whose one file is no file of a folder. */
export async function requireFolder(
  repository: Repository,
  snapshot: SnapshotManifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (snapshot.rootEntry.type !== 'd' || (await deviceFile(repository, snapshot, signal)) === undefined)
    return
  throw new RepoError('INVALID_ARGUMENT', {
    message: `snapshot ${snapshot.id} is that of a block volume`,
    hint: 'restore it to a block device that is as large as the volume was, such as by a claim with volumeMode: Block',
    snapshotId: snapshot.id,
  })
}

async function onlyFile(
  repository: Repository,
  snapshot: SnapshotManifest,
  signal: AbortSignal | undefined,
): Promise<DirectoryEntry> {
  const file = await deviceFile(repository, snapshot, signal)
  if (file !== undefined) return file
  throw new RepoError('INVALID_ARGUMENT', {
    message: `snapshot ${snapshot.id} is not that of a block volume`,
    hint: 'restore it to a folder, such as by a claim with volumeMode: Filesystem',
    snapshotId: snapshot.id,
  })
}

/** The one file of a block volume's snapshot: it has the path of a device for its name, which no file in a folder can have. */
async function deviceFile(
  { contents }: Repository,
  { rootEntry }: SnapshotManifest,
  signal: AbortSignal | undefined,
): Promise<DirectoryEntry | undefined> {
  const { entries } = await readDirectory(contents, rootEntry, signal)
  const [file] = entries
  return entries.length === 1 && file?.type === 'f' && file.name.includes('/') ? file : undefined
}

function targetFailed(path: string, cause: unknown): RepoError {
  return new RepoError('TARGET_FAILED', {
    message: `the device ${path} cannot be written: ${(cause as Error).message}`,
    hint: 'it must exist, be large enough, and this process must be allowed to write to it',
    path,
    cause,
  })
}
