import { open } from 'node:fs/promises'
import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import type { Repository } from '../../repository.ts'
import type { DirectoryEntry } from '../../snapshot/directory.ts'
import { readDirectory } from '../../snapshot/read-directory.ts'
import type { SnapshotManifest } from '../../snapshot/snapshot-manifest.ts'
import { writeObject } from '../../snapshot/write-object.ts'
import type { RunOptions } from '../uploader-provider.ts'

/**
 * Writes the one file of a block volume's snapshot over a device, whatever its name is, and syncs it.
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

async function onlyFile(
  { contents }: Repository,
  { id, rootEntry }: SnapshotManifest,
  signal: AbortSignal | undefined,
): Promise<DirectoryEntry> {
  const { entries } = await readDirectory(contents, rootEntry, signal)
  const [file] = entries
  if (file?.type === 'f' && entries.length === 1) return file
  throw new RepoError('INVALID_ARGUMENT', {
    message: `snapshot ${id} is not that of a block volume`,
    hint: 'restore it to a folder',
    snapshotId: id,
  })
}

function targetFailed(path: string, cause: unknown): RepoError {
  return new RepoError('TARGET_FAILED', {
    message: `the device ${path} cannot be written: ${(cause as Error).message}`,
    hint: 'it must exist, be large enough, and this process must be allowed to write to it',
    path,
    cause,
  })
}
