/**
 * A file name is held as a string in which each byte that is not part of valid UTF-8 stands as a lone
 * surrogate U+DC80..U+DCFF. So any name survives the way file system -> string -> file system, the JSON
 * encoder turns each bad byte into one `\ufffd` as Kopia does, and names compare by their real bytes.
 */
const badByteBase = 0xdc00

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes the bytes of a file name. Never throws. */
export function nameFromBytes(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (isAscii(text)) return text
  try {
    return decoder.decode(bytes)
  } catch {
    return decodeWithBadBytes(bytes)
  }
}

/** The bytes of a name made by `nameFromBytes`. */
export function bytesFromName(name: string): Buffer {
  if (name.isWellFormed()) return Buffer.from(name, 'utf8')
  const parts: Buffer[] = []
  for (const character of name) {
    const code = character.codePointAt(0) ?? 0
    const bad = code >= badByteBase + 0x80 && code <= badByteBase + 0xff
    parts.push(bad ? Buffer.of(code - badByteBase) : Buffer.from(character, 'utf8'))
  }
  return Buffer.concat(parts)
}

/** The name as it reads after a round trip through a stored directory: each bad byte is U+FFFD. */
export function storedName(name: string): string {
  return name.toWellFormed()
}

/** Orders names by their UTF-8 bytes, which differs from the order of UTF-16 units above U+FFFF. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left === right) continue
    if (left < 0xd800 && right < 0xd800) return left - right
    return Buffer.compare(bytesFromName(a), bytesFromName(b))
  }
  return a.length - b.length
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

function decodeWithBadBytes(bytes: Buffer): string {
  let text = ''
  let i = 0
  while (i < bytes.length) {
    const length = validSequenceLength(bytes, i)
    if (length === 0) text += String.fromCharCode(badByteBase + (bytes[i] ?? 0))
    else text += bytes.toString('utf8', i, i + length)
    i += Math.max(1, length)
  }
  return text
}

function validSequenceLength(bytes: Buffer, start: number): number {
  const lead = bytes[start] ?? 0
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
  if (start + length > bytes.length) return 0
  try {
    decoder.decode(bytes.subarray(start, start + length))
    return length
  } catch {
    return 0
  }
}
