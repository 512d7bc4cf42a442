import { namespacePatternProblem } from './namespace-pattern.ts'

/** What is wrong with lists of which the second cannot exclude everything. */
export function listProblems(included: readonly string[], excluded: readonly string[]): string[] {
  return [
    ...crowdedStar(included, 'includes'),
    ...(excluded.includes('*') ? ["excludes list cannot contain '*'"] : []),
    ...contradictions(included, excluded),
  ]
}

/** What is wrong with lists of types of one scope. */
export function scopedListProblems(included: readonly string[], excluded: readonly string[]): string[] {
  return [
    ...crowdedStar(included, 'includes'),
    ...crowdedStar(excluded, 'excludes'),
    ...(included.length > 0 && excluded.includes('*')
      ? ["when exclude is '*', include cannot have value"]
      : []),
    ...contradictions(included, excluded),
  ]
}

/** What is wrong with lists of namespaces and patterns of them. */
export function namespaceListProblems(included: readonly string[], excluded: readonly string[]): string[] {
  return [
    ...listProblems(included, excluded),
    ...distinct(included).flatMap(namespaceProblems),
    ...distinct(excluded).flatMap(namespaceProblems),
  ]
}

function crowdedStar(names: readonly string[], list: 'includes' | 'excludes'): string[] {
  const crowded = names.includes('*') && new Set(names).size > 1
  return crowded ? [`${list} list must either contain '*' only, or a non-empty list of items`] : []
}

function contradictions(included: readonly string[], excluded: readonly string[]): string[] {
  return distinct(excluded)
    .filter(name => included.includes(name))
    .map(name => `excludes list cannot contain an item in the includes list: ${name}`)
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

const maxLength = 63
const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const notLabel =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

/** Empty text is allowed: it stands for what has no namespace. */
function namespaceProblems(name: string): string[] {
  if (name === '') return []
  const problem = namespacePatternProblem(name)
  if (problem !== undefined) return [problem]
  const plain = name.replace(/[*?[\]]/g, 'x')
  const reasons: string[] = []
  if (plain.length > maxLength) reasons.push(`must be no more than ${maxLength} characters`)
  if (!label.test(plain)) reasons.push(subdomain.test(plain) ? 'must not contain dots' : notLabel)
  return reasons.map(reason => `invalid namespace ${JSON.stringify(name)}: ${reason}`)
}
