import { closeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Chunk } from '../object/indirect.ts'
import type { ObjectId } from '../object/object-id.ts'
import { objectOfChunks } from '../object/object-writer.ts'
import { openSource, readUpTo, sourceOpenFlags } from '../threads/read-source.ts'
import type { ReadFailure } from '../threads/thread-messages.ts'
import type { ActiveDirectory } from './checkpoint.ts'
import { chunksOfTable } from './chunks-of-table.ts'
import { compressorForFile, type Policy } from './policy.ts'
import type { UploadRun } from './upload-run.ts'
import { reached, reading, type SourceEntry, SourceReadError } from './walk/source-entry.ts'

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

/** How the data of a file is stored. */
export interface FileWriteOptions {
  compressor: string | undefined
  /** For index objects; '' for none. */
  metadataCompressor: string
  /** The repository's when absent. */
  splitter?: string
  signal: AbortSignal | undefined
}

/** How the data of a file is stored by policy. */
export function fileWriteOptions(run: UploadRun, entry: SourceEntry, policy: Policy): FileWriteOptions {
  return {
    compressor: compressorForFile(policy.compression, entry),
    metadataCompressor: run.settings.directoryCompressor ?? '',
    signal: run.signal,
    ...(policy.splitter.algorithm && { splitter: policy.splitter.algorithm }),
  }
}

const shared = Buffer.allocUnsafeSlow(smallFileLimit + 4096)

/**
 * The bytes of a small file, valid until the next call; undefined when it has grown beyond the limit.
 * Throws SourceReadError.
 */
export function readSmallFile(entry: SourceEntry): Buffer | undefined {
  return reading(entry.path, () => {
    const descriptor = openSource(reached(entry))
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

function uploadPart(run: UploadRun, task: FileTask, range: FileRange): Promise<StoredFile> {
  const { algorithm } = task.policy.splitter
  const inThread = run.threads.wanted(range.length ?? task.entry.size - range.offset, algorithm || undefined)
  return inThread ? sealPart(run, task, range) : copyPart(run, task, range)
}

/** A thread reads and seals the part; here its chunks become an object. */
async function sealPart(
  run: UploadRun,
  { entry, policy, active }: FileTask,
  { offset, length }: FileRange,
): Promise<StoredFile> {
  const indexSplitter = run.target.repository.format.format.splitter
  const options = { splitter: indexSplitter, indexSplitter, ...fileWriteOptions(run, entry, policy) }
  const chunks: Chunk[] = []
  let size = 0
  const toObject = () => objectOfChunks(run.target.contents, [...chunks], options)
  const checkpoint = async () => (chunks.length === 0 ? undefined : toObject())
  const stopCheckpoints = active.addFile({ entry, writer: { checkpoint } })
  try {
    const { splitter, compressor } = options
    const job = { path: reached(entry), offset, length, splitter, compressor: compressor || undefined }
    const failure = await run.threads.sealFile(job, table => {
      const added = chunksOfTable(table, { start: size })
      chunks.push(...added.chunks)
      run.progress.counts.bytesRead += added.size - size
      size = added.size
      run.progress.tell()
      run.check()
    })
    if (failure) throw sourceFailure(entry, failure)
    return { obj: await toObject(), size }
  } finally {
    stopCheckpoints()
  }
}

/** The error for a file that a thread could not read. */
export function sourceFailure(entry: SourceEntry, { message, code }: ReadFailure): SourceReadError {
  return new SourceReadError(entry.path, Object.assign(new Error(message), code && { code }))
}

/** A part of a file; to its end without a length. */
interface FileRange {
  offset: number
  length?: number
}

async function copyPart(
  run: UploadRun,
  { entry, policy, active }: FileTask,
  range: FileRange,
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

function fileReader(handle: FileHandle, entry: SourceEntry, range: FileRange) {
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
    const handle = await open(reached(entry), sourceOpenFlags)
    if (!(await handle.stat()).isFile()) {
      await handle.close()
      throw new Error('it is not a regular file any more')
    }
    return { handle, [Symbol.asyncDispose]: () => handle.close() }
  } catch (cause) {
    throw new SourceReadError(entry.path, cause)
  }
}
