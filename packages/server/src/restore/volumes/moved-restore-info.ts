import { type DataDownload, DataDownloadKind, labelNames, type Restore } from '@lateen/api'
import type { CallOptions, ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { RestoreSink } from '../sink/sink.ts'
import type { RestoreVolumeInfo } from './volume-restore.ts'

interface Claim extends ActionItem {
  spec?: { selector?: { matchLabels?: Record<string, string> } | null }
}

const { group, version, kind, plural, namespaced } = DataDownloadKind
const downloadType: ResourceType<Unstructured> = { group, version, kind, plural, namespaced }

/** Whether a claim waits for a volume that is filled from the repository. */
export function waitsForDownload(claim: ActionItem): boolean {
  return (claim as Claim).spec?.selector?.matchLabels?.[labelNames.dynamicPvRestore] !== undefined
}

/** What the restore's volume info says of claims whose volumes are filled from the repository, as Velero writes it: from before they are. */
export async function movedRestoreInfo(
  { metadata }: Restore,
  sink: RestoreSink,
  options: CallOptions,
): Promise<RestoreVolumeInfo[]> {
  const infos: RestoreVolumeInfo[] = []
  for await (const { json } of sink.list(
    { type: downloadType, namespace: metadata.namespace ?? '' },
    options,
  )) {
    const download: DataDownload = JSON.parse(Buffer.from(json).toString())
    if (download.metadata.labels?.[labelNames.restoreUid] === metadata.uid) infos.push(infoOf(download))
  }
  return infos
}

function infoOf({ metadata, spec }: DataDownload): RestoreVolumeInfo {
  const { namespace, pvc, pv } = spec.targetVolume
  return {
    pvcName: pvc,
    pvcNamespace: namespace,
    ...(pv && { pvName: pv }),
    restoreMethod: 'CSISnapshot',
    snapshotDataMoved: true,
    snapshotDataMovementInfo: {
      dataMover: spec.datamover || 'velero',
      uploaderType: 'kopia',
      snapshotHandle: spec.snapshotID,
      operationID: metadata.labels?.[labelNames.asyncOperationId] ?? '',
      // Velero writes these keys, and nothing into them.
      size: 0,
      Phase: '',
    },
  }
}
