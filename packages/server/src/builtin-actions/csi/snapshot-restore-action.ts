import { annotationNames, labelNames } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type {
  ActionItem,
  ResourceIdentifier,
  RestoreActionInput,
  RestoreItemAction,
  RestoreItemResult,
} from '@lateen/plugin'
import { asSnapshot, readContentOf } from '../../csi/backed-up-snapshot.ts'
import { ensureGroupStandIn } from '../../csi/group-stand-in.ts'
import { createMissingContent } from '../../csi/missing-content.ts'
import type { RestorableClasses } from '../../csi/restorable-class.ts'
import { isTakenByBackup, markedAsPair } from '../../csi/restored-pair-mark.ts'
import { restoredSnapshotName } from '../../csi/restored-snapshot-name.ts'
import { snapshotGroup, type VolumeSnapshotContent } from '../../csi/snapshot-kinds.ts'
import { backedUpOf, targetNamespace } from './restore-input.ts'

export interface SnapshotRestoreOptions {
  classes: RestorableClasses
  client: KubeClient
  /** Whether anything may be changed in the cluster. */
  writes: boolean
}

/**
 * `velero.io/csi-volumesnapshot-restorer`: a snapshot comes back under a name of this restore, bound to a content that stands for what is in
 * the storage system. One that the backup took is marked, so that it goes when its claim has a volume.
 */
export function snapshotRestoreAction(options: SnapshotRestoreOptions): RestoreItemAction {
  return {
    appliesTo: async () => ({ includedResources: ['volumesnapshots.snapshot.storage.k8s.io'] }),
    async execute(input) {
      const { item, restore } = input
      return restore.spec.restorePVs === false ? { item, skip: true } : restored(input, options)
    },
  }
}

async function restored(
  input: RestoreActionInput,
  { classes, client, writes }: SnapshotRestoreOptions,
): Promise<RestoreItemResult> {
  const { item, itemFromBackup, restore, signal } = input
  const backedUp = backedUpOf(input)
  const snapshot = asSnapshot(itemFromBackup)
  const { content, driver, handle } = await readContentOf(snapshot, backedUp)
  const namespace = targetNamespace(restore, snapshot.metadata.namespace ?? '')
  const { volumeSnapshotClassName } = snapshot.spec
  const found = await classes({ name: volumeSnapshotClassName, driver, backedUp, signal })
  const name = restoredSnapshotName(restore.metadata.uid ?? '', snapshot.metadata.uid ?? '')
  const additionalItems = found.fromBackup ? [found.fromBackup] : []
  if (content !== undefined) {
    if (writes)
      await ensureGroupStandIn({ restore, content, handle, namespace, backedUp }, { client, signal })
    additionalItems.push(idOf(content))
  } else if (writes) {
    const missing = { restore, snapshot, driver, handle, className: found.name, namespace, name }
    await createMissingContent(missing, { client, signal })
  }
  const spec = {
    source: { volumeSnapshotContentName: name },
    ...(found.name !== undefined && { volumeSnapshotClassName: found.name }),
  }
  return { item: { ...item, metadata: restoredMetadata(input, name), spec }, additionalItems }
}

function idOf({ metadata }: VolumeSnapshotContent): ResourceIdentifier {
  const { name = '' } = metadata
  return { group: snapshotGroup, resource: 'volumesnapshotcontents', namespace: '', name }
}

function restoredMetadata({ item, itemFromBackup, restore }: RestoreActionInput, name: string) {
  const metadata = withoutPast(item.metadata)
  const annotations = {
    ...metadata.annotations,
    [annotationNames.vscDeletionPolicy]: 'Retain',
    [annotationNames.restoreMustIncludeAdditionalItems]: 'true',
  }
  const named = { ...metadata, name, annotations }
  return isTakenByBackup(itemFromBackup.metadata, restore) ? markedAsPair(named, restore) : named
}

const pastLabels: readonly string[] = [labelNames.backupUid]

/** What a running controller sees as work that goes on. */
const pastAnnotations: readonly string[] = [
  'snapshot.storage.kubernetes.io/volumesnapshot-being-created',
  'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
]

/** Without what says whom the object belonged to, and what controllers were doing about it: they put their finalizers on it anew. */
export function withoutPast({ finalizers: _, ...metadata }: ActionItem['metadata']): ActionItem['metadata'] {
  const kept = (map: Record<string, string> | undefined, past: readonly string[]) =>
    Object.fromEntries(Object.entries(map ?? {}).filter(([name]) => !past.includes(name)))
  return {
    ...metadata,
    labels: kept(metadata.labels, pastLabels),
    annotations: kept(metadata.annotations, pastAnnotations),
  }
}
