import type { ActionItem } from '@lateen/plugin'
import { copyJson } from '../restore/modifiers/copy-json.ts'

/** Fields of metadata that change by themselves, or only because the object is another one with the same contents. */
const noise = [
  'resourceVersion',
  'managedFields',
  'uid',
  'generation',
  'creationTimestamp',
  'selfLink',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

/** A copy of an object with what is worth comparing. */
export function comparable(object: ActionItem, { withStatus }: { withStatus: boolean }): ActionItem {
  const copy = copyJson(object)
  const { metadata } = copy
  for (const field of noise) Reflect.deleteProperty(metadata, field)
  for (const owner of metadata.ownerReferences ?? []) Reflect.deleteProperty(owner, 'uid')
  if (!withStatus) Reflect.deleteProperty(copy, 'status')
  return copy
}
