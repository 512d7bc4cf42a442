const zeros = Buffer.alloc(256 << 10)

/** Whether bytes are what the holes of a file read as. Costs next to nothing where they are not. */
export function allZeros(bytes: Uint8Array): boolean {
  if (bytes.length === 0 || bytes[0] !== 0 || bytes[bytes.length - 1] !== 0) return false
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const end = Math.min(bytes.length, at + zeros.length)
    if (zeros.compare(bytes, at, end, 0, end - at) !== 0) return false
  }
  return true
}
