import assert from 'node:assert/strict'
import type { ActionItem, OperationProgress, ResourceIdentifier, ResourceSelector } from './item-actions.ts'
import { isPluginError, type PluginErrorCode } from './plugin-error.ts'

/** Fails unless the error is a PluginError of one of the codes, with a text. */
export function assertCode(error: unknown, codes: readonly PluginErrorCode[]): void {
  assert.ok(isPluginError(error), `expected a PluginError, got ${String(error)}`)
  assert.ok(codes.includes(error.code), `${error.code}: ${error.message}`)
  assert.notEqual(error.message, '')
}

/** Fails unless a selector has known fields alone, names without blanks, and a label selector that can be read. */
export function checkSelector(selector: ResourceSelector): void {
  const { labelSelector, ...lists } = selector
  for (const [field, list = []] of Object.entries(lists)) {
    const known = ['includedNamespaces', 'excludedNamespaces', 'includedResources', 'excludedResources']
    assert.ok(known.includes(field), field)
    for (const name of list) assert.match(name, /^\S+$/, `${field}: ${name}`)
  }
  if (labelSelector !== undefined) assert.match(labelSelector, labelSelectors)
}

const labelKey = '[-\\w./]+'
const requirement = `!?${labelKey}(\\s*(=|==|!=)\\s*[-\\w.]*|\\s+(not)?in\\s+\\([-\\w.,\\s]*\\))?`
const labelSelectors = new RegExp(`^\\s*(${requirement}\\s*(,\\s*${requirement}\\s*)*)?$`)

/** Fails unless an object has what a path in a backup is made of. */
export function checkItem(item: ActionItem): void {
  assert.match(item.kind, /^[A-Z]\w*$/)
  assert.match(item.apiVersion, /^[a-z0-9./-]+$/)
  assert.match(item.metadata.name ?? '', /^\S+$/)
}

/** Fails unless all of them name an object that may exist. */
export function checkIdentifiers(identifiers: readonly ResourceIdentifier[] = []): void {
  for (const { group, resource, namespace, name } of identifiers) {
    assert.match(resource, /^[a-z0-9]+$/)
    assert.match(name, /^\S+$/)
    assert.match(group, /^[a-z0-9.-]*$/)
    assert.match(namespace, /^[a-z0-9-]*$/)
  }
}

/** Fails unless the counts, times and the error of a progress go together. */
export function checkProgress(progress: OperationProgress): void {
  const { completed, error, nCompleted, nTotal, started, updated } = progress
  assert.ok(Number.isSafeInteger(nCompleted) && Number.isSafeInteger(nTotal) && nCompleted >= 0)
  if (nTotal > 0) assert.ok(nCompleted <= nTotal, `${nCompleted} of ${nTotal}`)
  assert.ok(completed || error === '', 'an operation that goes on has no error')
  for (const time of [started, updated]) assert.ok(time === undefined || Number.isFinite(time))
}
