/** A regular file in a tar archive, as far as its header tells. */
export interface TarFile {
  /** Without a leading slash. */
  readonly path: string
  /** Bytes of content, less than 8 GiB. */
  readonly size: number
  /** Seconds since 1970. */
  readonly mtime: number
}

/** Headers and contents begin at multiples of this. */
export const tarBlock = 512

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
  magic: [257, 8],
  devMajor: [329, 8],
  devMinor: [337, 8],
  prefix: [345, 155],
} as const
type Field = keyof typeof field

const regularFile = '0'
const paxHeader = 'x'
const mode = 0o755

/** How many zero bytes follow content of this size. */
export function tarPadding(size: number): number {
  return (tarBlock - (size % tarBlock)) % tarBlock
}

/**
 * The header of a file, to be followed by its content and `tarPadding(size)` zero bytes. What the classic header cannot
 * hold, a path that is too long or not ASCII, goes into a pax header in front, as Go's archive/tar does.
 */
export function tarHeader(file: TarFile): Buffer {
  const split = isAscii(file.path) ? splitPath(file.path) : undefined
  if (split !== undefined) return ustarHeader(file, split, regularFile)
  const records = paxRecord('path', file.path)
  const ascii = Buffer.from(file.path).filter(byte => byte > 0 && byte < 0x80)
  const name = Buffer.from(ascii).toString('latin1')
  return Buffer.concat([
    ustarHeader({ ...file, size: records.length }, paxName(name), paxHeader),
    records,
    Buffer.alloc(tarPadding(records.length)),
    ustarHeader(file, { prefix: '', name: name.slice(0, field.name[1]) }, regularFile),
  ])
}

interface SplitPath {
  prefix: string
  name: string
}

/** The path in the two fields of the header, parted at a slash; undefined if it does not fit. */
function splitPath(path: string): SplitPath | undefined {
  const [, nameLength] = field.name
  const [, prefixLength] = field.prefix
  if (path.length <= nameLength) return { prefix: '', name: path }
  const slash = path.lastIndexOf('/', prefixLength)
  const name = path.slice(slash + 1)
  if (slash <= 0 || name.length > nameLength || name === '') return undefined
  return { prefix: path.slice(0, slash), name }
}

/** Where extracting programs that know nothing of pax put the records. */
function paxName(name: string): SplitPath {
  const base = name.slice(name.lastIndexOf('/') + 1)
  return { prefix: '', name: `PaxHeaders.0/${base}`.slice(0, field.name[1]) }
}

/** What all headers have in common. */
const template = Buffer.alloc(tarBlock)
writeOctal(template, 'mode', mode)
writeOctal(template, 'uid', 0)
writeOctal(template, 'gid', 0)
writeText(template, 'checksum', '        ')
writeText(template, 'magic', 'ustar\u000000')
writeOctal(template, 'devMajor', 0)
writeOctal(template, 'devMinor', 0)

function ustarHeader({ size, mtime }: TarFile, { prefix, name }: SplitPath, type: string): Buffer {
  const header = Buffer.from(template)
  writeText(header, 'name', name)
  writeOctal(header, 'size', size)
  writeOctal(header, 'mtime', mtime)
  writeText(header, 'type', type)
  writeText(header, 'prefix', prefix)
  let sum = 0
  for (let at = 0; at < tarBlock; at++) sum += header[at] as number
  writeText(header, 'checksum', `${sum.toString(8).padStart(6, '0')}\0 `)
  return header
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest
  while (`${length}`.length + rest !== length) length = `${length}`.length + rest
  return Buffer.from(`${length} ${key}=${value}\n`)
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length && !text.includes('\0')
}

function writeText(header: Buffer, name: Field, text: string): void {
  header.write(text, field[name][0], field[name][1], 'latin1')
}

function writeOctal(header: Buffer, name: Field, value: number): void {
  writeText(header, name, value.toString(8).padStart(field[name][1] - 1, '0'))
}
