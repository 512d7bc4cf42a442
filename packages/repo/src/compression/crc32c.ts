const castagnoli = 0x82f63b78

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let word = byte
  for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ castagnoli : word >>> 1
  return word
})

/** CRC-32C (Castagnoli) as an unsigned number. */
export function crc32c(bytes: Uint8Array): number {
  let crc = -1
  for (let i = 0; i < bytes.length; i++) {
    crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}
