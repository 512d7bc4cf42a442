import { corrupt, RepoError } from '../errors/repo-error.ts'
import { type Codec, codecs } from './codecs.ts'

/** Compresses contents under one of Kopia's header ids. */
export interface Compressor {
  readonly id: number
  readonly name: string
  /** The 4-byte header and the compressed stream. May be longer than `data`; then the caller stores `data` itself. */
  compress(data: Uint8Array): Uint8Array
}

/** No content of a repository is longer than this, so nothing honest decompresses to more. */
export const maxContentLength = 256 << 20

const headerLength = 4

const byName: ReadonlyMap<string, Codec> = new Map(codecs.map(codec => [codec.name, codec]))
const byId: ReadonlyMap<number, Codec> = new Map(codecs.map(codec => [codec.id, codec]))

/** The names of all compressors that Kopia 0.22 knows. All can be read and written. */
export const compressorNames: readonly string[] = codecs.map(codec => codec.name)

/** The compressor named so in policies. Throws `INVALID_ARGUMENT` for a name that is not in `compressorNames`. */
export function compressorByName(name: string): Compressor {
  const codec = byName.get(name)
  if (codec === undefined) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `The compressor "${name}" is unknown`,
      hint: `known are ${compressorNames.join(', ')}`,
    })
  }
  return { id: codec.id, name: codec.name, compress: data => withHeader(codec.id, codec.compress(data)) }
}

/** The name for a header id, or undefined for an id that Kopia 0.22 does not know. */
export function compressorNameOf(id: number): string | undefined {
  return byId.get(id)?.name
}

/** The header id that compressed data begins with. Throws `CORRUPT` when the data is shorter than the header. */
export function compressionIdOf(data: Uint8Array): number {
  if (data.length < headerLength) {
    throw corrupt(`Compressed data of ${data.length} bytes is too short for its header`)
  }
  return Buffer.from(data.buffer, data.byteOffset, data.length).readUInt32BE(0)
}

/**
 * The bytes that were compressed. Throws `CORRUPT` when the header id is unknown or the stream is damaged, cut short, or
 * decompresses to more than `maxLength` bytes (256 MiB unless told otherwise).
 */
export function decompress(data: Uint8Array, options: { maxLength?: number } = {}): Uint8Array {
  const id = compressionIdOf(data)
  const codec = byId.get(id)
  if (codec === undefined) {
    throw corrupt(`Compressed data begins with the unknown id 0x${id.toString(16)}`, {
      hint: 'the data is damaged, or a version of Kopia newer than 0.22 wrote it',
    })
  }
  return codec.decompress(data.subarray(headerLength), options.maxLength ?? maxContentLength)
}

function withHeader(id: number, stream: Uint8Array): Uint8Array {
  const result = Buffer.allocUnsafeSlow(headerLength + stream.length)
  result.writeUInt32BE(id, 0)
  result.set(stream, headerLength)
  return result
}
