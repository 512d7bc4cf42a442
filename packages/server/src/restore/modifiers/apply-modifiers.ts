import type { ActionItem } from '@lateen/plugin'
import { describeItem, messageOf } from '../../item/item-error.ts'
import { isJsonObject } from '../items/same-json.ts'
import type { ItemToModify } from '../restore-request.ts'
import { copyJson, type JsonObject } from './copy-json.ts'
import { applyJsonPatch, JsonPatchError } from './json-patch.ts'
import { mergeInto } from './merge-into.ts'
import { patchSchemaOf } from './patch-schema.ts'
import type { ModifierRule, ResourceModifiers, RuleConditions, RulePatch } from './resource-modifiers.ts'
import { mergeStrategically } from './strategic-merge.ts'

/** Why a rule did not change an object. The object is restored as the other rules left it. */
export class ModifierError extends Error {
  override readonly name = 'ModifierError'
  readonly code = 'MODIFIER_FAILED'
  readonly hint: string
  /** Where the rule begins in the text of the modifiers. */
  readonly line: number

  constructor(rule: ModifierRule, item: string, { reason, hint, cause }: ModifierErrorDetails) {
    super(`${item}: the resource modifier in line ${rule.line} could not be applied: ${reason}`, { cause })
    this.line = rule.line
    this.hint = hint ?? 'correct the rule, or restrict its conditions to objects that it fits'
  }
}

interface ModifierErrorDetails {
  reason: string
  hint?: string | undefined
  cause: unknown
}

/** An object after the modifiers, and which rules failed. */
export interface ModifiedItem {
  item: ActionItem
  errors: ModifierError[]
}

/**
 * Applies the rules whose conditions an object meets, one after the other. Conditions are asked of the object as it was before the first
 * rule. A rule that fails, or one of whose tests does not hold, changes nothing. The given object stays as it is.
 */
export function applyModifiers({ rules }: ResourceModifiers, given: ItemToModify): ModifiedItem {
  const modified: ModifiedItem = { item: given.item, errors: [] }
  for (const rule of rules) {
    try {
      if (!meets(rule.conditions, given)) continue
      modified.item = patched(rule.patch, modified.item)
    } catch (error) {
      // A test that does not hold is another condition.
      if (error instanceof JsonPatchError && error.code === 'JSON_PATCH_TEST_FAILED') continue
      modified.errors.push(modifierError(rule, given, error))
    }
  }
  return modified
}

function meets(conditions: RuleConditions, { item, groupResource, namespace }: ItemToModify): boolean {
  return (
    (namespace === '' || conditions.includesNamespace(namespace)) &&
    conditions.includesType(groupResource) &&
    conditions.includesName(item.metadata.name ?? '') &&
    (conditions.selector?.matches(item.metadata.labels) ?? true) &&
    passes(conditions.tests, item)
  )
}

function passes(tests: RuleConditions['tests'], item: ActionItem): boolean {
  try {
    applyJsonPatch(item, tests)
    return true
  } catch (error) {
    if (error instanceof JsonPatchError && error.code !== 'JSON_PATCH_BAD_INDEX') return false
    throw error
  }
}

function patched(patch: RulePatch, item: ActionItem): ActionItem {
  let object: JsonObject = copyJson(item)
  switch (patch.kind) {
    case 'json':
      applyJsonPatch(object, patch.operations)
      break
    case 'merge':
      for (const each of patch.patches) mergeInto(object, each)
      break
    case 'strategic':
      for (const each of patch.patches) object = mergedStrategically(object, each, item)
  }
  return requireItem(object)
}

function mergedStrategically(object: JsonObject, patch: JsonObject, item: ActionItem): JsonObject {
  const schema = patchSchemaOf(item)
  if (schema === undefined) {
    throw new Error(
      `strategic patches are for kinds that come with Kubernetes, and ${item.kind} of ${item.apiVersion} is none; use mergePatches or patches`,
    )
  }
  return mergeStrategically(object, copyJson(patch), schema)
}

function requireItem(object: JsonObject): ActionItem {
  const { apiVersion, kind, metadata } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || kind === '' || !isJsonObject(metadata)) {
    throw new Error('it takes away apiVersion, kind or metadata of the object')
  }
  return object as ActionItem
}

function modifierError(
  rule: ModifierRule,
  { item, groupResource, namespace }: ItemToModify,
  cause: unknown,
): ModifierError {
  const name = describeItem({ groupResource, namespace, name: item.metadata.name ?? '' })
  const hint = cause instanceof Error && 'hint' in cause ? String(cause.hint) : undefined
  return new ModifierError(rule, name, { reason: messageOf(cause), hint, cause })
}
