/** What a header of a tar archive says about the entry that follows it. */
export interface TarEntry {
  /** With slashes, relative; that of a directory ends with one. */
  path: string
  type: 'file' | 'directory' | 'symlink'
  /** Twelve bits: permissions, setuid, setgid, sticky. */
  mode: number
  uid: number
  gid: number
  /** Bytes of data that follow; 0 for anything but files. */
  size: number
  /** Nanoseconds since the Unix epoch. */
  mtime: bigint
  /** Of a symlink. */
  target?: Uint8Array
}

const block = 512
const nanoseconds = 1_000_000_000n
const typeFlags = { file: '0', symlink: '2', directory: '5', extended: 'x' } as const

/** Two empty blocks, by which an archive ends. */
export const tarEnd = Buffer.alloc(2 * block)

/** How many zeros follow data of this length, so that the next header begins at a block. */
export function tarPadding(size: number): number {
  return (block - (size % block)) % block
}

/**
 * The header of an entry: one POSIX ustar block, preceded by pax records (POSIX.1-2001) for what ustar cannot hold: long or
 * non-ASCII names, fractions of seconds, times before 1970, sizes from 8 GiB, large ids.
 */
export function serializeTarHeader(entry: TarEntry): Uint8Array {
  const records = paxRecords(entry)
  const header = ustarBlock(entry, typeFlags[entry.type])
  if (records.length === 0) return header
  const body = Buffer.concat(records)
  const plain: TarEntry = {
    path: 'PaxHeader',
    type: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: body.length,
    mtime: 0n,
  }
  return Buffer.concat([
    ustarBlock(plain, typeFlags.extended),
    body,
    Buffer.alloc(tarPadding(body.length)),
    header,
  ])
}

function paxRecords(entry: TarEntry): Buffer[] {
  const records: Buffer[] = []
  const path = Buffer.from(entry.path)
  if (!fitsField(path, 100)) records.push(paxRecord('path', path))
  if (entry.target !== undefined && !fitsField(entry.target, 100))
    records.push(paxRecord('linkpath', entry.target))
  if (entry.mtime % nanoseconds !== 0n || !fitsOctal(entry.mtime / nanoseconds, 11)) {
    records.push(paxRecord('mtime', Buffer.from(decimalSeconds(entry.mtime))))
  }
  for (const name of ['uid', 'gid'] as const) {
    if (!fitsOctal(BigInt(entry[name]), 7)) records.push(paxRecord(name, Buffer.from(String(entry[name]))))
  }
  if (!fitsOctal(BigInt(entry.size), 11)) records.push(paxRecord('size', Buffer.from(String(entry.size))))
  return records
}

// A record begins with its own length in decimal, those digits included.
function paxRecord(name: string, value: Uint8Array): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${name}=`), value, Buffer.from('\n')])
  let length = rest.length
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

/** Seconds with a fraction, `-0.5` for half a second before the epoch. */
export function decimalSeconds(time: bigint): string {
  const size = time < 0n ? -time : time
  const fraction = (size % nanoseconds).toString().padStart(9, '0').replace(/0+$/, '')
  return `${time < 0n ? '-' : ''}${size / nanoseconds}${fraction === '' ? '' : `.${fraction}`}`
}

function ustarBlock(entry: TarEntry, typeFlag: string): Buffer {
  const header = Buffer.alloc(block)
  header.set(Buffer.from(entry.path).subarray(0, 100), 0)
  header.write(octal(BigInt(entry.mode), 7), 100)
  header.write(octal(BigInt(entry.uid), 7), 108)
  header.write(octal(BigInt(entry.gid), 7), 116)
  header.write(octal(BigInt(entry.size), 11), 124)
  header.write(octal(entry.mtime / nanoseconds, 11), 136)
  header.write('        ', 148)
  header.write(typeFlag, 156)
  if (entry.target !== undefined) header.set(entry.target.subarray(0, 100), 157)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(BigInt(sum), 6)}\0 `, 148)
  return header
}

function octal(value: bigint, digits: number): string {
  return fitsOctal(value, digits) ? value.toString(8).padStart(digits, '0') : '0'.repeat(digits)
}

function fitsOctal(value: bigint, digits: number): boolean {
  return value >= 0n && value < 8n ** BigInt(digits)
}

function fitsField(bytes: Uint8Array, length: number): boolean {
  return bytes.length <= length && bytes.every(byte => byte >= 0x20 && byte < 0x7f)
}
