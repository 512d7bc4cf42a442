/**
 * Splits `a=1,b=2` at commas, with CSV's quoting (`"a=x,y",b=2` has two entries), as Velero's map flags do.
 * Undefined when a quote is not closed or stands inside an unquoted entry.
 */
export function splitEntries(text: string): string[] | undefined {
  const entries: string[] = []
  let rest = text
  for (;;) {
    const entry = rest.startsWith('"') ? /^"((?:[^"]|"")*)"(?=,|$)/.exec(rest) : /^[^",]*(?=,|$)/.exec(rest)
    if (entry === null) return undefined
    entries.push(entry[1] === undefined ? entry[0] : entry[1].replaceAll('""', '"'))
    rest = rest.slice(entry[0].length)
    if (rest === '') return entries
    rest = rest.slice(1)
  }
}

/** Reads `a=1,b=2` into an object; undefined when an entry has no separator or the quoting is broken. */
export function parseKeyValues(text: string, separator = '='): Record<string, string> | undefined {
  const pairs: [string, string][] = []
  const entries = splitEntries(text)
  if (entries === undefined) return undefined
  for (const entry of entries) {
    const at = entry.indexOf(separator)
    if (at < 0) return undefined
    pairs.push([entry.slice(0, at), entry.slice(at + separator.length)])
  }
  return Object.fromEntries(pairs)
}
