import type { LabelSelector } from '@lateen/api'
import { FieldReader } from './field-reader.ts'
import { parseVolumePolicy } from './parse-volume-policy.ts'
import { parseYaml } from './parse-yaml.ts'
import type {
  IncludeExcludePolicy,
  NamespacedFilterPolicy,
  ResourceFilter,
  ResourcePolicies,
} from './resource-policies.ts'
import { type ReadFilter, validateClusterFilters, validateNamespacedPolicies } from './validate-filters.ts'

/** A resource policies file that cannot be used. */
export class InvalidPoliciesError extends Error {
  override readonly name = 'InvalidPoliciesError'
  readonly code = 'INVALID_POLICIES'
  readonly hint = 'correct the ConfigMap and create the backup again'
  /** Everything that is wrong, one by one. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('; '), options)
    this.problems = problems
  }
}

const supportedVersion = 'v1'
const sections = [
  'version',
  'volumePolicies',
  'includeExcludePolicy',
  'clusterScopedFilterPolicy',
  'namespacedFilterPolicies',
] as const

/**
 * Reads resource policies: the YAML text of the one entry of their ConfigMap. Fields that are not known are
 * errors. Throws InvalidPoliciesError with everything that is wrong.
 */
export function parsePolicies(text: string): ResourcePolicies {
  const reader = new FieldReader()
  const fields = reader.fields(parsed(text), '', sections)
  const version = reader.text(fields.version, 'version')
  if (version !== supportedVersion) {
    reader.problem(
      'version',
      `incompatible version number ${version} with supported version ${supportedVersion}`,
    )
  }
  const policies: ResourcePolicies = {
    volumePolicies: reader
      .items(fields.volumePolicies, 'volumePolicies')
      .map(({ item, path }) => parseVolumePolicy(reader, item, path)),
    includeExcludePolicy: readIncludeExclude(reader, fields.includeExcludePolicy),
    clusterScopedFilters: readClusterPolicy(reader, fields.clusterScopedFilterPolicy),
    namespacedFilterPolicies: readNamespacedPolicies(reader, fields.namespacedFilterPolicies),
  }
  if (reader.problems.length > 0) throw new InvalidPoliciesError(reader.problems)
  return policies
}

function parsed(text: string): unknown {
  let document: unknown
  try {
    document = parseYaml(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InvalidPoliciesError([`failed to decode yaml data into resource policies: ${reason}`], {
      cause,
    })
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw new InvalidPoliciesError(['failed to decode yaml data into resource policies: there is no mapping'])
  }
  return document
}

function readIncludeExclude(reader: FieldReader, value: unknown): IncludeExcludePolicy | undefined {
  if (value === undefined || value === null) return undefined
  const path = 'includeExcludePolicy'
  const names = [
    'includedClusterScopedResources',
    'excludedClusterScopedResources',
    'includedNamespaceScopedResources',
    'excludedNamespaceScopedResources',
  ] as const
  const fields = reader.fields(value, path, names)
  const list = (name: (typeof names)[number]) => reader.texts(fields[name], `${path}.${name}`)
  const policy = {
    includedClusterScopedResources: list('includedClusterScopedResources'),
    excludedClusterScopedResources: list('excludedClusterScopedResources'),
    includedNamespaceScopedResources: list('includedNamespaceScopedResources'),
    excludedNamespaceScopedResources: list('excludedNamespaceScopedResources'),
  }
  checkLists(reader, policy.includedClusterScopedResources, policy.excludedClusterScopedResources)
  checkLists(reader, policy.includedNamespaceScopedResources, policy.excludedNamespaceScopedResources)
  return policy
}

function checkLists(reader: FieldReader, includes: readonly string[], excludes: readonly string[]): void {
  if (includes.includes('*') || excludes.includes('*')) {
    reader.problem('includeExcludePolicy', "cannot use '*' in includes or excludes filters in the policy")
  }
  for (const name of new Set(excludes)) {
    if (!includes.includes(name)) continue
    reader.problem(
      'includeExcludePolicy',
      `excludes list cannot contain an item in the includes list: ${name}`,
    )
  }
}

function readClusterPolicy(reader: FieldReader, value: unknown): ResourceFilter[] {
  if (value === undefined || value === null) return []
  const path = 'clusterScopedFilterPolicy'
  const fields = reader.fields(value, path, ['resourceFilters'])
  const filters = readFilters(reader, fields.resourceFilters, `${path}.resourceFilters`)
  validateClusterFilters(reader, filters, path)
  return filters.map(({ filter }) => filter)
}

function readNamespacedPolicies(reader: FieldReader, value: unknown): NamespacedFilterPolicy[] {
  const policies = reader.items(value, 'namespacedFilterPolicies').map(({ item, path }) => {
    const fields = reader.fields(item, path, ['namespaces', 'resourceFilters'])
    return {
      path,
      namespaces: reader.texts(fields.namespaces, `${path}.namespaces`),
      filters: readFilters(reader, fields.resourceFilters, `${path}.resourceFilters`),
    }
  })
  validateNamespacedPolicies(reader, policies)
  return policies.map(({ namespaces, filters }) => ({
    namespaces,
    resourceFilters: filters.map(({ filter }) => filter),
  }))
}

function readFilters(reader: FieldReader, value: unknown, path: string): ReadFilter[] {
  return reader.items(value, path).map(each => readFilter(reader, each.item, each.path))
}

function readFilter(reader: FieldReader, value: unknown, path: string): ReadFilter {
  const names = ['kinds', 'labelSelector', 'orLabelSelectors', 'names', 'excludedNames'] as const
  const fields = reader.fields(value, path, names)
  const single = readSelector(reader, fields.labelSelector, `${path}.labelSelector`)
  const several = reader
    .items(fields.orLabelSelectors, `${path}.orLabelSelectors`)
    .map(each => ({ selector: readSelector(reader, each.item, each.path), path: each.path }))
  return {
    path,
    single,
    several,
    filter: {
      kinds: reader.texts(fields.kinds, `${path}.kinds`),
      labelSelectors: [single, ...several.map(({ selector }) => selector)].filter(isPresent),
      names: reader.texts(fields.names, `${path}.names`),
      excludedNames: reader.texts(fields.excludedNames, `${path}.excludedNames`),
    },
  }
}

function readSelector(reader: FieldReader, value: unknown, path: string): LabelSelector {
  const fields = reader.fields(value, path, ['matchLabels', 'matchExpressions'])
  const expressions = reader.items(fields.matchExpressions, `${path}.matchExpressions`)
  return {
    matchLabels: reader.textMap(fields.matchLabels, `${path}.matchLabels`),
    matchExpressions: expressions.map(each => {
      const expression = reader.fields(each.item, each.path, ['key', 'operator', 'values'])
      return {
        key: reader.text(expression.key, `${each.path}.key`),
        operator: reader.text(expression.operator, `${each.path}.operator`),
        values: reader.texts(expression.values, `${each.path}.values`),
      }
    }),
  }
}

/** A selector without conditions counts as none. */
function isPresent({ matchLabels, matchExpressions }: LabelSelector): boolean {
  return Object.keys(matchLabels ?? {}).length > 0 || (matchExpressions?.length ?? 0) > 0
}
