import {
  type BackupHooks,
  BackupKind,
  type BackupSpec,
  checkValue,
  type LabelSelector,
  parseGoDuration,
} from '@lateen/api'
import { compileGlob, InvalidPatternError } from '../../filters/glob.ts'
import { InvalidSelectorError, selectorOf } from '../../filters/label-selector.ts'

/** Where a spec does not match its schema, durations included. */
export function schemaErrors(spec: BackupSpec): string[] {
  return checkValue(BackupKind.schema.spec, spec, { path: 'spec' }).map(
    ({ path, reason }) => `${path}: ${reason}`,
  )
}

/** Whoever writes a time to live that is over before it begins does not mean that the backup be deleted at once. */
export function ttlErrors({ ttl }: BackupSpec): string[] {
  return ttl && isNegative(ttl) ? [`invalid ttl ${JSON.stringify(ttl)}: it must not be negative`] : []
}

function isNegative(duration: string): boolean {
  try {
    return parseGoDuration(duration) < 0n
  } catch {
    // Among the errors of the schema.
    return false
  }
}

/** What is wrong with the selectors of a spec. */
export function selectorErrors({ labelSelector, orLabelSelectors }: BackupSpec): string[] {
  const errors: string[] = []
  if (labelSelector && orLabelSelectors) {
    errors.push(
      'encountered labelSelector as well as orLabelSelectors in backup spec, only one can be specified',
    )
  }
  const named = [
    ...(labelSelector ? [{ path: 'labelSelector', selector: labelSelector }] : []),
    ...(orLabelSelectors ?? []).map((selector, index) => ({ path: `orLabelSelectors[${index}]`, selector })),
  ]
  return [...errors, ...named.flatMap(({ path, selector }) => selectorProblem(`invalid ${path}`, selector))]
}

/** What is wrong with the hooks of a spec, beyond its schema. */
export function hookErrors({ hooks }: BackupSpec): string[] {
  return (hooks?.resources ?? []).flatMap(hook => {
    const what = `invalid hook ${JSON.stringify(hook.name)}`
    return [
      ...(hook.labelSelector ? selectorProblem(what, hook.labelSelector) : []),
      ...patternProblems(what, hook),
    ]
  })
}

function selectorProblem(what: string, selector: LabelSelector): string[] {
  try {
    selectorOf(selector)
    return []
  } catch (error) {
    if (error instanceof InvalidSelectorError) return [`${what}: ${error.message}`]
    throw error
  }
}

function patternProblems(what: string, hook: BackupHooks): string[] {
  const patterns = [...(hook.includedNamespaces ?? []), ...(hook.excludedNamespaces ?? [])]
  return patterns.flatMap(pattern => {
    try {
      compileGlob(pattern)
      return []
    } catch (error) {
      if (error instanceof InvalidPatternError) return [`${what}: ${error.message}`]
      throw error
    }
  })
}
