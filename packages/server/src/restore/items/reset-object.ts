import { labelNames, validLabelValue } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'

/** Fields of metadata that belong to the object that was, or that the server sets. */
const serverMetadata = [
  'generateName',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
] as const

/**
 * Removes from an object, where it is, what a new one cannot have: metadata of the server, and the status. Who owns its fields
 * stays, because actions look at that.
 */
export function resetObject(object: ActionItem): void {
  for (const field of serverMetadata) Reflect.deleteProperty(object.metadata, field)
  Reflect.deleteProperty(object, 'status')
}

/** Removes who owns the fields of an object, which no create takes and which is no part of what an object is. */
export function dropFieldOwners({ metadata }: ActionItem): void {
  Reflect.deleteProperty(metadata, 'managedFields')
}

/** The labels that tell which restore an object comes from. */
export interface RestoreLabels {
  readonly backup: string
  readonly restore: string
}

export function restoreLabelsOf(restore: {
  metadata: { name?: string }
  spec: { backupName?: string }
}): RestoreLabels {
  return {
    backup: validLabelValue(restore.spec.backupName ?? ''),
    restore: validLabelValue(restore.metadata.name ?? ''),
  }
}

/** As a map of labels. */
export function labelMapOf({ backup, restore }: RestoreLabels): Record<string, string> {
  return { [labelNames.backupName]: backup, [labelNames.restoreName]: restore }
}

/** Puts the labels on an object, where it is. */
export function addRestoreLabels(object: ActionItem, labels: RestoreLabels): void {
  object.metadata.labels = { ...object.metadata.labels, ...labelMapOf(labels) }
}
