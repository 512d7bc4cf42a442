import type { LabelSelector } from '@lateen/api'
import { compileGlob, InvalidPatternError } from '../glob.ts'
import { InvalidSelectorError, selectorOf } from '../label-selector.ts'
import { namespacePatternProblem } from '../namespace-pattern.ts'
import type { FieldReader } from './field-reader.ts'
import { isCatchAll, type ResourceFilter } from './resource-policies.ts'

/** A filter with where it stands. */
export interface ReadFilter {
  path: string
  single: LabelSelector
  several: readonly { selector: LabelSelector; path: string }[]
  filter: ResourceFilter
}

/** A policy for namespaces with where it stands. */
export interface ReadNamespacedPolicy {
  path: string
  namespaces: readonly string[]
  filters: readonly ReadFilter[]
}

/** Adds what is wrong with the filters for cluster scope to the reader's problems. */
export function validateClusterFilters(
  reader: FieldReader,
  filters: readonly ReadFilter[],
  path: string,
): void {
  if (filters.length === 0) {
    reader.problem(
      path,
      'resourceFilters cannot be empty; remove the policy block entirely if it is not needed',
    )
  }
  for (const { filter, path: filterPath } of filters) {
    if (isCatchAll(filter)) reader.problem(filterPath, 'kinds must be specified (catch-all is not supported)')
  }
  checkFilters(reader, filters, path)
}

/** Adds what is wrong with the filters for namespaces to the reader's problems. */
export function validateNamespacedPolicies(
  reader: FieldReader,
  policies: readonly ReadNamespacedPolicy[],
): void {
  const holders = new Map<string, number[]>()
  for (const [index, { namespaces, filters, path }] of policies.entries()) {
    if (namespaces.length === 0) reader.problem(path, 'at least one namespace must be specified')
    if (filters.length === 0) reader.problem(path, 'at least one resourceFilter must be specified')
    for (const [position, pattern] of namespaces.entries()) {
      const reason = namespacePatternProblem(pattern)
      if (reason !== undefined) reader.problem(`${path}.namespaces[${position}]`, reason)
      holders.set(pattern, [...(holders.get(pattern) ?? []), index])
    }
    checkCatchAll(reader, filters, path)
    checkFilters(reader, filters, path)
  }
  for (const [pattern, indices] of holders) {
    if (indices.length < 2) continue
    const where = indices.join(' ')
    reader.problem(
      'namespacedFilterPolicies',
      `duplicate namespace pattern '${pattern}' found in policies [${where}]`,
    )
  }
}

function checkCatchAll(reader: FieldReader, filters: readonly ReadFilter[], path: string): void {
  const catchAlls = filters.filter(({ filter }) => isCatchAll(filter))
  if (catchAlls.length > 1) reader.problem(path, 'only one catch-all resource filter is allowed')
  for (const { filter, path: filterPath } of catchAlls) {
    if (filter.names.length + filter.excludedNames.length === 0) continue
    reader.problem(filterPath, 'names or excludedNames cannot be specified for catch-all filters')
  }
}

function checkFilters(reader: FieldReader, filters: readonly ReadFilter[], path: string): void {
  const seen = new Map<string, number>()
  for (const [index, read] of filters.entries()) {
    for (const kind of read.filter.kinds) {
      const first = seen.get(kind)
      if (first !== undefined && kind !== '*') {
        reader.problem(
          path,
          `kind ${JSON.stringify(kind)} appears in both resourceFilters[${first}] and resourceFilters[${index}]`,
        )
      }
      seen.set(kind, index)
    }
    checkSelectors(reader, read)
    checkPatterns(reader, read.filter.names, `${read.path}.names`)
    checkPatterns(reader, read.filter.excludedNames, `${read.path}.excludedNames`)
  }
}

function checkSelectors(reader: FieldReader, { single, several, path }: ReadFilter): void {
  const singleText = selectorText(reader, single, path)
  if (singleText !== '' && several.length > 0) {
    reader.problem(path, 'labelSelector and orLabelSelectors cannot co-exist')
  }
  for (const each of several) selectorText(reader, each.selector, each.path)
}

function selectorText(reader: FieldReader, selector: LabelSelector, path: string): string | undefined {
  try {
    return selectorOf(selector).text
  } catch (error) {
    if (!(error instanceof InvalidSelectorError)) throw error
    reader.problem(path, `invalid label selector: ${error.message}`)
    return undefined
  }
}

function checkPatterns(reader: FieldReader, patterns: readonly string[], path: string): void {
  for (const [index, pattern] of patterns.entries()) {
    try {
      compileGlob(pattern)
    } catch (error) {
      if (!(error instanceof InvalidPatternError)) throw error
      reader.problem(`${path}[${index}]`, `invalid glob pattern ${JSON.stringify(pattern)}: ${error.reason}`)
    }
  }
}
