import type { ActionItem } from '@lateen/plugin'
import { type FieldChange, fieldChanges } from './field-changes.ts'
import type { SecretMask } from './mask-secrets.ts'
import { objectLines } from './object-text.ts'
import { unifiedDiff } from './unified-diff.ts'

/** How much of a difference is shown. */
export type ChangeDetail = 'none' | 'fields' | 'diff'

/** An object before and after, either of which may not be there. */
export interface ComparedObjects {
  readonly before?: ActionItem | undefined
  readonly after?: ActionItem | undefined
}

export interface ShownChange {
  /** With the detail `fields`, and only where both are there. */
  readonly changes?: readonly FieldChange[]
  /** With the detail `diff`: the lines of a unified diff. */
  readonly diff?: readonly string[]
}

export interface ShowChangeOptions {
  detail: ChangeDetail
  mask: SecretMask
  /** What the object is called before and after. */
  names: { before: string; after: string }
}

/** What is shown of the difference between two objects. Pure. */
export function showChange(
  { before, after }: ComparedObjects,
  { detail, mask, names }: ShowChangeOptions,
): ShownChange {
  if (detail === 'none' || (before === undefined && after === undefined)) return {}
  const old = before && mask(before)
  const now = after && mask(after)
  if (detail === 'diff')
    return { diff: unifiedDiff({ before: objectLines(old), after: objectLines(now), names }) }
  return old === undefined || now === undefined ? {} : { changes: fieldChanges(old, now) }
}
