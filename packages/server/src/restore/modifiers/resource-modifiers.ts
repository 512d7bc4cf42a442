import type { Selector } from '../../filters/label-selector.ts'
import type { JsonObject } from './copy-json.ts'
import type { JsonOperation } from './json-patch.ts'

/** Which objects a rule changes. All conditions must hold. */
export interface RuleConditions {
  /** Asked only for objects that have a namespace, with the one that they have in the backup. */
  includesNamespace(namespace: string): boolean
  includesType(groupResource: string): boolean
  includesName(name: string): boolean
  readonly selector: Selector | undefined
  /** Tests of fields. */
  readonly tests: readonly JsonOperation[]
}

/** What a rule changes: one kind of patches, applied one after the other. */
export type RulePatch =
  | { readonly kind: 'json'; readonly operations: readonly JsonOperation[] }
  | { readonly kind: 'merge'; readonly patches: readonly JsonObject[] }
  | { readonly kind: 'strategic'; readonly patches: readonly JsonObject[] }

export interface ModifierRule {
  /** Where it begins in the text, from 1. */
  readonly line: number
  readonly conditions: RuleConditions
  readonly patch: RulePatch
}

/** The resource modifiers of a restore, read and found valid. */
export interface ResourceModifiers {
  readonly rules: readonly ModifierRule[]
}
