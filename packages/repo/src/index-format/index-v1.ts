import { corrupt, RepoError } from '../errors/repo-error.ts'
import type { EntryRecord } from './entry-record.ts'
import { type IndexLayout, requireFits, type SortedRecords } from './index-layout.ts'
import { copyKey, readName } from './index-v2.ts'

const headerLength = 8
const entryLength = 20
const emptyKeyLength = 255
const deletedBit = 0x80000000
const offsetMask = 0x7fffffff

/**
 * Finds the table of a version 1 index. The original length is not stored: it is the packed length without what
 * encryption adds. Throws `CORRUPT` when the table does not fit into the bytes.
 */
export function readIndexV1(bytes: Uint8Array, encryptionOverhead: number): IndexLayout {
  if (bytes.length < headerLength)
    throw corrupt(`An index of ${bytes.length} bytes is shorter than its header`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const keyLength = view.getUint8(1)
  const count = view.getUint32(4)
  const stride = keyLength + view.getUint16(2)
  if (stride - keyLength !== entryLength || keyLength < 2 || (keyLength === emptyKeyLength && count > 0)) {
    throw corrupt(`An index has impossible sizes: key ${keyLength}, entry ${stride - keyLength}`)
  }
  if (headerLength + count * stride > bytes.length) {
    throw corrupt(`An index of ${bytes.length} bytes is cut short: it announces ${count} entries`)
  }
  const names = new Map<number, string>()
  const nameAt = (start: number, length: number): string => {
    const known = names.get(start)
    if (known !== undefined && known.length === length) return known
    const name = readName(view, start, length)
    names.set(start, name)
    return name
  }
  const read = (position: number, into: EntryRecord): void => {
    const start = headerLength + position * stride
    const value = start + keyLength
    const offset = view.getUint32(value + 12)
    into.keyBytes = bytes
    into.keyStart = start
    into.keyLength = keyLength
    into.timestamp = view.getUint16(value) * 2 ** 32 + view.getUint32(value + 2)
    into.formatVersion = view.getUint8(value + 6)
    into.packBlobId = nameAt(view.getUint32(value + 8), view.getUint8(value + 7))
    into.packOffset = offset & offsetMask
    into.deleted = offset >= deletedBit
    into.packedLength = view.getUint32(value + 16)
    into.originalLength = Math.max(0, into.packedLength - encryptionOverhead)
    into.compressionId = 0
    into.encryptionKeyId = 0
  }
  return { version: 1, bytes, count, keyLength, entriesStart: headerLength, stride, read }
}

/** Writes a version 1 index. Throws `INVALID_ARGUMENT` for compressed entries and for those that do not fit. */
export function writeIndexV1(records: SortedRecords): Uint8Array {
  const names = new Map<string, number>()
  let count = 0
  let keyLength = emptyKeyLength
  let nameBytes = 0
  for (const record of records()) {
    if (count === 0) keyLength = record.keyLength
    requireFits(record, keyLength)
    if (record.compressionId !== 0 || record.encryptionKeyId !== 0) {
      throw new RepoError('INVALID_ARGUMENT', {
        message: 'Index version 1 cannot describe compressed contents',
      })
    }
    count++
    if (!names.has(record.packBlobId)) {
      names.set(record.packBlobId, nameBytes)
      nameBytes += record.packBlobId.length
    }
  }
  const namesStart = headerLength + count * (keyLength + entryLength)
  const bytes = new Uint8Array(namesStart + nameBytes)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 1)
  view.setUint8(1, keyLength)
  view.setUint16(2, entryLength)
  view.setUint32(4, count)
  let start = headerLength
  for (const record of records()) {
    copyKey(record, bytes, start)
    writeValue(record, {
      view,
      at: start + keyLength,
      nameAt: namesStart + (names.get(record.packBlobId) ?? 0),
    })
    start += keyLength + entryLength
  }
  for (const [name, at] of names) bytes.set(Buffer.from(name, 'latin1'), namesStart + at)
  return bytes
}

function writeValue(record: EntryRecord, target: { view: DataView; at: number; nameAt: number }): void {
  const { view, at, nameAt } = target
  view.setUint16(at, Math.floor(record.timestamp / 2 ** 32))
  view.setUint32(at + 2, record.timestamp >>> 0)
  view.setUint8(at + 6, record.formatVersion)
  view.setUint8(at + 7, record.packBlobId.length)
  view.setUint32(at + 8, nameAt)
  view.setUint32(at + 12, record.packOffset + (record.deleted ? deletedBit : 0))
  view.setUint32(at + 16, record.packedLength)
}
