import { constants, deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib'
import { inflateWith, workingChunk } from './inflate-with.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressS2, decompressS2 } from './s2.ts'
import { compressZstd, decompressZstd } from './zstd.ts'

/** One of Kopia's compressors, without the 4-byte header. */
export interface Codec {
  readonly id: number
  readonly name: string
  compress(data: Uint8Array): Uint8Array
  /** Throws `CORRUPT` when the stream is damaged, cut short, or holds more than `maxLength` bytes. */
  decompress(stream: Uint8Array, maxLength: number): Uint8Array
}

const { Z_BEST_SPEED, Z_DEFAULT_COMPRESSION, Z_BEST_COMPRESSION } = constants

// Readers look at the family only, so the level behind a name is free. The zstd levels are the ones that the encoder in
// Kopia gives as comparable to its own.
/** All compressors that Kopia 0.22 knows. */
export const codecs: readonly Codec[] = [
  gzip(0x1000, 'gzip', Z_DEFAULT_COMPRESSION),
  gzip(0x1001, 'gzip-best-speed', Z_BEST_SPEED),
  gzip(0x1002, 'gzip-best-compression', Z_BEST_COMPRESSION),
  zstd(0x1100, 'zstd', 3),
  zstd(0x1101, 'zstd-fastest', 1),
  zstd(0x1102, 'zstd-better-compression', 7),
  zstd(0x1103, 'zstd-best-compression', 11),
  s2(0x1200, 's2-default'),
  s2(0x1201, 's2-better'),
  s2(0x1202, 's2-parallel-4'),
  s2(0x1203, 's2-parallel-8'),
  gzip(0x1300, 'pgzip', Z_DEFAULT_COMPRESSION),
  gzip(0x1301, 'pgzip-best-speed', Z_BEST_SPEED),
  gzip(0x1302, 'pgzip-best-compression', Z_BEST_COMPRESSION),
  { id: 0x1400, name: 'lz4', compress: compressLz4, decompress: decompressLz4 },
  deflate(0x1500, 'deflate-default', Z_DEFAULT_COMPRESSION),
  deflate(0x1501, 'deflate-best-speed', Z_BEST_SPEED),
  deflate(0x1502, 'deflate-best-compression', Z_BEST_COMPRESSION),
]

function gzip(id: number, name: string, level: number): Codec {
  return {
    id,
    name,
    compress: data => gzipSync(data, { level, chunkSize: workingChunk(data.length) }),
    decompress: (stream, maxLength) => inflateWith(gunzipSync, stream, { family: 'gzip', maxLength }),
  }
}

function deflate(id: number, name: string, level: number): Codec {
  return {
    id,
    name,
    compress: data => deflateRawSync(data, { level, chunkSize: workingChunk(data.length) }),
    decompress: (stream, maxLength) => inflateWith(inflateRawSync, stream, { family: 'deflate', maxLength }),
  }
}

function zstd(id: number, name: string, level: number): Codec {
  return { id, name, compress: data => compressZstd(data, level), decompress: decompressZstd }
}

function s2(id: number, name: string): Codec {
  return { id, name, compress: compressS2, decompress: decompressS2 }
}
