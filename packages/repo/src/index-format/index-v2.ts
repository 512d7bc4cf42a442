import { corrupt, RepoError } from '../errors/repo-error.ts'
import type { EntryRecord } from './entry-record.ts'
import { type IndexLayout, requireFits, type SortedRecords } from './index-layout.ts'

const headerLength = 17
const packRowLength = 5
const formatRowLength = 6
const shortestEntry = 16
const longestEntry = 19
const deletedBit = 0x80000000
const offsetMask = 0x7fffffff

/** Finds the tables of a version 2 index. Throws `CORRUPT` when they do not fit into the bytes. */
export function readIndexV2(bytes: Uint8Array): IndexLayout {
  if (bytes.length < headerLength)
    throw corrupt(`An index of ${bytes.length} bytes is shorter than its header`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const keyLength = view.getUint8(1)
  const entryLength = view.getUint16(2)
  const count = view.getUint32(4)
  const packCount = view.getUint32(8)
  const formatCount = view.getUint8(12)
  const baseTimestamp = view.getUint32(13)
  const stride = keyLength + entryLength
  const packsStart = headerLength + count * stride
  const formatsStart = packsStart + packCount * packRowLength
  if (keyLength < 2 || entryLength < shortestEntry || stride > 256) {
    throw corrupt(`An index has impossible sizes: key ${keyLength}, entry ${entryLength}`)
  }
  if (formatsStart + formatCount * formatRowLength > bytes.length) {
    throw corrupt(
      `An index of ${bytes.length} bytes is cut short: it announces ${count} entries and ${packCount} packs`,
    )
  }
  const packs = new PackNames(view, { start: packsStart, count: packCount })
  const formats = readFormats(view, { start: formatsStart, count: formatCount })
  const read = (position: number, into: EntryRecord): void => {
    const start = headerLength + position * stride
    const value = start + keyLength
    const offset = view.getUint32(value + 4)
    const high = entryLength >= longestEntry ? view.getUint8(value + 18) : 0
    const packHigh = entryLength >= 18 ? view.getUint8(value + 17) : 0
    const format = formats[entryLength >= 17 ? view.getUint8(value + 16) : 0]
    if (format === undefined)
      throw corrupt(`Entry ${position} of an index names a format that the index does not have`)
    into.keyBytes = bytes
    into.keyStart = start
    into.keyLength = keyLength
    into.timestamp = baseTimestamp + view.getUint32(value)
    into.packOffset = offset & offsetMask
    into.deleted = offset >= deletedBit
    into.originalLength = ((high >> 4) << 24) | readUint24(view, value + 8)
    into.packedLength = ((high & 15) << 24) | readUint24(view, value + 11)
    into.packBlobId = packs.at((packHigh << 16) | view.getUint16(value + 14))
    into.compressionId = format.compressionId
    into.formatVersion = format.formatVersion
    into.encryptionKeyId = format.encryptionKeyId
  }
  return { version: 2, bytes, count, keyLength, entriesStart: headerLength, stride, read }
}

/** Writes a version 2 index, byte for byte as Kopia does. Throws `INVALID_ARGUMENT` for entries that do not fit. */
export function writeIndexV2(records: SortedRecords): Uint8Array {
  const plan = measure(records)
  const { keyLength, entryLength, count, packs, formats } = plan
  const stride = keyLength + entryLength
  const packsStart = headerLength + count * stride
  const formatsStart = packsStart + packs.size * packRowLength
  const namesStart = formatsStart + formats.size * formatRowLength
  const bytes = new Uint8Array(namesStart + plan.nameBytes)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 2)
  view.setUint8(1, keyLength)
  view.setUint16(2, entryLength)
  view.setUint32(4, count)
  view.setUint32(8, packs.size)
  view.setUint8(12, formats.size)
  let start = headerLength
  for (const record of records()) {
    copyKey(record, bytes, start)
    writeValue(record, { view, at: start + keyLength, plan })
    start += stride
  }
  writePackTable(packs, { bytes, view, tableStart: packsStart, namesStart })
  writeFormatTable(formats, view, formatsStart)
  return bytes
}

interface Plan {
  count: number
  keyLength: number
  entryLength: number
  /** Pack name to number, in order of first appearance. */
  packs: Map<string, number>
  /** Packed format to number, in order of first appearance. */
  formats: Map<number, number>
  nameBytes: number
}

function measure(records: SortedRecords): Plan {
  const plan: Plan = {
    count: 0,
    keyLength: 0,
    entryLength: 0,
    packs: new Map(),
    formats: new Map(),
    nameBytes: 0,
  }
  let longLengths = false
  for (const record of records()) {
    if (plan.count === 0) plan.keyLength = record.keyLength
    requireFits(record, plan.keyLength)
    plan.count++
    if (!plan.packs.has(record.packBlobId)) {
      plan.packs.set(record.packBlobId, plan.packs.size)
      plan.nameBytes += record.packBlobId.length
    }
    const format = packedFormat(record)
    if (!plan.formats.has(format)) plan.formats.set(format, plan.formats.size)
    longLengths ||= record.originalLength >= 2 ** 24 || record.packedLength >= 2 ** 24
  }
  if (plan.packs.size > 2 ** 24 || plan.formats.size > 255) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `An index cannot hold ${plan.packs.size} packs and ${plan.formats.size} formats`,
    })
  }
  plan.entryLength = longLengths ? longestEntry : entryLengthFor(plan)
  return plan
}

function entryLengthFor({ packs, formats }: Plan): number {
  if (packs.size > 65536) return 18
  return formats.size > 1 ? 17 : shortestEntry
}

function writeValue(record: EntryRecord, target: { view: DataView; at: number; plan: Plan }): void {
  const { view, at, plan } = target
  const pack = plan.packs.get(record.packBlobId) ?? 0
  view.setUint32(at, record.timestamp)
  view.setUint32(at + 4, record.packOffset + (record.deleted ? deletedBit : 0))
  writeUint24(view, at + 8, record.originalLength)
  writeUint24(view, at + 11, record.packedLength)
  view.setUint16(at + 14, pack & 0xffff)
  if (plan.entryLength >= 17) view.setUint8(at + 16, plan.formats.get(packedFormat(record)) ?? 0)
  if (plan.entryLength >= 18) view.setUint8(at + 17, pack >>> 16)
  if (plan.entryLength >= 19) {
    view.setUint8(at + 18, ((record.originalLength >>> 24) << 4) | (record.packedLength >>> 24))
  }
}

function writePackTable(
  packs: ReadonlyMap<string, number>,
  target: { bytes: Uint8Array; view: DataView; tableStart: number; namesStart: number },
): void {
  let row = target.tableStart
  let nameAt = target.namesStart
  for (const name of packs.keys()) {
    target.view.setUint8(row, name.length)
    target.view.setUint32(row + 1, nameAt)
    target.bytes.set(Buffer.from(name, 'latin1'), nameAt)
    row += packRowLength
    nameAt += name.length
  }
}

function writeFormatTable(formats: ReadonlyMap<number, number>, view: DataView, start: number): void {
  let row = start
  for (const format of formats.keys()) {
    view.setUint32(row, Math.floor(format / 65536))
    view.setUint16(row + 4, format % 65536)
    row += formatRowLength
  }
}

/** Compression id, format version and key id as one number below 2^48. */
function packedFormat(record: EntryRecord): number {
  return record.compressionId * 65536 + record.formatVersion * 256 + record.encryptionKeyId
}

interface FormatRow {
  compressionId: number
  formatVersion: number
  encryptionKeyId: number
}

function readFormats(view: DataView, table: { start: number; count: number }): FormatRow[] {
  return Array.from({ length: table.count }, (_, i) => {
    const row = table.start + i * formatRowLength
    return {
      compressionId: view.getUint32(row),
      formatVersion: view.getUint8(row + 4),
      encryptionKeyId: view.getUint8(row + 5),
    }
  })
}

/** The pack table; each name becomes a string when first asked for and only once. */
class PackNames {
  readonly #view: DataView
  readonly #start: number
  readonly #names: (string | undefined)[]

  constructor(view: DataView, table: { start: number; count: number }) {
    this.#view = view
    this.#start = table.start
    this.#names = new Array<string | undefined>(table.count).fill(undefined)
  }

  at(pack: number): string {
    const known = this.#names[pack]
    if (known !== undefined) return known
    if (pack >= this.#names.length)
      throw corrupt(`An index entry names pack ${pack} of ${this.#names.length}`)
    const row = this.#start + pack * packRowLength
    const name = readName(this.#view, this.#view.getUint32(row + 1), this.#view.getUint8(row))
    this.#names[pack] = name
    return name
  }
}

/** A pack name inside an index. Throws `CORRUPT` when it lies outside. */
export function readName(view: DataView, start: number, length: number): string {
  if (start + length > view.byteLength) throw corrupt('A pack name lies outside its index')
  return Buffer.from(view.buffer, view.byteOffset + start, length).toString('latin1')
}

/** Copies the record's key to `start`. */
export function copyKey(record: EntryRecord, into: Uint8Array, start: number): void {
  const { keyBytes, keyStart, keyLength } = record
  for (let i = 0; i < keyLength; i++) into[start + i] = keyBytes[keyStart + i] ?? 0
}

function readUint24(view: DataView, at: number): number {
  return (view.getUint16(at) << 8) | view.getUint8(at + 2)
}

function writeUint24(view: DataView, at: number, value: number): void {
  view.setUint16(at, (value >>> 8) & 0xffff)
  view.setUint8(at + 2, value & 0xff)
}
