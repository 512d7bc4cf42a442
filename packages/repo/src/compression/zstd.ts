import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { badStream, inflateWith, tooLarge, workingChunk } from './inflate-with.ts'

const magic = 0xfd2fb528
const skippableMagic = 0x184d2a50
const skippableMask = 0xfffffff0
const blockHeaderLength = 3
const runLengthBlock = 1
const dictionaryIdLengths = [0, 1, 2, 4] as const
const contentSizeLengths = [0, 2, 4, 8] as const

/** One zstd frame that states its content's size. */
export function compressZstd(data: Uint8Array, level: number): Uint8Array {
  return zstdCompressSync(data, {
    chunkSize: workingChunk(data.length),
    pledgedSrcSize: data.length,
    params: { [constants.ZSTD_c_compressionLevel]: level },
  })
}

/**
 * The contents of all frames. Kopia's encoder writes no frame at all for no data, and Node decodes the first frame only.
 * Throws `CORRUPT` for a bad stream or more than `maxLength` bytes.
 */
export function decompressZstd(stream: Uint8Array, maxLength: number): Uint8Array {
  const parts: Uint8Array[] = []
  let room = maxLength
  for (const frame of dataFrames(stream)) {
    const part = inflateWith(zstdDecompressSync, frame, { family: 'zstd', maxLength: room })
    room -= part.length
    parts.push(part)
  }
  if (room < 0) throw tooLarge('zstd', maxLength)
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts)
}

/** The frames that hold data, one after the other, without the skippable ones. */
function* dataFrames(stream: Uint8Array): Iterable<Uint8Array> {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.length)
  let at = 0
  while (at < stream.length) {
    if (at + 8 > stream.length)
      throw badStream('zstd', `${stream.length - at} bytes are too short for a frame`)
    const word = view.getUint32(at, true)
    if ((word & skippableMask) >>> 0 === skippableMagic) {
      at += 8 + view.getUint32(at + 4, true)
      continue
    }
    if (word !== magic) throw badStream('zstd', `no frame begins at offset ${at}`)
    const end = frameEnd(view, at)
    yield stream.subarray(at, end)
    at = end
  }
}

/** Where the frame ends, or the end of the stream for a frame that is cut short: its decoder says what is missing. */
function frameEnd(view: DataView, start: number): number {
  const descriptor = view.getUint8(start + 4)
  const single = (descriptor >> 5) & 1
  const sizeFlag = descriptor >> 6
  const windowLength = single === 1 ? 0 : 1
  const sizeLength = sizeFlag === 0 ? single : (contentSizeLengths[sizeFlag] as number)
  let at = start + 5 + windowLength + (dictionaryIdLengths[descriptor & 3] as number) + sizeLength
  for (let last = false; !last; ) {
    if (at + blockHeaderLength > view.byteLength) return view.byteLength
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    last = (header & 1) === 1
    at += blockHeaderLength + (((header >> 1) & 3) === runLengthBlock ? 1 : header >> 3)
  }
  const checksumLength = (descriptor & 4) === 0 ? 0 : 4
  return Math.min(at + checksumLength, view.byteLength)
}
