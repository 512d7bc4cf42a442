import { closeSync, constants, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { ObjectId } from '../object/object-id.ts'
import type { ActiveDirectory } from './checkpoint.ts'
import { compressorForFile, type Policy } from './policy.ts'
import type { UploadRun } from './upload-run.ts'
import { reading, type SourceEntry, SourceReadError } from './walk/source-entry.ts'

/** Files up to this size are read and stored in one go, without a promise per file. */
export const smallFileLimit = 1 << 20

/** A file that was stored. `size` is what was read, which is the truth when the file changed meanwhile. */
export interface StoredFile {
  obj: ObjectId
  size: number
}

/** A file to upload and where its checkpoints go. */
export interface FileTask {
  entry: SourceEntry
  policy: Policy
  active: ActiveDirectory
}

/** How the data of a file is stored by policy. */
export function fileWriteOptions(run: UploadRun, entry: SourceEntry, policy: Policy) {
  return {
    compressor: compressorForFile(policy.compression, entry),
    metadataCompressor: run.settings.directoryCompressor ?? '',
    signal: run.signal,
    ...(policy.splitter.algorithm && { splitter: policy.splitter.algorithm }),
  }
}

// Neither follows a symlink nor waits for the writer of a fifo that has taken the file's place.
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const shared = Buffer.allocUnsafeSlow(smallFileLimit + 4096)

/**
 * The bytes of a small file, valid until the next call; undefined when it has grown beyond the limit.
 * Throws SourceReadError.
 */
export function readSmallFile(entry: SourceEntry): Buffer | undefined {
  return reading(entry.path, () => {
    const descriptor = openSync(entry.path, openFlags)
    try {
      const length = readUpTo(descriptor, shared, entry.size)
      return length > smallFileLimit ? undefined : shared.subarray(0, length)
    } finally {
      closeSync(descriptor)
    }
  })
}

/** Uploads a file of any size, in parallel parts when policy says so. Throws SourceReadError or what the repository throws. */
export async function uploadLargeFile(run: UploadRun, task: FileTask): Promise<StoredFile> {
  const { entry, policy } = task
  const partSize = Number(policy.upload.parallelUploadAboveSize ?? -1)
  if (partSize <= 0 || entry.size <= partSize) return uploadPart(run, task, { offset: 0 })
  const count = Math.floor(entry.size / partSize) + 1
  const parts = await uploadParts(run, task, { count, partSize })
  const obj = await run.target.objects.concatenate(
    parts.map(part => part.obj),
    { metadataCompressor: run.settings.directoryCompressor ?? '', signal: run.signal },
  )
  return { obj, size: parts.reduce((sum, part) => sum + part.size, 0) }
}

async function uploadParts(
  run: UploadRun,
  task: FileTask,
  { count, partSize }: { count: number; partSize: number },
): Promise<StoredFile[]> {
  const stored: (StoredFile | undefined)[] = new Array(count).fill(undefined)
  const errors: unknown[] = []
  const pending: Promise<void>[] = []
  for (let index = 0; index < count && errors.length === 0; index++) {
    // The last part is open-ended: the file may be growing.
    const range = { offset: index * partSize, ...(index < count - 1 && { length: partSize }) }
    const part = async () => {
      try {
        stored[index] = await uploadPart(run, task, range)
      } catch (error) {
        errors.push(error)
      }
    }
    const started = run.work.tryStart(part)
    if (started === undefined) await part()
    else pending.push(started)
  }
  await Promise.all(pending)
  if (errors.length > 0) throw errors[0]
  return stored.filter(part => part !== undefined)
}

async function uploadPart(
  run: UploadRun,
  { entry, policy, active }: FileTask,
  range: { offset: number; length?: number },
): Promise<StoredFile> {
  await using file = await openFile(entry)
  const writer = run.target.objects.create(fileWriteOptions(run, entry, policy))
  const stopCheckpoints = active.addFile({ entry, writer })
  try {
    const size = await copyAll(run, {
      read: fileReader(file.handle, entry, range),
      write: bytes => writer.write(bytes),
    })
    return { obj: await writer.finish(), size }
  } finally {
    stopCheckpoints()
  }
}

/** Where bytes come from and go to. `read` fills the buffer and returns 0 at the end. */
export interface CopyPorts {
  read(buffer: Buffer): Promise<number>
  write(bytes: Uint8Array): Promise<void>
}

const copySize = 1 << 20

/** Copies to the end, reading ahead while the repository works; counts the bytes and stops where the run must stop. */
export async function copyAll(run: UploadRun, { read, write }: CopyPorts): Promise<number> {
  let [current, next] = [Buffer.allocUnsafeSlow(copySize), Buffer.allocUnsafeSlow(copySize)]
  let total = 0
  let pending = read(current)
  for (;;) {
    const length = await pending
    if (length === 0) return total
    pending = read(next)
    // Awaited in the next round, or not at all when writing fails first.
    pending.catch(() => {})
    try {
      run.check()
      await write(current.subarray(0, length))
    } catch (error) {
      await pending.catch(() => {})
      throw error
    }
    total += length
    run.progress.counts.bytesRead += length
    ;[current, next] = [next, current]
    await run.breathe()
  }
}

function fileReader(handle: FileHandle, entry: SourceEntry, range: { offset: number; length?: number }) {
  let position = range.offset
  const end = range.offset + (range.length ?? Number.POSITIVE_INFINITY)
  return async (buffer: Buffer): Promise<number> => {
    const wanted = Math.min(buffer.length, end - position)
    if (wanted <= 0) return 0
    try {
      const { bytesRead } = await handle.read(buffer, 0, wanted, position)
      position += bytesRead
      return bytesRead
    } catch (cause) {
      throw new SourceReadError(entry.path, cause)
    }
  }
}

async function openFile(entry: SourceEntry): Promise<{ handle: FileHandle } & AsyncDisposable> {
  try {
    const handle = await open(entry.path, openFlags)
    if (!(await handle.stat()).isFile()) {
      await handle.close()
      throw new Error('it is not a regular file any more')
    }
    return { handle, [Symbol.asyncDispose]: () => handle.close() }
  } catch (cause) {
    throw new SourceReadError(entry.path, cause)
  }
}

// A read that returns less than asked for after `expected` bytes is the end of a regular file.
function readUpTo(descriptor: number, buffer: Buffer, expected: number): number {
  let length = 0
  while (length < buffer.length) {
    const got = readSync(descriptor, buffer, length, buffer.length - length, null)
    length += got
    if (got === 0 || (length >= expected && length < buffer.length)) break
  }
  return length
}
