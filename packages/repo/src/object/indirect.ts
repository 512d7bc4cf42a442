import { corrupt } from '../errors/repo-error.ts'
import { type ObjectId, objectId } from './object-id.ts'

/** One chunk of an object: where it starts, how long it is, and the object that holds its bytes. */
export interface Chunk {
  start: number
  length: number
  object: ObjectId
}

const streamName = 'kopia:indirect'

/** The bytes of an index object, equal to Kopia's for the same chunks. */
export function serializeIndirect(chunks: readonly Chunk[]): Uint8Array {
  const entries = chunks.map(({ start, length, object }) => {
    const s = start === 0 ? '' : `"s":${start},`
    const l = length === 0 ? '' : `"l":${length},`
    return `{${s}${l}"o":"${object}"}`
  })
  return Buffer.from(`{"stream":"${streamName}","entries":[${entries.join(',')}]}\n`)
}

/** The chunks an index object lists, in order and without gaps. Throws `CORRUPT` for anything else. */
export function parseIndirect(bytes: Uint8Array): Chunk[] {
  const { stream, entries } = parseDocument(bytes)
  if (stream !== streamName || !Array.isArray(entries)) throw corrupt('It is no list of chunks')
  let next = 0
  return entries.map(entry => {
    const chunk = parseEntry(entry)
    if (chunk.start !== next) throw corrupt(`A chunk starts at ${chunk.start} where ${next} was expected`)
    next = chunk.start + chunk.length
    return chunk
  })
}

function parseDocument(bytes: Uint8Array): { stream?: unknown; entries?: unknown } {
  let document: unknown
  try {
    document = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  } catch (cause) {
    throw corrupt('It is no JSON', { cause })
  }
  return typeof document === 'object' && document !== null ? document : {}
}

function parseEntry(entry: unknown): Chunk {
  const { s = 0, l = 0, o } = (entry ?? {}) as { s?: unknown; l?: unknown; o?: unknown }
  if (!isLength(s) || !isLength(l) || typeof o !== 'string')
    throw corrupt('A chunk has no start, length or object')
  return { start: s, length: l, object: objectId(o) }
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
