import type { Restore } from '@lateen/api'
import { InvalidPoliciesError, parsePolicies } from '../../filters/policies/parse-policies.ts'
import {
  isCatchAll,
  type ResourceFilter,
  type ResourcePolicies,
} from '../../filters/policies/resource-policies.ts'
import type { ResolveResource } from '../../filters/resource-names.ts'

/** What `prepareRestorePolicies` works on. */
export interface RestorePoliciesOptions {
  restore: Restore
  /** The data of the ConfigMap that the restore names; undefined when it does not exist. */
  data: Readonly<Record<string, string>> | undefined
  resolve: ResolveResource
}

/** The policies of a restore, and what is wrong with them. */
export interface PreparedRestorePolicies {
  policies?: ResourcePolicies | undefined
  errors: readonly string[]
}

const supportedKind = 'configmap'

/** Reads the policies that a restore names. Of their sections a restore knows the fine-grained filters only. */
export function prepareRestorePolicies(options: RestorePoliciesOptions): PreparedRestorePolicies {
  const read = readPolicies(options)
  return { ...read, errors: read.errors.map(error => `invalid restore resource policies: ${error}`) }
}

function readPolicies({ restore, data, resolve }: RestorePoliciesOptions): PreparedRestorePolicies {
  const reference = restore.spec.resourcePolicy
  if (!reference) return { errors: [] }
  if (reference.kind.toLowerCase() !== supportedKind) {
    const kind = JSON.stringify(reference.kind)
    return { errors: [`invalid ResourcePolicy kind ${kind}, only "${supportedKind}" is supported`] }
  }
  const where = `${restore.metadata.namespace ?? ''}/${reference.name}`
  if (data === undefined) {
    const name = JSON.stringify(reference.name)
    return { errors: [`fail to get ResourcePolicies ${where} ConfigMap: ConfigMap ${name} not found`] }
  }
  const [text, ...others] = Object.values(data)
  if (text === undefined || others.length > 0) {
    const reading = `fail to read the ResourcePolicies from ConfigMap ${where}`
    return {
      errors: [`${reading}: illegal resource policies ${where} configmap (it must have exactly one key)`],
    }
  }
  return parsed(text, { where, resolve })
}

function parsed(
  text: string,
  { where, resolve }: { where: string; resolve: ResolveResource },
): PreparedRestorePolicies {
  const validating = `fail to validate ResourcePolicies in ConfigMap ${where}`
  try {
    const policies = parsePolicies(text)
    const problems = [...unsupportedSections(policies), ...ambiguousKinds(policies, resolve)]
    if (problems.length === 0) return { policies, errors: [] }
    return { errors: [`${validating}: ${problems.join('; ')}`] }
  } catch (error) {
    if (error instanceof InvalidPoliciesError) return { errors: [`${validating}: ${error.message}`] }
    throw error
  }
}

function unsupportedSections({ volumePolicies, includeExcludePolicy }: ResourcePolicies): string[] {
  return [
    ...(volumePolicies.length > 0 ? ['volumePolicies are not supported for restore'] : []),
    ...(includeExcludePolicy ? ['includeExcludePolicy is not supported for restore'] : []),
  ]
}

/** Kinds that are written differently and mean the same type, in one list of filters. */
function ambiguousKinds(policies: ResourcePolicies, resolve: ResolveResource): string[] {
  const lists = [
    policies.clusterScopedFilters,
    ...policies.namespacedFilterPolicies.map(({ resourceFilters }) => resourceFilters),
  ]
  return lists.flatMap(filters =>
    repeated(typesOf(filters, resolve)).map(
      type => `ambiguous policy: duplicate kind ${JSON.stringify(type)} detected`,
    ),
  )
}

function typesOf(filters: readonly ResourceFilter[], resolve: ResolveResource): string[] {
  return filters
    .filter(filter => !isCatchAll(filter))
    .flatMap(({ kinds }) => kinds.map(kind => kind.toLowerCase()))
    .map(kind => resolve(kind)?.groupResource ?? kind)
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
