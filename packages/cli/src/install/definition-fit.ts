import type { CustomResourceDefinition } from '@lateen/api'
import type { StoredDefinition, StoredSchema } from './stored-definition.ts'

/** What to do about a definition that the cluster has already. */
export type DefinitionFit =
  | { readonly act: 'apply' }
  /** It knows all that ours knows, and more: it stays as it is. */
  | { readonly act: 'leave'; readonly fields: readonly string[] }
  /** It knows fields that ours does not, and lacks some of ours. Ours may take its place if no object uses those fields. */
  | { readonly act: 'apply-unless-used'; readonly fields: readonly string[] }
  | { readonly act: 'refuse'; readonly reason: string }

/** Compares the definition of the cluster with ours, so that ours never makes stored data unreadable. */
export function definitionFit(ours: CustomResourceDefinition, stored: StoredDefinition): DefinitionFit {
  if (stored.metadata.deletionTimestamp !== undefined) return { act: 'refuse', reason: 'it is being deleted' }
  const known = new Set(ours.spec.versions.map(({ name }) => name))
  const versions = [
    ...(stored.status?.storedVersions ?? []),
    ...(stored.spec?.versions ?? []).map(({ name }) => name),
  ]
  const unknown = [...new Set(versions.filter(name => !known.has(name)))]
  if (unknown.length > 0) {
    return { act: 'refuse', reason: `it has ${versionsOf(unknown)}, of which this program knows nothing` }
  }
  const fields: string[] = []
  let lacking = false
  for (const { name, schema } of ours.spec.versions) {
    const theirs = stored.spec?.versions?.find(version => version.name === name)?.schema?.openAPIV3Schema
    fields.push(...fieldsBeyond(theirs, schema.openAPIV3Schema as StoredSchema))
    lacking ||= fieldsBeyond(schema.openAPIV3Schema as StoredSchema, theirs).length > 0
  }
  if (fields.length === 0) return { act: 'apply' }
  return { act: lacking ? 'apply-unless-used' : 'leave', fields }
}

function versionsOf(names: readonly string[]): string {
  return `${names.length === 1 ? 'version' : 'versions'} ${names.join(', ')}`
}

/** Paths of fields that `more` describes and `less` would drop. `*` stands for any key of a map, `[]` for any item. */
export function fieldsBeyond(
  more: StoredSchema | undefined,
  less: StoredSchema | undefined,
  path = '',
): string[] {
  if (more === undefined || less?.['x-kubernetes-preserve-unknown-fields'] === true) return []
  if (less === undefined) return [path]
  const values = mapValues(less)
  const found = Object.entries(more.properties ?? {}).flatMap(([name, schema]) =>
    fieldsBeyond(schema, less.properties?.[name] ?? values, path === '' ? name : `${path}.${name}`),
  )
  if (more.items !== undefined) found.push(...fieldsBeyond(more.items, less.items, `${path}[]`))
  if (less.additionalProperties !== true) found.push(...fieldsBeyond(mapValues(more), values, `${path}.*`))
  return found
}

/** What the values of a map look like, if it is one. */
function mapValues({ additionalProperties: values }: StoredSchema): StoredSchema | undefined {
  return typeof values === 'object' ? values : undefined
}

/** Whether an object has a value at a path as `fieldsBeyond` writes it. */
export function hasValueAt(value: unknown, path: string): boolean {
  const steps = path.replaceAll('[]', '.[]').split('.').filter(Boolean)
  return reaches(value, steps)
}

function reaches(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return value !== undefined && value !== null
  if (typeof value !== 'object' || value === null) return false
  if (step === '[]') return Array.isArray(value) && value.some(item => reaches(item, rest))
  if (step === '*') return Object.values(value).some(item => reaches(item, rest))
  return reaches((value as Record<string, unknown>)[step], rest)
}
