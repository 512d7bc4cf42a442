/** What stands in the place of a value that is left out. Without a blank, so that it is one value for whatever reads the text again. */
export const leftOut = '<left-out>'

/**
 * The text with its addresses (`scheme://…`) as others may see them: scheme, host, port, path and the names of query parameters stay; user,
 * password, values of parameters and fragments do not. A password may hold a `#`, a `/` or an `@` that should have been escaped: what may be the rest of
 * one is left out, too. Takes time in proportion to the text, because a log may hold whatever others have said.
 */
export function addressesWithoutSecrets(text: string): string {
  return text
    .replaceAll('://<left out>@', `://${leftOut}@`)
    .replaceAll(/[^\s"]+/g, word => (word.includes('://') ? wordWithoutSecrets(word) : word))
}

/** A word may hold several addresses. */
function wordWithoutSecrets(word: string): string {
  const shown: string[] = []
  const wordEnd = beforeBackslashes(word)
  let at = 0
  for (let scheme = word.indexOf('://'); scheme >= 0; scheme = word.indexOf('://', at)) {
    const start = scheme + '://'.length
    const query = queryIn(word, start)
    const end = query < 0 ? wordEnd : Math.min(wordEnd, endOfQuery(word, query))
    shown.push(
      word.slice(at, start),
      shownAddress(word.slice(start, end), query < 0 ? undefined : query - start),
    )
    at = end
  }
  return shown.join('') + word.slice(at)
}

/** JSON in JSON escapes the quote that ends a word. */
function beforeBackslashes(word: string): number {
  let end = word.length
  while (word[end - 1] === '\\') end -= 1
  return end
}

/** Where the query of the address begins: at its first `?`, if a parameter follows and not the rest of a password. */
function queryIn(word: string, start: number): number {
  const mark = word.indexOf('?', start)
  const parameter = /[\w.~%[\]-]{1,64}=/y
  parameter.lastIndex = mark + 1
  return mark >= 0 && parameter.test(word) ? mark : -1
}

/** A query may hold a single quote; one that ends what it is in ends the address. */
function endOfQuery(word: string, query: number): number {
  const quote = /'(?=[,;:.)\]}>]|$)/g
  quote.lastIndex = query
  return quote.exec(word)?.index ?? word.length
}

function shownAddress(address: string, query: number | undefined): string {
  const user = userIn(address, query)
  if (user === undefined) return withoutQuery(address)
  return `${address.slice(0, user.from)}${leftOut}@${withoutQuery(address.slice(user.to))}`
}

const bareHost = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?\/?[',;)\]}>]*$/i

/** What must be left out before the host, with its `@`. */
function userIn(address: string, query: number | undefined): { from: number; to: number } | undefined {
  const head = address.slice(0, query)
  const to = head.lastIndexOf('@') + 1
  if (to === 0) {
    // No port is a word: it is a password, and what looks like a query may be its rest.
    const inQuery = isPlace(authorityAt(head, 0)) ? 0 : address.lastIndexOf('@') + 1
    return inQuery === 0 ? undefined : { from: 0, to: inQuery }
  }
  for (let from = 0; from < to; ) {
    if (!isPlace(authorityAt(head, from))) return { from, to }
    // A path may hold an address.
    const next = head.indexOf('://', from)
    from = next < 0 ? to : next + '://'.length
  }
  // `me:12/34@proxy:3128`: the port may be the beginning of a password when nothing but a host follows.
  const isProxy = query === undefined && head.slice(0, to).includes(':') && bareHost.test(head.slice(to))
  return isProxy ? { from: 0, to } : undefined
}

function authorityAt(head: string, from: number): string {
  const ending = /[/?#]/g
  ending.lastIndex = from
  return head.slice(from, ending.exec(head)?.index)
}

/** Whether it is a host, with a port or without, and with no user. */
function isPlace(authority: string): boolean {
  return /^(?:\[[^\]@]*\]|[^:@[\]]*)(?::\d{0,5})?$/.test(authority)
}

function withoutQuery(address: string): string {
  const start = address.search(/[?#]/)
  if (start < 0 || start === address.length - 1) return address
  const values = address.slice(start + 1)
  const shown =
    address[start] === '?'
      ? values
          .split(/&amp;|\\u0026|&/)
          .map(withoutValue)
          .join('&')
      : leftOut
  return address.slice(0, start + 1) + shown
}

/** A parameter without a value may be a value itself. */
function withoutValue(parameter: string): string {
  if (parameter === '') return ''
  const name = /^([\w.~%[\]-]{1,64})=(?!=*$)/.exec(parameter)?.[1]
  return name === undefined ? leftOut : `${name}=${leftOut}`
}
