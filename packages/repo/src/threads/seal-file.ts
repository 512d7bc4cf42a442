import { closeSync, readSync } from 'node:fs'
import { createSplitter } from '../splitter/splitter.ts'
import type { PackFiller } from './pack-filler.ts'
import { attemptReading, openSource, requireRegular } from './read-source.ts'
import type { FileJob, ReadFailure } from './thread-messages.ts'

/** What a file's contents are sealed with. */
export interface ChunkPorts {
  readonly filler: PackFiller
  /** Resolves when the pack has room for a chunk and for what is read ahead; other work of the thread is done meanwhile. */
  ready(): Promise<void>
  /** Makes the first `length` bytes of what was read a content. False when nobody wants the rest of the file. */
  chunk(length: number): Promise<boolean>
}

// Still in the processor's cache when it is split.
const readLength = 256 << 10

/** Reads a file from start to end and seals it chunk by chunk. Returns how reading failed, if it did. */
export async function sealFile(ports: ChunkPorts, job: FileJob): Promise<ReadFailure | undefined> {
  const opened = attemptReading(() => openSource(job.path))
  if ('failure' in opened) return opened.failure
  try {
    const checked = attemptReading(() => requireRegular(opened.value))
    return 'failure' in checked ? checked.failure : await sealOpened(ports, job, opened.value)
  } finally {
    closeSync(opened.value)
  }
}

async function sealOpened(
  { filler, ready, chunk }: ChunkPorts,
  job: FileJob,
  descriptor: number,
): Promise<ReadFailure | undefined> {
  const splitter = createSplitter(job.splitter)
  const end = job.offset + (job.length ?? Number.POSITIVE_INFINITY)
  let isWanted = true
  let chunks = 0
  for (let position = job.offset; isWanted; ) {
    await ready()
    const read = attemptReading(() => readAhead(filler, { descriptor, position, end }))
    if ('failure' in read) {
      filler.drop()
      return read.failure
    }
    if (read.value === 0) break
    position += read.value
    for (let from = filler.held - read.value; from < filler.held && isWanted; from = 0) {
      const cut = splitter.nextCut(filler.plaintext(from))
      if (cut < 0) break
      isWanted = await chunk(from + cut)
      chunks++
    }
  }
  if (!isWanted) filler.drop()
  else if (filler.held > 0 || chunks === 0) await chunk(filler.held)
  return undefined
}

function readAhead(
  filler: PackFiller,
  { descriptor, position, end }: { descriptor: number; position: number; end: number },
): number {
  const wanted = Math.min(readLength, end - position)
  if (wanted <= 0) return 0
  const length = readSync(descriptor, filler.room(wanted), 0, wanted, position)
  filler.hold(length)
  return length
}
