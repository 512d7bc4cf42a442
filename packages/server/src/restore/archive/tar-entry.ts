import { ArchiveError } from './archive-error.ts'

/** Headers and contents begin at multiples of this. */
export const tarBlock = 512

/** What the type flag of a header means. */
export type TarEntryType = 'file' | 'folder' | 'pax' | 'global pax' | 'long name' | 'long link' | 'other'

/** A header, as far as readers of backups look at it. */
export interface TarEntry {
  readonly type: TarEntryType
  /** As it is written. */
  readonly flag: string
  readonly path: string
  /** Bytes of content that follow. */
  readonly size: number
}

// Offsets and ends of the ustar header (POSIX.1-2017, pax, "ustar Interchange Format").
const field = {
  name: [0, 100],
  size: [124, 136],
  checksum: [148, 156],
  flag: [156, 157],
  magic: [257, 263],
  prefix: [345, 500],
} as const
type Field = keyof typeof field

const types: Readonly<Record<string, TarEntryType>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '5': 'folder',
  x: 'pax',
  g: 'global pax',
  L: 'long name',
  K: 'long link',
}

/**
 * Reads a header of 512 bytes; undefined for one of zeros, two of which end an archive.
 * Throws ArchiveError (`ARCHIVE_DAMAGED`) for anything else that is no header.
 */
export function parseTarHeader(block: Buffer): TarEntry | undefined {
  const sum = sumOf(block)
  if (sum === 0) return undefined
  if (octal(block, 'checksum') !== sum) throw damaged('a header has the wrong checksum')
  const flag = block.toString('latin1', ...field.flag)
  const name = text(block, 'name')
  const isUstar = block.toString('latin1', ...field.magic) === 'ustar\0'
  const prefix = isUstar ? text(block, 'prefix') : ''
  const path = prefix === '' ? name : `${prefix}/${name}`
  return { type: typeOf(flag, path), flag, path, size: sizeOf(block) }
}

/** Before ustar, folders were files with a slash at the end. */
function typeOf(flag: string, path: string): TarEntryType {
  return flag === '\0' && path.endsWith('/') ? 'folder' : (types[flag] ?? 'other')
}

/** What a pax header says about the entry after it. */
export interface PaxRecords {
  readonly path?: string | undefined
  readonly size?: number | undefined
  /** Content has holes that are not stored. */
  readonly sparse: boolean
}

/** Reads the content of a pax header: lines of `<length> <key>=<value>`. Throws ArchiveError (`ARCHIVE_DAMAGED`). */
export function parsePax(content: Buffer): PaxRecords {
  let path: string | undefined
  let size: number | undefined
  let sparse = false
  for (let at = 0; at < content.length; ) {
    const record = paxRecord(content, at)
    at = record.end
    if (record.key === 'path') path = record.value
    else if (record.key === 'size') size = decimal(record.value)
    else if (record.key.startsWith('GNU.sparse.')) sparse = true
  }
  return { path, size, sparse }
}

function paxRecord(content: Buffer, at: number): { key: string; value: string; end: number } {
  const space = content.indexOf(0x20, at)
  const digits = space < 0 || space - at > 8 ? '' : content.toString('latin1', at, space)
  const end = at + decimal(digits)
  const equals = content.indexOf(0x3d, space)
  if (end > content.length || equals < 0 || equals >= end || content[end - 1] !== 0x0a) {
    throw damaged('a pax header has a record that cannot be read')
  }
  return { key: utf8(content, space + 1, equals), value: utf8(content, equals + 1, end - 1), end }
}

/** A text that fills its place or ends with a zero. */
export function textUntilZero(bytes: Buffer, from = 0, to: number = bytes.length): string {
  const zero = bytes.indexOf(0, from)
  return utf8(bytes, from, zero < 0 || zero > to ? to : zero)
}

function utf8(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('utf8', from, to)
}

function text(block: Buffer, name: Field): string {
  return textUntilZero(block, ...field[name])
}

/** The sum of all bytes, with spaces for the sum itself; 0 only if there is nothing but zeros. */
function sumOf(block: Buffer): number {
  let sum = 0
  for (let at = 0; at < tarBlock; at++) sum += block[at] as number
  if (sum === 0) return 0
  const [from, to] = field.checksum
  for (let at = from; at < to; at++) sum += 0x20 - (block[at] as number)
  return sum
}

function octal(block: Buffer, name: Field): number {
  const digits = block.toString('latin1', ...field[name]).replace(/^[ \0]+|[ \0]+$/g, '')
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN
}

/** Sizes from 8 GiB on are numbers of 95 bits, which the first bit tells. */
function sizeOf(block: Buffer): number {
  const [from, to] = field.size
  const isBinary = ((block[from] as number) & 0x80) !== 0
  const size = isBinary ? binary(block, from, to) : octal(block, 'size')
  if (!Number.isSafeInteger(size)) throw damaged('a header has a size that cannot be read')
  return size
}

function binary(block: Buffer, from: number, to: number): number {
  let value = (block[from] as number) & 0x7f
  for (let at = from + 1; at < to; at++) value = value * 256 + (block[at] as number)
  return value
}

function decimal(digits: string): number {
  const value = /^\d+$/.test(digits) ? Number(digits) : Number.NaN
  if (!Number.isSafeInteger(value) || value < 0)
    throw damaged('a pax header has a number that cannot be read')
  return value
}

function damaged(reason: string): ArchiveError {
  return new ArchiveError('ARCHIVE_DAMAGED', reason)
}
