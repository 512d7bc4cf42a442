import type { LabelSelector } from '@lateen/api'

/** The labels of an object. */
export type Labels = Readonly<Record<string, string>>

/** A label selector that cannot be used. */
export class InvalidSelectorError extends Error {
  override readonly name = 'InvalidSelectorError'
  readonly code = 'INVALID_SELECTOR'
  readonly hint =
    'write app=web,tier in (front,back),!test; keys and values are at most 63 letters, digits, dashes, dots and underscores'

  constructor(reason: string) {
    super(reason)
  }
}

/** A selector that was found valid. */
export interface Selector {
  /** In the notation of the API and of `kubectl -l`; empty when everything matches. */
  readonly text: string
  matches(labels: Labels | undefined): boolean
}

type Operator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<'

interface Requirement {
  key: string
  operator: Operator
  values: readonly string[]
}

const operators: Readonly<Record<string, Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/** What a selector of a spec means. Without conditions it matches everything. Throws InvalidSelectorError. */
export function selectorOf(selector: LabelSelector): Selector {
  const requirements = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: '=', values: [value] }),
  )
  for (const { key, operator: name, values } of selector.matchExpressions ?? []) {
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined
    if (operator === undefined) {
      throw new InvalidSelectorError(`${JSON.stringify(name)} is not a valid label selector operator`)
    }
    requirements.push({ key, operator, values: values ?? [] })
  }
  return selectorFrom(requirements)
}

/**
 * What a selector in the notation of `kubectl -l` means: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`,
 * separated by commas. Empty text matches everything. Throws InvalidSelectorError.
 */
export function parseSelector(text: string): Selector {
  const requirements: Requirement[] = []
  for (const part of partsOf(text)) requirements.push(requirementOf(part, text))
  return selectorFrom(requirements)
}

/**
 * Selectors of which one must match, without repetitions; none when there are none, or one of them matches everything.
 * Throws InvalidSelectorError.
 */
export function effectiveSelectors(selectors: readonly LabelSelector[]): Selector[] {
  const byText = new Map(selectors.map(selectorOf).map(selector => [selector.text, selector]))
  return byText.has('') ? [] : [...byText.values()]
}

/** Whether labels match a selector, which may be one of a spec or text. Throws InvalidSelectorError. */
export function matchesSelector(selector: LabelSelector | string, labels: Labels | undefined): boolean {
  const parsed = typeof selector === 'string' ? parseSelector(selector) : selectorOf(selector)
  return parsed.matches(labels)
}

const equality = /^([^\s!=<>()]+)\s*(==|=|!=|>|<)\s*([^\s!=<>()]*)$/
const membership = /^([^\s!=<>()]+)\s+(in|notin)\s*\(([^()]*)\)$/
const existence = /^(!?)\s*([^\s!=<>()]+)$/

function requirementOf(part: string, text: string): Requirement {
  const [, equalKey, sign, value] = equality.exec(part) ?? []
  if (equalKey !== undefined && sign !== undefined && value !== undefined) {
    return { key: equalKey, operator: sign === '==' ? '=' : (sign as Operator), values: [value] }
  }
  const [, memberKey, member, list] = membership.exec(part) ?? []
  if (memberKey !== undefined && list !== undefined) {
    return { key: memberKey, operator: member as Operator, values: list.split(',').map(each => each.trim()) }
  }
  const [, not, key] = existence.exec(part) ?? []
  if (key === undefined) {
    throw new InvalidSelectorError(
      `cannot read ${JSON.stringify(part)} in the label selector ${JSON.stringify(text)}`,
    )
  }
  return { key, operator: not === '!' ? '!' : 'exists', values: [] }
}

/** The text at the commas outside of parentheses. */
function partsOf(text: string): string[] {
  const parts = text.split(/,(?![^(]*\))/).map(part => part.trim())
  return parts.length === 1 && parts[0] === '' ? [] : parts
}

function selectorFrom(requirements: readonly Requirement[]): Selector {
  const problems = requirements.flatMap(problemsOf)
  if (problems.length > 0) throw new InvalidSelectorError(problems.join('; '))
  const sorted = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return {
    text: sorted.map(textOf).join(','),
    matches: (labels = {}) => sorted.every(requirement => holds(requirement, labels)),
  }
}

function textOf({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'in':
    case 'notin':
      return `${key} ${operator} (${[...new Set(values)].sort().join(',')})`
    case 'exists':
      return key
    case '!':
      return `!${key}`
    default:
      return `${key}${operator}${values[0] ?? ''}`
  }
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  const label = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case '=':
    case 'in':
      return label !== undefined && values.includes(label)
    case '!=':
    case 'notin':
      return label === undefined || !values.includes(label)
    case 'exists':
      return label !== undefined
    case '!':
      return label === undefined
    default:
      return label !== undefined && isInteger(label) && compares(label, operator, values[0] ?? '')
  }
}

function compares(label: string, operator: '>' | '<', value: string): boolean {
  return operator === '>' ? BigInt(label) > BigInt(value) : BigInt(label) < BigInt(value)
}

function isInteger(text: string): boolean {
  return /^-?\d{1,19}$/.test(text)
}

function problemsOf({ key, operator, values }: Requirement): string[] {
  const problems = isLabelKey(key) ? [] : [`${JSON.stringify(key)} is not a valid label key`]
  if ((operator === 'in' || operator === 'notin') && values.length === 0) {
    problems.push(`${key}: for 'in', 'notin' operators, values set can't be empty`)
  }
  if ((operator === 'exists' || operator === '!') && values.length > 0) {
    problems.push(`${key}: values set must be empty for exists and does not exist`)
  }
  if ((operator === '>' || operator === '<') && !isInteger(values[0] ?? '')) {
    problems.push(`${key}: for 'Gt', 'Lt' operators, the value must be an integer`)
  }
  const badValues = values.filter(value => !labelValue.test(value))
  return [
    ...problems,
    ...badValues.map(value => `${key}: ${JSON.stringify(value)} is not a valid label value`),
  ]
}

const labelValue = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const labelName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const labelPrefix = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const maxPrefixLength = 253

function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/')
  const prefix = key.slice(0, Math.max(slash, 0))
  const prefixFits = slash < 0 || (prefix.length <= maxPrefixLength && labelPrefix.test(prefix))
  return prefixFits && labelName.test(key.slice(slash + 1))
}
