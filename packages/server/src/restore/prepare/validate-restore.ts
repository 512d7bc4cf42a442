import { checkValue, type LabelSelector, type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import { compileGlob, InvalidPatternError } from '../../filters/glob.ts'
import { InvalidSelectorError, selectorOf } from '../../filters/label-selector.ts'
import { listProblems } from '../../filters/validate-lists.ts'
import { existingPolicyAnnotation } from '../items/existing-policy.ts'
import { nonRestorableResources } from './non-restorable.ts'

/** Where a spec does not match its schema, durations included. */
export function schemaErrors(spec: RestoreSpec): string[] {
  return checkValue(RestoreKind.schema.spec, spec, { path: 'spec' }).map(
    ({ path, reason }) => `${path}: ${reason}`,
  )
}

/** What is wrong with the lists of a spec that has the types in its exclusions which no restore brings back. */
export function listErrors(spec: RestoreSpec): string[] {
  const included = spec.includedResources ?? []
  const inResources = listProblems(included, spec.excludedResources ?? [])
  const namespaces = [...(spec.includedNamespaces ?? []), ...(spec.excludedNamespaces ?? [])]
  const inNamespaces = [
    ...listProblems(spec.includedNamespaces ?? [], spec.excludedNamespaces ?? []),
    ...namespaces.flatMap(patternProblem),
  ]
  return [
    ...nonRestorableResources
      .filter(resource => included.includes(resource))
      .map(resource => `${resource} are non-restorable resources`),
    ...inResources.map(problem => `Invalid included/excluded resource lists: ${problem}`),
    ...inNamespaces.map(problem => `Invalid included/excluded namespace lists: ${problem}`),
    ...statusErrors(spec),
  ]
}

function statusErrors({ restoreStatus }: RestoreSpec): string[] {
  const { includedResources, excludedResources } = restoreStatus ?? {}
  return listProblems(includedResources ?? [], excludedResources ?? []).map(
    problem => `Invalid included/excluded resource lists of restoreStatus: ${problem}`,
  )
}

/** What is wrong with the selectors of a spec. */
export function selectorErrors({ labelSelector, orLabelSelectors }: RestoreSpec): string[] {
  const errors: string[] = []
  if (labelSelector && orLabelSelectors) {
    errors.push(
      'encountered labelSelector as well as orLabelSelectors in restore spec, only one can be specified',
    )
  }
  const named = [
    ...(labelSelector ? [{ path: 'labelSelector', selector: labelSelector }] : []),
    ...(orLabelSelectors ?? []).map((selector, index) => ({ path: `orLabelSelectors[${index}]`, selector })),
  ]
  return [
    ...errors,
    ...named.flatMap(({ path, selector }) =>
      selectorProblem(selector).map(problem => `invalid ${path}: ${problem}`),
    ),
  ]
}

/** What is wrong with a selector. */
export function selectorProblem(selector: LabelSelector): string[] {
  try {
    selectorOf(selector)
    return []
  } catch (error) {
    if (error instanceof InvalidSelectorError) return [error.message]
    throw error
  }
}

/** What is wrong with a pattern of names. */
export function patternProblem(pattern: string): string[] {
  try {
    compileGlob(pattern)
    return []
  } catch (error) {
    if (error instanceof InvalidPatternError) return [error.message]
    throw error
  }
}

const policies = ['', 'none', 'update']

/** Whether the restore says in known words what to do with objects that exist. */
export function existingPolicyErrors({ metadata, spec }: Restore): string[] {
  const policy = spec.existingResourcePolicy ?? ''
  const annotation = metadata.annotations?.[existingPolicyAnnotation] ?? 'recreate'
  return [
    ...(policies.includes(policy) ? [] : [`Invalid ExistingResourcePolicy: ${policy}`]),
    ...(annotation === 'recreate'
      ? []
      : [`Invalid annotation ${existingPolicyAnnotation}: ${annotation} (it can only be recreate)`]),
  ]
}
