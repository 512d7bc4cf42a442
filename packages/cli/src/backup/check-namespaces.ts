const maxLength = 63
const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const labels = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const notLabel =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

/** What is wrong with lists of namespaces and patterns of them, in Velero's words; empty when nothing is. */
export function namespaceProblems(included: readonly string[], excluded: readonly string[]): string[] {
  const crowded = included.includes('*') && new Set(included).size > 1
  return [
    ...(crowded ? ["includes list must either contain '*' only, or a non-empty list of items"] : []),
    ...(excluded.includes('*') ? ["excludes list cannot contain '*'"] : []),
    ...distinct(excluded)
      .filter(name => included.includes(name))
      .map(name => `excludes list cannot contain an item in the includes list: ${name}`),
    ...distinct(included).flatMap(nameProblems),
    ...distinct(excluded).flatMap(nameProblems),
  ]
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

/** An empty name stands for what has no namespace. */
function nameProblems(name: string): string[] {
  if (name === '') return []
  const problem = patternProblem(name)
  if (problem !== undefined) return [`wildcard pattern contains ${problem}`]
  const plain = name.replace(/[*?[\]]/g, 'x')
  const reasons: string[] = []
  if (plain.length > maxLength) reasons.push(`must be no more than ${maxLength} characters`)
  if (!label.test(plain)) reasons.push(labels.test(plain) ? 'must not contain dots' : notLabel)
  return reasons.map(reason => `invalid namespace ${JSON.stringify(name)}: ${reason}`)
}

function patternProblem(name: string): string | undefined {
  if (/[|()!{},]/.test(name)) return 'unsupported characters: |, (, ), !, {, }, ,'
  if (name.includes('**')) return 'consecutive asterisks (only single * allowed)'
  const rest = name.replace(/\[[^\]]+\]/g, '')
  if (!/[[\]]/.test(rest)) return undefined
  const at = rest.search(/[[\]]/)
  if (rest[at] === ']') return "unmatched closing bracket ']'"
  return rest.startsWith('[]', at) ? "empty bracket pattern '[]'" : "unclosed bracket '['"
}
