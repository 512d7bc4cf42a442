import { fieldOf, setField } from '../modifiers/copy-json.ts'
import { isJsonObject, sameJson } from './same-json.ts'

/** A JSON merge patch (RFC 7386): what is named is set, null removes. */
export type MergePatch = Record<string, unknown>

/** The smallest merge patch that makes `to` out of `from`; undefined when they are the same. Lists are replaced as a whole. */
export function mergePatchBetween(
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): MergePatch | undefined {
  const patch: MergePatch = {}
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) setField(patch, key, null)
  for (const [key, value] of Object.entries(to)) {
    const before = fieldOf(from, key)
    if (sameJson(before, value)) continue
    const nested = isJsonObject(before) && isJsonObject(value) ? mergePatchBetween(before, value) : value
    if (nested !== undefined) setField(patch, key, nested)
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}
