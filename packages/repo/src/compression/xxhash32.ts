const prime1 = 0x9e3779b1
const prime2 = 0x85ebca77
const prime3 = 0xc2b2ae3d
const prime4 = 0x27d4eb2f
const prime5 = 0x165667b1
const stripeLength = 16

/** XXH32 with seed 0 as an unsigned number: the checksum of LZ4 frames. */
export function xxhash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const stripesEnd = bytes.length - (bytes.length % stripeLength)
  let hash = (stripesEnd === 0 ? prime5 : foldStripes(view, stripesEnd)) + bytes.length
  let at = stripesEnd
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotateLeft((hash + Math.imul(view.getUint32(at, true), prime3)) | 0, 17), prime4)
  }
  for (; at < bytes.length; at++) {
    hash = Math.imul(rotateLeft((hash + Math.imul(view.getUint8(at), prime5)) | 0, 11), prime1)
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2)
  hash = Math.imul(hash ^ (hash >>> 13), prime3)
  return (hash ^ (hash >>> 16)) >>> 0
}

function foldStripes(view: DataView, end: number): number {
  let first = (prime1 + prime2) | 0
  let second = prime2 | 0
  let third = 0
  let fourth = -prime1 | 0
  for (let at = 0; at < end; at += stripeLength) {
    first = round(first, view.getUint32(at, true))
    second = round(second, view.getUint32(at + 4, true))
    third = round(third, view.getUint32(at + 8, true))
    fourth = round(fourth, view.getUint32(at + 12, true))
  }
  return rotateLeft(first, 1) + rotateLeft(second, 7) + rotateLeft(third, 12) + rotateLeft(fourth, 18)
}

function round(lane: number, word: number): number {
  return Math.imul(rotateLeft((lane + Math.imul(word, prime2)) | 0, 13), prime1)
}

function rotateLeft(word: number, count: number): number {
  return (word << count) | (word >>> (32 - count))
}
