import { ImageError } from './image-error.ts'

/** What one entry of an archive is, without its content. */
export interface TarEntry {
  /** Without a leading slash; a directory without a trailing one. */
  path: string
  type: 'file' | 'directory' | 'symlink'
  mode: number
  /** Bytes of content; 0 for all but files. */
  size: number
  /** What a symlink points to. */
  linkTo?: string
  uid?: number
  gid?: number
  /** Seconds since 1970. */
  mtime?: number
}

/** An entry with its content. */
export interface TarFile extends TarEntry {
  content: Uint8Array
}

const block = 512
const octalSizeLimit = 8 ** 11

// Offsets and lengths of the ustar header (POSIX.1-2017, pax, "ustar Interchange Format").
const field = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
} as const
type Field = keyof typeof field

const typeFlags = { file: '0', symlink: '2', directory: '5' } as const
const paxFlag = 'x'

/** The two zero blocks after the last entry. */
export const tarEnd: Uint8Array = new Uint8Array(2 * block)

/** How many zero bytes follow content of this size. */
export function tarPadding(size: number): number {
  return (block - (size % block)) % block
}

/**
 * The header blocks of an entry; content and `tarPadding(size)` zero bytes follow. A name or link that is long or not
 * ASCII, or a size from 8 GiB on, gets a pax header in front.
 */
export function serializeTarHeader(entry: TarEntry): Uint8Array {
  const name = entry.type === 'directory' ? `${entry.path}/` : entry.path
  const pax: [string, string][] = []
  if (!fits(name, 'name')) pax.push(['path', name])
  if (!fits(entry.linkTo ?? '', 'linkName')) pax.push(['linkpath', entry.linkTo ?? ''])
  if (entry.size >= octalSizeLimit) pax.push(['size', `${entry.size}`])
  const header = ustarHeader({ ...entry, path: name }, typeFlags[entry.type])
  return pax.length === 0 ? header : concat([paxHeader(pax), header])
}

/** A whole archive, for entries small enough to hold in memory. */
export function serializeTar(files: Iterable<TarFile>): Uint8Array {
  const parts: Uint8Array[] = []
  for (const file of files) {
    parts.push(serializeTarHeader(file), file.content, new Uint8Array(tarPadding(file.size)))
  }
  return concat([...parts, tarEnd])
}

/** The entries of a whole archive. Throws ImageError `TAR_MALFORMED` at a wrong checksum or an early end. */
export function parseTar(bytes: Uint8Array): TarFile[] {
  const files: TarFile[] = []
  let pax: ReadonlyMap<string, string> = new Map()
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.subarray(at, at + block)
    if (header.every(byte => byte === 0)) return files
    checkHeader(header, at)
    const size = Number(pax.get('size') ?? readOctal(header, 'size'))
    const content = bytes.subarray(at + block, at + block + size)
    if (content.length < size)
      throw new ImageError('TAR_MALFORMED', `the archive ends within the entry at byte ${at}`)
    at += block + size + tarPadding(size)
    if (readText(header, 'type') === paxFlag) pax = parsePax(content)
    else {
      files.push(entryFrom(header, pax, content))
      pax = new Map()
    }
  }
  throw new ImageError('TAR_MALFORMED', 'the archive has no end')
}

function ustarHeader(entry: TarEntry, flag: string): Uint8Array {
  const header = new Uint8Array(block)
  writeText(header, 'name', truncated(entry.path, 'name'))
  writeOctal(header, 'mode', entry.mode)
  writeOctal(header, 'uid', entry.uid ?? 0)
  writeOctal(header, 'gid', entry.gid ?? 0)
  writeOctal(header, 'size', entry.size >= octalSizeLimit ? 0 : entry.size)
  writeOctal(header, 'mtime', entry.mtime ?? 0)
  writeText(header, 'type', flag)
  writeText(header, 'linkName', truncated(entry.linkTo ?? '', 'linkName'))
  writeText(header, 'magic', 'ustar\u000000')
  writeText(header, 'checksum', `${checksum(header).toString(8).padStart(6, '0')}\0 `)
  return header
}

function paxHeader(records: [string, string][]): Uint8Array {
  const content = concat(records.map(([key, value]) => paxRecord(key, value)))
  const header = ustarHeader({ path: 'pax', type: 'file', mode: 0o644, size: content.length }, paxFlag)
  return concat([header, content, new Uint8Array(tarPadding(content.length))])
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array {
  const rest = Buffer.from(` ${key}=${value}\n`)
  let length = rest.length
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length
  return concat([Buffer.from(`${length}`), rest])
}

function parsePax(content: Uint8Array): Map<string, string> {
  const records = new Map<string, string>()
  const text = Buffer.from(content)
  for (let at = 0; at < text.length; ) {
    const length = Number(text.subarray(at, text.indexOf(' ', at)))
    const record = text.subarray(text.indexOf(' ', at) + 1, at + length - 1).toString()
    const equals = record.indexOf('=')
    if (!(length > 0) || equals < 0) throw new ImageError('TAR_MALFORMED', 'a pax header cannot be read')
    records.set(record.slice(0, equals), record.slice(equals + 1))
    at += length
  }
  return records
}

function entryFrom(header: Uint8Array, pax: ReadonlyMap<string, string>, content: Uint8Array): TarFile {
  const prefix = readText(header, 'prefix')
  const name =
    pax.get('path') ?? (prefix === '' ? readText(header, 'name') : `${prefix}/${readText(header, 'name')}`)
  const linkTo = pax.get('linkpath') ?? readText(header, 'linkName')
  return {
    path: name.replace(/\/$/, ''),
    type: typeFrom(readText(header, 'type')),
    mode: readOctal(header, 'mode'),
    uid: readOctal(header, 'uid'),
    gid: readOctal(header, 'gid'),
    mtime: readOctal(header, 'mtime'),
    size: content.length,
    ...(linkTo === '' ? {} : { linkTo }),
    content,
  }
}

function typeFrom(flag: string): TarEntry['type'] {
  if (flag === '' || flag === typeFlags.file) return 'file'
  if (flag === typeFlags.symlink) return 'symlink'
  if (flag === typeFlags.directory) return 'directory'
  throw new ImageError('TAR_MALFORMED', `entries of type "${flag}" are not supported`)
}

function checkHeader(header: Uint8Array, at: number): void {
  if (header.length === block && readOctal(header, 'checksum') === checksum(header)) return
  throw new ImageError('TAR_MALFORMED', `the header at byte ${at} has a wrong checksum or is cut short`)
}

/** The sum of all bytes, with the checksum's own field counted as spaces. */
function checksum(header: Uint8Array): number {
  const [start, length] = field.checksum
  return header.reduce((sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte), 0)
}

function fits(text: string, name: Field): boolean {
  return /^[\x20-\x7e]*$/.test(text) && text.length <= field[name][1]
}

/** What an old reader shows of a name that the pax header holds in full. */
function truncated(text: string, name: Field): string {
  return text.replace(/[^\x20-\x7e]/g, '_').slice(0, field[name][1])
}

function writeText(header: Uint8Array, name: Field, text: string): void {
  header.set(Buffer.from(text, 'latin1'), field[name][0])
}

function writeOctal(header: Uint8Array, name: Field, value: number): void {
  writeText(header, name, value.toString(8).padStart(field[name][1] - 1, '0'))
}

function readText(header: Uint8Array, name: Field): string {
  const [start, length] = field[name]
  const text = Buffer.from(header.subarray(start, start + length)).toString('latin1')
  return text.replace(/\0.*$/s, '')
}

function readOctal(header: Uint8Array, name: Field): number {
  return Number.parseInt(readText(header, name).trim() || '0', 8)
}

function concat(parts: Uint8Array[]): Uint8Array {
  return Buffer.concat(parts)
}
