import type { KubeClient } from '@lateen/kube'
import type { Registered, RestoreItemAction } from '@lateen/plugin'
import type { DataDownloads } from '../../csi/data-moves.ts'
import { restorableClasses } from '../../csi/restorable-class.ts'
import { claimRestoreAction } from './claim-restore-action.ts'
import { classRestoreAction } from './class-restore-action.ts'
import { contentRestoreAction } from './content-restore-action.ts'
import { snapshotRestoreAction } from './snapshot-restore-action.ts'

export interface CsiRestoreActionOptions {
  client: KubeClient
  downloads?: DataDownloads | undefined
  /** False for a plan, which changes nothing. */
  writes?: boolean
}

/** The actions that restore volumes through CSI, under Velero's names. Made anew for each restore. */
export function csiRestoreActions({
  client,
  downloads,
  writes = true,
}: CsiRestoreActionOptions): Registered<RestoreItemAction>[] {
  const classes = restorableClasses(client)
  const snapshots = snapshotRestoreAction({ classes, client, writes })
  return [
    { name: 'velero.io/csi-pvc-restorer', action: claimRestoreAction({ client, downloads }) },
    { name: 'velero.io/csi-volumesnapshot-restorer', action: snapshots },
    { name: 'velero.io/csi-volumesnapshotclass-restorer', action: classRestoreAction },
    { name: 'velero.io/csi-volumesnapshotcontent-restorer', action: contentRestoreAction(classes) },
  ]
}
