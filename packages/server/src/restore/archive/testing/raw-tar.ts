import { gzipSync } from 'node:zlib'

/** An entry as an attacker would write it: nothing is checked. */
export interface RawEntry {
  path: string
  content?: string | Uint8Array
  /** The type flag; a file when absent. */
  flag?: string
  /** What the header says, if not the truth. */
  size?: number
  magic?: string
}

const block = 512

/** One entry: header, content, padding. */
export function rawEntry({
  path,
  content = '',
  flag = '0',
  size,
  magic = 'ustar\0' + '00',
}: RawEntry): Buffer {
  const body = Buffer.from(content as Uint8Array)
  const header = Buffer.alloc(block)
  header.write(path, 0, 100)
  header.write(`${(size ?? body.length).toString(8).padStart(11, '0')}\0`, 124)
  header.write(flag, 156, 'latin1')
  header.write(magic, 257, 'latin1')
  return Buffer.concat([signed(header), body, Buffer.alloc((block - (body.length % block)) % block)])
}

/** The header with the checksum that it should have. */
export function signed(header: Buffer): Buffer {
  header.fill(' ', 148, 156)
  const sum = header.subarray(0, block).reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** A pax header for the entry after it. */
export function paxEntry(records: Readonly<Record<string, string>>): Buffer {
  const content = Object.entries(records)
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`
      let length = Buffer.byteLength(rest)
      while (`${length}`.length + Buffer.byteLength(rest) !== length) {
        length = `${length}`.length + Buffer.byteLength(rest)
      }
      return `${length}${rest}`
    })
    .join('')
  return rawEntry({ path: 'PaxHeaders.0/x', content, flag: 'x' })
}

/** What makes an archive that of a backup. */
export const versionEntry: Buffer = rawEntry({ path: 'metadata/version', content: '1.1.0\n' })

/** The two blocks of zeros at the end. */
export const tarEnd: Buffer = Buffer.alloc(2 * block)

/** A tar.gz of entries, with the version in front and the end behind. */
export function tarGz(...entries: readonly Buffer[]): Buffer {
  return gzipSync(Buffer.concat([versionEntry, ...entries, tarEnd]))
}

/** The entries of an object, as backups store it: with and without its version. */
export function storedTwice(paths: readonly string[], content: string): Buffer {
  return Buffer.concat(paths.map(path => rawEntry({ path, content })))
}
