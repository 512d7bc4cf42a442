import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../../item/item.ts'
import { messageOf, type NamedItem } from '../../item/item-error.ts'
import type { ItemResult } from './restore-record.ts'
import type { RestoreRun } from './restore-run.ts'

/** An object of the backup on its way into the cluster. */
export interface ItemInHand {
  readonly groupResource: GroupResource
  /** Namespace and name in the backup. */
  readonly source: { readonly namespace: string; readonly name: string }
  /** The namespace of the cluster; empty for objects without one. */
  readonly namespace: string
}

/** What was compared, for those who show differences. */
export interface Compared {
  desired?: ActionItem | undefined
  live?: ActionItem | undefined
}

/** How an item ended. */
export interface ItemOutcome extends ItemResult, Compared {}

/** Why items end as they do: the words of plans and of reports. */
export const reasons = {
  created: 'it was not there',
  updated: 'it was different',
  merged: 'what was missing was added',
  replaced: 'it was different and was replaced',
  same: 'it is there and the same',
  namespaceExists: 'it is there',
  completed: 'it has completed',
  mirrorPod: 'it is a mirror pod',
  provisioned: 'its claim gets a new volume',
  withoutCsi: 'volumes are not restored from CSI snapshots here',
} as const

export function skipped(reason: string, compared: Compared = {}): ItemOutcome {
  return { action: 'skipped', reason, exists: false, ...compared }
}

/** Told as an error in the item's namespace. */
export function failWithError(
  { run, item }: { run: RestoreRun; item: ItemInHand },
  error: unknown,
): ItemOutcome {
  const told = asError(error)
  run.report.error({ ...placeOf(item), error: told, message: 'An item is not restored' })
  return { action: 'failed', reason: told.message, exists: false }
}

/** Told as a warning in the item's namespace; the item counts as failed, as it is not as the backup has it. */
export function failWithWarning(
  { run, item }: { run: RestoreRun; item: ItemInHand },
  error: unknown,
  exists: boolean,
): ItemOutcome {
  const told = asError(error)
  run.report.warn({ ...placeOf(item), error: told, message: 'An item is not as in the backup' })
  return { action: 'failed', reason: told.message, exists }
}

/** Where warnings and errors of an item belong, and the fields of its lines in the log. */
export function placeOf({ groupResource, namespace, source }: ItemInHand): {
  place: { namespace: string }
  fields: Record<string, unknown>
} {
  return { place: { namespace }, fields: { resource: groupResource, name: source.name } }
}

/** What names an item in errors. */
export function itemId({ groupResource, namespace, source }: ItemInHand): NamedItem {
  return { groupResource, namespace, name: source.name }
}

/** What was thrown, as an error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error))
}
