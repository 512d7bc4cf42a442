import { readFileSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { RepoError } from '../errors/repo-error.ts'
import { goTimeFromMillis } from '../go-json/go-time.ts'
import { ActiveDirectory, checkpointDirectory, withCheckpoints } from './checkpoint.ts'
import type { DirectoryEntry } from './directory.ts'
import { directoryEntryOf, fileEntryOf } from './entry-of-source.ts'
import { saveCheckpoint, saveUpload, type UploadResult } from './save-snapshot.ts'
import { storeDirectory } from './store-directory.ts'
import { copyAll, fileWriteOptions } from './upload-file.ts'
import { type UploadOptions, type UploadTarget, withUploadDefaults } from './upload-options.ts'
import { sourceFailed, UploadRun, UploadStopped } from './upload-run.ts'
import { type SourceEntry, SourceReadError } from './walk/source-entry.ts'

// Go's zero time as nanoseconds, which overflow: Velero's virtual root has it, and equal roots share their object.
const zeroTime = -6_795_364_578_871_345_152n

/**
 * Stores a block device, or a file that holds the image of one, as a snapshot in Velero's shape: a directory with one
 * file, both named by the device's path, which holds all bytes. Throws like `uploadTree`.
 */
export async function uploadBlockDevice(
  target: UploadTarget,
  device: string,
  options: UploadOptions,
): Promise<UploadResult> {
  const run = new UploadRun(target, await withUploadDefaults(target, options))
  const startTime = goTimeFromMillis(run.settings.clock.now())
  const root = virtualEntry(device, { kind: 'directory', mtime: zeroTime })
  const active = new ActiveDirectory(root)
  run.progress.expect({ files: 1, bytes: deviceSize(device) })
  const checkpoint = () => saveCheckpoint(run, startTime, () => checkpointDirectory(run, active))
  await withCheckpoints(run, checkpoint, () => uploadDevice(run, active))
  run.stats.dirCount++
  const { obj, summary } = await storeDirectory(run, active.builder.build(root.mtime, run.incomplete))
  return saveUpload(run, { startTime, rootEntry: directoryEntryOf(root, obj, summary) })
}

async function uploadDevice(run: UploadRun, active: ActiveDirectory): Promise<void> {
  const device = active.entry.name
  const entry = virtualEntry(device, { kind: 'file', mtime: goTimeFromMillis(run.settings.clock.now()) })
  try {
    await using opened = await openDevice(device)
    active.builder.add(await copyDevice(run, { active, entry, handle: opened.handle }))
  } catch (error) {
    if (error instanceof SourceReadError) throw sourceFailed(device, error)
    if (!(error instanceof UploadStopped)) throw error
  }
}

async function copyDevice(
  run: UploadRun,
  { active, entry, handle }: { active: ActiveDirectory; entry: SourceEntry; handle: FileHandle },
): Promise<DirectoryEntry> {
  const options = fileWriteOptions(run, entry, run.settings.policies.effective)
  const writer = run.target.objects.create(options)
  const stopCheckpoints = active.addFile({ entry, writer })
  let position = 0
  const read = async (buffer: Buffer) => {
    try {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
      position += bytesRead
      return bytesRead
    } catch (cause) {
      throw new SourceReadError(entry.path, cause)
    }
  }
  try {
    const size = await copyAll(run, { read, write: bytes => writer.write(bytes) })
    const obj = await writer.finish()
    run.stats.nonCachedFiles++
    run.stats.fileCount++
    run.stats.totalSize += size
    run.progress.counts.filesRead++
    return fileEntryOf(entry, { obj, size })
  } finally {
    stopCheckpoints()
  }
}

async function openDevice(device: string): Promise<{ handle: FileHandle } & AsyncDisposable> {
  try {
    const handle = await open(device, 'r')
    const stats = await handle.stat()
    if (stats.isBlockDevice() || stats.isFile())
      return { handle, [Symbol.asyncDispose]: () => handle.close() }
    await handle.close()
  } catch (cause) {
    throw new SourceReadError(device, cause)
  }
  throw new RepoError('SOURCE_FAILED', {
    message: `${device} is not a block device`,
    hint: 'Upload a folder as a tree instead',
    path: device,
  })
}

function virtualEntry(device: string, kind: Pick<SourceEntry, 'kind' | 'mtime'>): SourceEntry {
  return {
    ...kind,
    name: device,
    path: device,
    folder: undefined,
    mode: 0o777,
    size: 0,
    uid: 0,
    gid: 0,
    device: 0n,
  }
}

// Linux tells the size of a block device in sectors of 512 bytes; an estimate of 0 says it is not known.
function deviceSize(device: string): number {
  try {
    const stats = statSync(device, { bigint: true })
    if (stats.isFile()) return Number(stats.size)
    const [major, minor] = [Number((stats.rdev >> 8n) & 0xfffn), deviceMinor(stats.rdev)]
    return Number(readFileSync(`/sys/dev/block/${major}:${minor}/size`, 'utf8')) * 512
  } catch {
    return 0
  }
}

function deviceMinor(device: bigint): number {
  return Number((device & 0xffn) | ((device >> 12n) & 0xfffff00n))
}
