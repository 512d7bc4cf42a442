const sign = {
  quote: 0x22,
  backslash: 0x5c,
  openBrace: 0x7b,
  closeBrace: 0x7d,
  openBracket: 0x5b,
  closeBracket: 0x5d,
}

/** How deep brackets are nested in a JSON text; those in strings do not count. */
export function jsonDepth(bytes: Uint8Array): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === sign.quote) at = endOfString(bytes, at)
    else if (byte === sign.openBrace || byte === sign.openBracket) deepest = Math.max(deepest, ++depth)
    else if (byte === sign.closeBrace || byte === sign.closeBracket) depth--
  }
  return deepest
}

function endOfString(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    if (bytes[at] === sign.backslash) at++
    else if (bytes[at] === sign.quote) return at
  }
  return bytes.length
}
