/** Offsets and sizes of the 64-bit little-endian Executable and Linkable Format. */
const header = { machineClass: 4, dataEncoding: 5, programHeaderOffset: 32, programHeaderCount: 56 } as const
const entry = {
  type: 0,
  flags: 4,
  offset: 8,
  virtual: 16,
  physical: 24,
  inFile: 32,
  inMemory: 40,
  align: 48,
} as const
const ENTRY_BYTES = 56
const types = { load: 1, note: 4, programHeaders: 6 } as const
const READABLE = 4
const PAGE_BYTES = 4096
const NOTE_HEADER_BYTES = 12

/** The program is not one that a note can be added to. */
export class ElfError extends Error {
  override readonly name = 'ElfError'
  readonly code = 'ELF_UNSUPPORTED'
}

/** A note: bytes that a program finds in its own memory by their name. */
export interface ElfNote {
  name: string
  content: Uint8Array
}

/**
 * The program with one note more, which is in its memory when it runs. The note goes to the end of the file, behind a new table of
 * segments that has one for the note. Throws ElfError for what is no 64-bit little-endian ELF program.
 */
export function addElfNote(program: Buffer, note: ElfNote): Buffer {
  const segments = readSegments(program)
  const loads = segments.filter(segment => segment.readUInt32LE(entry.type) === types.load)
  const [first] = loads
  if (first === undefined) throw new ElfError('the program has no segment to load')
  // Kernels before 5.18 take the address of the table to be as far from the first segment as it is in the file.
  const distance = first.readBigUInt64LE(entry.virtual) - first.readBigUInt64LE(entry.offset)
  const lastAddress = loads.map(endInMemory).reduce((a, b) => (a > b ? a : b))
  const start = roundUp(max(BigInt(program.length), lastAddress - distance), PAGE_BYTES)
  const tableBytes = (segments.length + 2) * ENTRY_BYTES
  const noteStart = start + roundUp(BigInt(tableBytes), 16)
  const noteBytes = serializeNote(note)
  const end = noteStart + BigInt(noteBytes.length)

  const place = (offset: bigint, length: bigint) => ({ offset, address: offset + distance, length })
  const table = place(start, BigInt(tableBytes))
  const all = [
    ...segments.map(segment => (isTable(segment) ? moved(segment, table) : segment)),
    newSegment(types.load, place(start, end - start), PAGE_BYTES),
    newSegment(types.note, place(noteStart, BigInt(noteBytes.length)), 4),
  ]
  const result = Buffer.alloc(Number(end))
  program.copy(result)
  Buffer.concat(all).copy(result, Number(start))
  noteBytes.copy(result, Number(noteStart))
  result.writeBigUInt64LE(start, header.programHeaderOffset)
  result.writeUInt16LE(all.length, header.programHeaderCount)
  return result
}

function readSegments(program: Buffer): Buffer[] {
  const isElf = program.length > 64 && program.readUInt32BE(0) === 0x7f454c46
  if (!isElf || program[header.machineClass] !== 2 || program[header.dataEncoding] !== 1) {
    throw new ElfError('the program is no 64-bit little-endian ELF file')
  }
  const start = Number(program.readBigUInt64LE(header.programHeaderOffset))
  const count = program.readUInt16LE(header.programHeaderCount)
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * ENTRY_BYTES
    return Buffer.from(program.subarray(at, at + ENTRY_BYTES))
  })
}

interface Place {
  offset: bigint
  address: bigint
  length: bigint
}

function newSegment(type: number, place: Place, align: number): Buffer {
  const segment = Buffer.alloc(ENTRY_BYTES)
  segment.writeUInt32LE(type, entry.type)
  segment.writeUInt32LE(READABLE, entry.flags)
  segment.writeBigUInt64LE(BigInt(align), entry.align)
  return moved(segment, place)
}

function moved(segment: Buffer, { offset, address, length }: Place): Buffer {
  const copy = Buffer.from(segment)
  copy.writeBigUInt64LE(offset, entry.offset)
  copy.writeBigUInt64LE(address, entry.virtual)
  copy.writeBigUInt64LE(address, entry.physical)
  copy.writeBigUInt64LE(length, entry.inFile)
  copy.writeBigUInt64LE(length, entry.inMemory)
  return copy
}

function isTable(segment: Buffer): boolean {
  return segment.readUInt32LE(entry.type) === types.programHeaders
}

function endInMemory(segment: Buffer): bigint {
  return segment.readBigUInt64LE(entry.virtual) + segment.readBigUInt64LE(entry.inMemory)
}

function serializeNote({ name, content }: ElfNote): Buffer {
  const nameBytes = Buffer.from(`${name}\0`)
  const contentStart = NOTE_HEADER_BYTES + Math.ceil(nameBytes.length / 4) * 4
  const bytes = Buffer.alloc(contentStart + Math.ceil(content.length / 4) * 4)
  bytes.writeUInt32LE(nameBytes.length, 0)
  bytes.writeUInt32LE(content.length, 4)
  nameBytes.copy(bytes, NOTE_HEADER_BYTES)
  bytes.set(content, contentStart)
  return bytes
}

function roundUp(value: bigint, step: number): bigint {
  const size = BigInt(step)
  return ((value + size - 1n) / size) * size
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
