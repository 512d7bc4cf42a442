import { crc32c } from './crc32c.ts'
import { badStream, tooLarge } from './inflate-with.ts'
import { compressS2Block, decodeS2Block, s2BlockLength } from './s2-block.ts'

const family = 'S2'
const chunkHeaderLength = 4
const checksumLength = 4
const blockLength = 1 << 20

const chunkTypes = { block: 0x00, raw: 0x01, firstSkippable: 0x80, streamId: 0xff } as const
const streamIds = ['S2sTwO', 'sNaPpY']
const streamStart = Uint8Array.from([chunkTypes.streamId, 6, 0, 0, ...new TextEncoder().encode('S2sTwO')])

/** A chunk that holds data. `length` is that of its data when decompressed. */
interface DataChunk {
  readonly type: number
  readonly checksum: number
  readonly body: Uint8Array
  readonly length: number
}

/** An S2 stream with blocks that Snappy knows too, or raw ones where compression does not pay. */
export function compressS2(data: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [streamStart]
  for (let from = 0; from < data.length; from += blockLength) {
    const raw = data.subarray(from, from + blockLength)
    const block = compressS2Block(raw)
    const pays = block.length < raw.length
    const body = pays ? block : raw
    const header = Buffer.allocUnsafe(chunkHeaderLength + checksumLength)
    header.writeUInt8(pays ? chunkTypes.block : chunkTypes.raw, 0)
    header.writeUIntLE(checksumLength + body.length, 1, 3)
    header.writeUInt32LE(maskedChecksum(raw), chunkHeaderLength)
    parts.push(header, body)
  }
  return Buffer.concat(parts)
}

/**
 * The data of an S2 or Snappy stream. Such a stream has no end mark, so one that is cut between two chunks is a shorter
 * stream; every other damage throws `CORRUPT`, as do more than `maxLength` bytes.
 */
export function decompressS2(stream: Uint8Array, maxLength: number): Uint8Array {
  const chunks = [...dataChunks(stream)]
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  if (length > maxLength) throw tooLarge(family, maxLength)
  const data = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const chunk of chunks) {
    const target = data.subarray(at, at + chunk.length)
    if (chunk.type === chunkTypes.raw) target.set(chunk.body)
    else decodeS2Block(chunk.body, target)
    if (maskedChecksum(target) !== chunk.checksum)
      throw badStream(family, `the block at ${at} has another checksum`)
    at += chunk.length
  }
  return data
}

function* dataChunks(stream: Uint8Array): Iterable<DataChunk> {
  const bytes = Buffer.from(stream.buffer, stream.byteOffset, stream.length)
  let at = 0
  while (at < bytes.length) {
    if (at + chunkHeaderLength > bytes.length) throw badStream(family, 'it ends within a chunk header')
    const type = bytes.readUInt8(at)
    const bodyAt = at + chunkHeaderLength
    const end = bodyAt + bytes.readUIntLE(at + 1, 3)
    if (end > bytes.length) throw badStream(family, 'it ends within a chunk')
    if (at === 0 && type !== chunkTypes.streamId)
      throw badStream(family, 'it does not begin with a stream id')
    if (type === chunkTypes.block || type === chunkTypes.raw)
      yield dataChunk(type, bytes.subarray(bodyAt, end))
    else checkOtherChunk(type, bytes.toString('latin1', bodyAt, end))
    at = end
  }
}

function dataChunk(type: number, chunk: Buffer): DataChunk {
  if (chunk.length < checksumLength) throw badStream(family, 'a chunk is too short for its checksum')
  const body = chunk.subarray(checksumLength)
  const length = type === chunkTypes.raw ? body.length : s2BlockLength(body)
  return { type, checksum: chunk.readUInt32LE(0), body, length }
}

function checkOtherChunk(type: number, body: string): void {
  if (type === chunkTypes.streamId) {
    if (!streamIds.includes(body)) throw badStream(family, 'its stream id is unknown')
  } else if (type < chunkTypes.firstSkippable) {
    throw badStream(family, `a chunk has the unknown type ${type}`)
  }
}

function maskedChecksum(bytes: Uint8Array): number {
  const crc = crc32c(bytes)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
