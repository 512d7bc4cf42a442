/** A set of characters, as the inside of a class of JavaScript under the flag v. */
export type CharacterClass = string & { readonly kind: 'CharacterClass' }

type Invalid = (reason: string) => Error

/** What was read, and how much text it took. */
export interface ClassRead {
  read: CharacterClass
  length: number
}

const perlClasses: Readonly<Record<string, string>> = {
  d: '0-9',
  s: '\\t\\n\\f\\r\\u{20}',
  w: '0-9A-Za-z_',
}

const posixClasses: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\u{0}-\\u{7f}',
  blank: '\\t\\u{20}',
  cntrl: '\\u{0}-\\u{1f}\\u{7f}',
  digit: '0-9',
  graph: '\\u{21}-\\u{7e}',
  lower: 'a-z',
  print: '\\u{20}-\\u{7e}',
  punct: '\\u{21}-\\u{2f}\\u{3a}-\\u{40}\\u{5b}-\\u{60}\\u{7b}-\\u{7e}',
  space: '\\t\\n\\v\\f\\r\\u{20}',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

/** Whether a character is in the class. Throws what `invalid` makes of the reason. */
export function classTest(
  read: CharacterClass,
  ignoreCase: boolean,
  invalid: Invalid,
): (character: string) => boolean {
  let one: RegExp
  try {
    one = new RegExp(`^[${read}]$`, ignoreCase ? 'vi' : 'v')
  } catch {
    throw invalid('invalid character class range')
  }
  return character => one.test(character)
}

/** Reads a class after its opening bracket, with the closing one. */
export function readClass(text: string, invalid: Invalid): ClassRead {
  const negated = text.startsWith('^')
  const first = negated ? 1 : 0
  let at = first
  let inside = ''
  // A closing bracket in the first place is an ordinary character.
  while (at === first || !text.startsWith(']', at)) {
    if (at >= text.length) throw invalid(`missing closing ]: \`[${text}\``)
    const { read, length } = readMember(text.slice(at), invalid)
    inside += read
    at += length
  }
  return { read: asClass(negated ? `[^${inside}]` : inside), length: at + 1 }
}

/** Reads an escape after its backslash that stands for characters. */
export function escapedClass(text: string, invalid: Invalid): ClassRead {
  return namedClass(text, invalid) ?? singleAsClass(escapedCharacter(text, invalid))
}

function readMember(text: string, invalid: Invalid): ClassRead {
  const posix = /^\[:(\^?)(\w*):\]/.exec(text)
  if (posix !== null) {
    const members = Object.hasOwn(posixClasses, posix[2] ?? '') ? posixClasses[posix[2] ?? ''] : undefined
    if (members === undefined) throw invalid(`invalid character class range: \`${posix[0]}\``)
    return { read: asClass(posix[1] === '^' ? `[^${members}]` : members), length: posix[0].length }
  }
  const named = text.startsWith('\\') ? namedClass(text.slice(1), invalid) : undefined
  if (named !== undefined) return { ...named, length: named.length + 1 }
  const low = readSingle(text, invalid)
  const rest = text.slice(low.length)
  if (!rest.startsWith('-') || rest.startsWith('-]') || rest === '-') return singleAsClass(low)
  const high = readSingle(rest.slice(1), invalid)
  const length = low.length + 1 + high.length
  if (high.code < low.code) throw invalid(`invalid character class range: \`${text.slice(0, length)}\``)
  return { read: asClass(`${codeText(low.code)}-${codeText(high.code)}`), length }
}

/** A character by its number. */
interface Single {
  code: number
  length: number
}

function readSingle(text: string, invalid: Invalid): Single {
  if (text.startsWith('\\')) {
    const { code, length } = escapedCharacter(text.slice(1), invalid)
    return { code, length: length + 1 }
  }
  const code = text.codePointAt(0)
  if (code === undefined) throw invalid('missing closing ]')
  return { code, length: code > 0xffff ? 2 : 1 }
}

/** `\d`, `\W`, `\pL`, `\p{^Greek}`, without the backslash. */
function namedClass(text: string, invalid: Invalid): ClassRead | undefined {
  const letter = text.charAt(0)
  const perl = Object.hasOwn(perlClasses, letter.toLowerCase())
    ? perlClasses[letter.toLowerCase()]
    : undefined
  if (perl !== undefined) {
    return { read: asClass(letter === letter.toLowerCase() ? perl : `[^${perl}]`), length: 1 }
  }
  const property = /^([pP])(?:([A-Za-z])|\{(\^?)(\w+)\})/.exec(text)
  if (property === null) return undefined
  const name = property[2] ?? property[4] ?? ''
  const negated = (property[1] === 'P') !== (property[3] === '^')
  return { read: propertyClass(name, negated, invalid), length: property[0].length }
}

function propertyClass(name: string, negated: boolean, invalid: Invalid): CharacterClass {
  const meaning = name === 'Any' || name.length <= 2 ? name : `Script=${name}`
  const read = asClass(`\\${negated ? 'P' : 'p'}{${meaning}}`)
  classTest(read, false, () => invalid(`invalid character class range: \`\\p{${name}}\``))
  return read
}

function escapedCharacter(text: string, invalid: Invalid): Single {
  const letter = text.charAt(0)
  const control = Object.hasOwn(controls, letter) ? controls[letter] : undefined
  if (control !== undefined) return { code: control, length: 1 }
  // A digit other than 0 alone would be a backreference.
  const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(text)
  if (octal !== null) return { code: Number.parseInt(octal[0], 8), length: octal[0].length }
  const hex = /^x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})/.exec(text)
  const code = hex === null ? undefined : Number.parseInt(hex[1] ?? hex[2] ?? '', 16)
  if (hex !== null && code !== undefined && code <= 0x10ffff) return { code, length: hex[0].length }
  if (/^[!-/:-@[-`{-~ ]/.test(text)) return { code: text.charCodeAt(0), length: 1 }
  if (text === '') throw invalid('trailing backslash at end of expression')
  throw invalid(`invalid escape sequence: \`\\${letter}\``)
}

function singleAsClass({ code, length }: Single): ClassRead {
  return { read: asClass(codeText(code)), length }
}

function codeText(code: number): string {
  return `\\u{${code.toString(16)}}`
}

function asClass(text: string): CharacterClass {
  return text as CharacterClass
}
