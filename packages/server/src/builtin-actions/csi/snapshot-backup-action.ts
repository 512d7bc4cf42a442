import { annotationNames } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { ActionItem, BackupItemAction, ResourceIdentifier } from '@lateen/plugin'
import { isSnapshotOf } from '../../csi/backup-snapshots.ts'
import { binaryQuantity } from '../../csi/binary-quantity.ts'
import { CsiError } from '../../csi/csi-error.ts'
import { isGroupLost } from '../../csi/group-members.ts'
import { isGoing } from '../../csi/is-going.ts'
import { contentOf } from '../../csi/release-snapshot.ts'
import { snapshotGroup, type VolumeSnapshot, type VolumeSnapshotContent } from '../../csi/snapshot-kinds.ts'

/**
 * `velero.io/csi-volumesnapshot-backupper`: a VolumeSnapshot takes its content and its class along, and tells in annotations what a restore
 * has to know of the content. Nothing of it is written to the cluster. One that the backup took itself is not stored without content, nor without the group
 * that it was taken with.
 */
export function csiSnapshotBackupAction({ client }: { client: KubeClient }): BackupItemAction {
  return {
    appliesTo: async () => ({ includedResources: [`volumesnapshots.${snapshotGroup}`] }),
    async execute({ item, backup, signal = never }) {
      const snapshot = item as unknown as VolumeSnapshot
      const content = await contentOf(snapshot, { client, signal })
      const isOurs = isSnapshotOf(snapshot, backup.metadata.uid ?? '')
      const isWhole = content?.status?.snapshotHandle && !isGoing(content)
      if (isOurs && !isWhole) throw incomplete(snapshot)
      if (isOurs && (await isGroupLost(snapshot, { client, signal }))) throw withoutGroup(snapshot)
      const additionalItems = [
        ...classOf(snapshot),
        ...(content === undefined ? [] : [inCluster('volumesnapshotcontents', content.metadata.name)]),
      ]
      item.metadata.annotations = { ...item.metadata.annotations, ...annotationsOf(content) }
      return { item: mustInclude(item), additionalItems }
    },
  }
}

const never = new AbortController().signal

/** What belongs to the item is stored whatever the filters say. */
export function mustInclude(item: ActionItem): ActionItem {
  const { annotations } = item.metadata
  item.metadata.annotations = { ...annotations, [annotationNames.backupMustIncludeAdditionalItems]: 'true' }
  return item
}

function inCluster(resource: string, name: string | undefined): ResourceIdentifier {
  return { group: snapshotGroup, resource, namespace: '', name: name ?? '' }
}

function classOf({ spec }: VolumeSnapshot): ResourceIdentifier[] {
  const { volumeSnapshotClassName: name } = spec
  return name ? [inCluster('volumesnapshotclasses', name)] : []
}

function annotationsOf(content: VolumeSnapshotContent | undefined): Record<string, string> {
  if (content === undefined) return {}
  const { spec, status } = content
  const { snapshotHandle, restoreSize, volumeGroupSnapshotHandle } = status ?? {}
  return {
    [annotationNames.vscDeletionPolicy]: spec.deletionPolicy,
    ...(snapshotHandle && {
      [annotationNames.volumeSnapshotHandle]: snapshotHandle,
      [annotationNames.csiDriverName]: spec.driver,
    }),
    ...(restoreSize !== undefined && {
      [annotationNames.volumeSnapshotRestoreSize]: binaryQuantity(restoreSize),
    }),
    ...(volumeGroupSnapshotHandle && {
      [annotationNames.volumeGroupSnapshotHandle]: volumeGroupSnapshotHandle,
    }),
  }
}

function incomplete({ metadata }: VolumeSnapshot): CsiError {
  return new CsiError('SNAPSHOT_WITHOUT_CONTENT', {
    reason: `the VolumeSnapshot ${metadata.namespace}/${metadata.name} has no content with a handle`,
    hint: 'Somebody deleted its VolumeSnapshotContent; back up again',
  })
}

function withoutGroup({ metadata, status }: VolumeSnapshot): CsiError {
  const { namespace, name } = metadata
  return new CsiError('SNAPSHOT_LOST', {
    reason: `the VolumeSnapshot ${namespace}/${name} goes with its group: the VolumeGroupSnapshot ${status?.volumeGroupSnapshotName}, or its content, was deleted`,
    hint: 'Back up again',
  })
}
