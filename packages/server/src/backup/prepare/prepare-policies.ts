import type { Backup } from '@lateen/api'
import { InvalidPoliciesError, parsePolicies } from '../../filters/policies/parse-policies.ts'
import { type ResourcePolicies, withGlobalVolumePolicies } from '../../filters/policies/resource-policies.ts'
import type { ScopeWarning } from '../../filters/scope.ts'
import { usesOldFilters } from '../scope/resource-scope.ts'

/** The data of a ConfigMap; undefined when it does not exist. */
type ConfigMapData = Readonly<Record<string, string>> | undefined

/** What `preparePolicies` works on. */
export interface PoliciesOptions {
  backup: Backup
  /** Of the ConfigMap that the backup names. */
  own: ConfigMapData
  /** Of the ConfigMap with the volume policies of the server. */
  global: ConfigMapData
  /** Its name; empty: there is none. */
  globalName: string
}

/** The policies of a backup, and what is wrong with them. */
export interface PreparedPolicies {
  policies?: ResourcePolicies | undefined
  errors: readonly string[]
  warnings: readonly ScopeWarning[]
}

/** Reads the policies that a backup names and those of the server, and checks that the backup can be combined with them. */
export function preparePolicies({ backup, own, global, globalName }: PoliciesOptions): PreparedPolicies {
  const namespace = backup.metadata.namespace ?? ''
  const ownResult = readOwn(backup, namespace, own)
  const globalResult =
    globalName === ''
      ? { errors: [] }
      : read({ ...globalTexts, where: `${namespace}/${globalName}`, data: global })
  const errors = [...ownResult.errors, ...globalResult.errors].map(
    error => `invalid resource policies: ${error}`,
  )
  if (errors.length > 0) return { errors, warnings: [] }
  const policies = withGlobalVolumePolicies(ownResult.policies, globalResult.policies)
  return {
    policies,
    errors: usesOldFilters(backup.spec) ? conflicts(ownResult.policies) : [],
    warnings: ignoredSections(globalResult.policies, `${namespace}/${globalName}`),
  }
}

interface Reading {
  policies?: ResourcePolicies
  errors: string[]
}

const ownTexts = {
  get: (where: string) => `fail to get ResourcePolicies ${where} ConfigMap`,
  read: (where: string) => `fail to read the ResourcePolicies from ConfigMap ${where}`,
  validate: (where: string) => `fail to validate ResourcePolicies in ConfigMap ${where}`,
}

const globalTexts = {
  get: (where: string) => `fail to get global backup volume policies ConfigMap ${where}`,
  read: (where: string) => `fail to read global backup volume policies from ConfigMap ${where}`,
  validate: (where: string) => `fail to validate global backup volume policies in ConfigMap ${where}`,
}

const supportedKind = 'configmap'

function readOwn({ spec }: Backup, namespace: string, data: ConfigMapData): Reading {
  const reference = spec.resourcePolicy
  if (!reference) return { errors: [] }
  if (reference.kind.toLowerCase() !== supportedKind) {
    const kind = JSON.stringify(reference.kind)
    return { errors: [`invalid ResourcePolicy kind ${kind}, only "${supportedKind}" is supported`] }
  }
  return read({ ...ownTexts, where: `${namespace}/${reference.name}`, data })
}

type ReadOptions = typeof ownTexts & { where: string; data: ConfigMapData }

function read({ where, data, get, read: reading, validate }: ReadOptions): Reading {
  if (data === undefined) {
    return { errors: [`${get(where)}: ConfigMap ${JSON.stringify(where.split('/').at(-1))} not found`] }
  }
  const [text, ...others] = Object.values(data)
  if (text === undefined || others.length > 0) {
    return {
      errors: [
        `${reading(where)}: illegal resource policies ${where} configmap (it must have exactly one key)`,
      ],
    }
  }
  try {
    return { policies: parsePolicies(text), errors: [] }
  } catch (error) {
    if (error instanceof InvalidPoliciesError) return { errors: [`${validate(where)}: ${error.message}`] }
    throw error
  }
}

function conflicts(policies: ResourcePolicies | undefined): string[] {
  const old =
    'include-resources, exclude-resources and include-cluster-resources are old filter parameters.\n'
  const errors: string[] = []
  if (policies?.includeExcludePolicy) errors.push(`${old}They cannot be used with include-exclude policies.`)
  if (policies && policies.namespacedFilterPolicies.length + policies.clusterScopedFilters.length > 0) {
    errors.push(`${old}They cannot be used with namespace-scoped or fine-grained global filter policies.`)
  }
  return errors
}

function ignoredSections(global: ResourcePolicies | undefined, configMap: string): ScopeWarning[] {
  if (!global) return []
  const { includeExcludePolicy, clusterScopedFilters, namespacedFilterPolicies } = global
  if (!includeExcludePolicy && clusterScopedFilters.length + namespacedFilterPolicies.length === 0) return []
  return [{ message: 'Of the policies for all backups only volumePolicies apply', fields: { configMap } }]
}
