import type { LabelSelector } from '@lateen/api'
import { CliError } from '../cli-error.ts'

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number]

const equality = /^([^\s!=<>()]+)\s*(==|=|!=|>|<)\s*([^\s!=<>()]*)$/
const membership = /^([^\s!=<>()]+)\s+(in|notin)\s*\(([^()]*)\)$/
const existence = /^(!?)\s*([^\s!=<>()]+)$/

/**
 * Reads a selector in the notation of `kubectl -l`, such as `app=web,tier in (front,back),!test`. Empty text selects
 * everything. Throws a CliError (`USAGE`) that names the flag.
 */
export function parseLabelSelector(flag: string, text: string): LabelSelector {
  const matchLabels: Record<string, string> = {}
  const matchExpressions: Requirement[] = []
  for (const part of splitParts(text)) {
    const [, key = '', sign, value = ''] = equality.exec(part) ?? []
    if (sign === '=' || sign === '==') matchLabels[key] = value
    else matchExpressions.push(requirementOf(part) ?? refuse(flag, part, text))
  }
  const selector: LabelSelector = {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions: matchExpressions.sort(byKey) }),
  }
  const [problem] = requirementsOf(selector).flatMap(problemsOf)
  if (problem === undefined) return selector
  throw new CliError('USAGE', `--${flag} holds what labels cannot have: ${problem}`)
}

/** Reads selectors separated by ` or `, of which one must match. Throws a CliError (`USAGE`) that names the flag. */
export function parseOrSelectors(flag: string, text: string): LabelSelector[] {
  return text.split(' or ').map(part => parseLabelSelector(flag, part))
}

/** The notation of `kubectl -l` for a selector, sorted by key; `<none>` without conditions, `<error>` for an invalid one. */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  const requirements = requirementsOf(selector ?? {})
  if (requirements.some(requirement => problemsOf(requirement).length > 0)) return '<error>'
  return requirements.toSorted(byKey).map(textOf).join(',') || '<none>'
}

function splitParts(text: string): string[] {
  const parts = text.split(/,(?![^(]*\))/).map(part => part.trim())
  return parts.length === 1 && parts[0] === '' ? [] : parts
}

function requirementOf(part: string): Requirement | undefined {
  const [, unequalKey, sign, value = ''] = equality.exec(part) ?? []
  if (unequalKey !== undefined && sign === '!=') {
    return { key: unequalKey, operator: 'NotIn', values: [value] }
  }
  const [, memberKey, operator, list = ''] = membership.exec(part) ?? []
  if (memberKey !== undefined) {
    const values = [...new Set(list.split(',').map(each => each.trim()))].sort()
    return { key: memberKey, operator: operator === 'in' ? 'In' : 'NotIn', values }
  }
  const [, not, key] = existence.exec(part) ?? []
  return key === undefined ? undefined : { key, operator: not === '!' ? 'DoesNotExist' : 'Exists' }
}

function refuse(flag: string, part: string, text: string): never {
  throw new CliError(
    'USAGE',
    `--${flag} cannot be read: ${JSON.stringify(part)} in ${JSON.stringify(text)} is no condition on labels`,
    {
      hint: 'write conditions like app=web, app!=web, tier in (front,back), tier notin (front), app or !app',
    },
  )
}

/** All conditions, with the exact labels as the operator `=`. */
function requirementsOf({ matchLabels, matchExpressions }: LabelSelector): Requirement[] {
  const exact = Object.entries(matchLabels ?? {}).map(([key, value]) => ({
    key,
    operator: '=',
    values: [value],
  }))
  return [...exact, ...(matchExpressions ?? [])]
}

function byKey(a: Requirement, b: Requirement): number {
  if (a.key === b.key) return 0
  return a.key < b.key ? -1 : 1
}

function textOf({ key, operator, values = [] }: Requirement): string {
  switch (operator) {
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
    case '=':
      return `${key}=${values[0] ?? ''}`
    default:
      return `${key} ${operator === 'In' ? 'in' : 'notin'} (${[...new Set(values)].sort().join(',')})`
  }
}

const operators = new Set(['=', 'In', 'NotIn', 'Exists', 'DoesNotExist'])
const namePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const prefixPart = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/

function problemsOf({ key, operator, values = [] }: Requirement): string[] {
  const slash = key.indexOf('/')
  const keyFits = namePart.test(key.slice(slash + 1)) && (slash < 0 || prefixPart.test(key.slice(0, slash)))
  const several = operator === 'In' || operator === 'NotIn'
  const countFits = operator === '=' || several === values.length > 0
  return [
    ...(operators.has(operator)
      ? []
      : [`${JSON.stringify(operator)} is not a valid label selector operator`]),
    ...(keyFits ? [] : [`${JSON.stringify(key)} is no label`]),
    ...(countFits ? [] : [`${key} has the wrong number of values for ${operator}`]),
    ...values
      .filter(value => value !== '' && !namePart.test(value))
      .map(value => `${JSON.stringify(value)} is no value of a label`),
  ]
}
