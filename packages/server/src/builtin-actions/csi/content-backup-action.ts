import { annotationNames, type Backup, labelNames, validLabelValue } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import type { BackupItemAction, ResourceIdentifier } from '@lateen/plugin'
import { isSnapshotOf } from '../../csi/backup-snapshots.ts'
import { snapshotGroup, type VolumeSnapshotContent, VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { mustInclude } from './snapshot-backup-action.ts'

/**
 * `velero.io/csi-volumesnapshotcontent-backupper`: a VolumeSnapshotContent takes its secret along. That of a snapshot which the backup took
 * itself gets the label by which a deletion of the backup, by Velero too, knows that the snapshot goes with it.
 */
export function csiContentBackupAction({ client }: { client: KubeClient }): BackupItemAction {
  return {
    appliesTo: async () => ({ includedResources: [`volumesnapshotcontents.${snapshotGroup}`] }),
    async execute({ item, backup, signal = never }) {
      const secrets = secretNamed(item.metadata.annotations, {
        name: annotationNames.snapshotterSecretName,
        namespace: annotationNames.snapshotterSecretNamespace,
      })
      const content = item as unknown as VolumeSnapshotContent
      const isOurs = await isTakenBy(backup, content, { client, signal })
      if (isOurs) {
        const backupName = validLabelValue(backup.metadata.name ?? '')
        item.metadata.labels = { ...item.metadata.labels, [labelNames.backupName]: backupName }
      }
      if (secrets.length === 0) return { item, unchanged: !isOurs }
      return { item: mustInclude(item), additionalItems: secrets }
    },
  }
}

const never = new AbortController().signal

async function isTakenBy(
  backup: Backup,
  { spec }: VolumeSnapshotContent,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<boolean> {
  const { namespace, name = '', uid } = spec.volumeSnapshotRef
  const snapshot = await client
    .resource(VolumeSnapshotKind, namespace)
    .get(name, { signal })
    .catch(unlessNotFound)
  if (snapshot === undefined || (uid && snapshot.metadata.uid !== uid)) return false
  return isSnapshotOf(snapshot, backup.metadata.uid ?? '')
}

/** The secret that two annotations name, if both are there. */
export function secretNamed(
  annotations: Readonly<Record<string, string>> | undefined,
  names: { name: string; namespace: string },
): ResourceIdentifier[] {
  const [name, namespace] = [annotations?.[names.name], annotations?.[names.namespace]]
  if (name === undefined || namespace === undefined) return []
  return [{ group: '', resource: 'secrets', namespace, name }]
}
