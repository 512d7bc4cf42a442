import { annotationNames } from '@lateen/api'
import type {
  ActionItem,
  ResourceIdentifier,
  RestoreActionInput,
  RestoreItemAction,
  RestoreItemResult,
} from '@lateen/plugin'
import { asContent, handleOf, readSnapshotOf } from '../../csi/backed-up-snapshot.ts'
import type { RestorableClasses } from '../../csi/restorable-class.ts'
import { isTakenByBackup, markedAsPair } from '../../csi/restored-pair-mark.ts'
import { restoredSnapshotName } from '../../csi/restored-snapshot-name.ts'
import type { VolumeSnapshotContent } from '../../csi/snapshot-kinds.ts'
import { backedUpOf, targetNamespace } from './restore-input.ts'
import { withoutPast } from './snapshot-restore-action.ts'

/**
 * `velero.io/csi-volumesnapshotcontent-restorer`: a content comes back as one that stands for the snapshot in the storage system, which it
 * never deletes. One without a VolumeSnapshot in the backup is of no use and left out. Fails when the backup does not say how the storage
 * system calls the snapshot.
 */
export function contentRestoreAction(classes: RestorableClasses): RestoreItemAction {
  return {
    appliesTo: async () => ({ includedResources: ['volumesnapshotcontents.snapshot.storage.k8s.io'] }),
    async execute(input) {
      const { item, restore } = input
      return restore.spec.restorePVs === false ? { item, skip: true } : restored(input, classes)
    },
  }
}

async function restored(input: RestoreActionInput, classes: RestorableClasses): Promise<RestoreItemResult> {
  const { item, itemFromBackup, restore, signal } = input
  const backedUp = backedUpOf(input)
  const content = asContent(itemFromBackup)
  const snapshotHandle = handleOf(content)
  const snapshot = await readSnapshotOf(content, backedUp)
  if (snapshot === undefined) return { item, skip: true }
  const { driver, volumeSnapshotClassName } = content.spec
  const found = await classes({ name: volumeSnapshotClassName, driver, backedUp, signal })
  const name = restoredSnapshotName(restore.metadata.uid ?? '', snapshot.metadata.uid ?? '')
  const { volumeSnapshotClassName: _, ...spec } = asContent(item).spec
  const metadata = { ...withoutPast(item.metadata), name }
  return {
    item: {
      ...item,
      metadata: isTakenByBackup(snapshot.metadata, restore) ? markedAsPair(metadata, restore) : metadata,
      spec: {
        ...spec,
        deletionPolicy: 'Retain',
        source: { snapshotHandle },
        volumeSnapshotRef: referenceTo(snapshot.metadata.namespace ?? '', name, input),
        ...(found.name !== undefined && { volumeSnapshotClassName: found.name }),
      } satisfies VolumeSnapshotContent['spec'],
    },
    additionalItems: secretOf(item, {
      name: annotationNames.snapshotterSecretName,
      namespace: annotationNames.snapshotterSecretNamespace,
    }),
  }
}

/** Without uid and version: the snapshot is yet to come, and will be taken for the one that is meant by its name. */
function referenceTo(
  namespace: string,
  name: string,
  { item, restore }: RestoreActionInput,
): VolumeSnapshotContent['spec']['volumeSnapshotRef'] {
  return {
    apiVersion: item.apiVersion,
    kind: 'VolumeSnapshot',
    namespace: targetNamespace(restore, namespace),
    name,
  }
}

/** The secret that two annotations name, if they do. */
export function secretOf(
  { metadata }: ActionItem,
  annotations: { name: string; namespace: string },
): ResourceIdentifier[] {
  const name = metadata.annotations?.[annotations.name]
  const namespace = metadata.annotations?.[annotations.namespace]
  if (name === undefined || namespace === undefined) return []
  return [{ group: '', resource: 'secrets', namespace, name }]
}
