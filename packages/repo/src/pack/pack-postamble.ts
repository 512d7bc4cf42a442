import { crc32 } from 'node:zlib'
import { corrupt, RepoError } from '../errors/repo-error.ts'

/** The last bytes of a pack: where its own index lies and how it is decrypted. */
export interface PackPostamble {
  /** The hash of the local index's plaintext, whole. */
  iv: Uint8Array
  localIndexOffset: number
  /** Encrypted length. */
  localIndexLength: number
}

/** A postamble never has more bytes, its length byte included. */
export const longestPostamble = 256

const version = 1
const crcLength = 4

/** The bytes that end a pack. */
export function serializePostamble({ iv, localIndexOffset, localIndexLength }: PackPostamble): Uint8Array {
  const fields = [
    ...uvarint(version),
    ...uvarint(iv.length),
    ...iv,
    ...uvarint(localIndexOffset),
    ...uvarint(localIndexLength),
  ]
  const length = fields.length + crcLength
  if (length >= longestPostamble) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `A postamble of ${length} bytes does not fit into a pack`,
    })
  }
  const bytes = Buffer.alloc(length + 1)
  bytes.set(fields)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, fields.length)), fields.length)
  bytes.writeUInt8(length, length)
  return bytes
}

/** Reads the postamble from the end of a pack's last bytes. Throws `CORRUPT` when there is none. */
export function parsePostamble(tail: Uint8Array): PackPostamble & { length: number } {
  const length = tail.at(-1) ?? 0
  const start = tail.length - 1 - length
  const fields = tail.subarray(Math.max(0, start), tail.length - 1 - crcLength)
  if (start < 0 || length <= crcLength) throw corrupt('A pack does not end in a postamble')
  const view = new DataView(tail.buffer, tail.byteOffset, tail.length)
  if (view.getUint32(tail.length - 1 - crcLength) !== crc32(fields)) {
    throw corrupt("The checksum of a pack's postamble does not match")
  }
  const reader = new FieldReader(fields)
  const found = reader.uvarint()
  if (found !== version) throw corrupt(`A pack's postamble has version ${found}; ${version} is known`)
  const iv = reader.bytes(reader.uvarint())
  const localIndexOffset = reader.uvarint()
  const localIndexLength = reader.uvarint()
  return { iv, localIndexOffset, localIndexLength, length: length + 1 }
}

function uvarint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  bytes.push(rest)
  return bytes
}

class FieldReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  uvarint(): number {
    let value = 0
    for (let factor = 1; factor <= 2 ** 42; factor *= 0x80) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw corrupt("A pack's postamble is cut short")
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    throw corrupt("A number in a pack's postamble is too large")
  }

  bytes(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw corrupt("A pack's postamble is cut short")
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return bytes
  }
}
