import path from 'node:path'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'

/** What a cluster with the test CSI driver has. */
export interface CsiAccess {
  /** The name of the driver. */
  readonly driver: string
  /** Where the driver answers. */
  readonly socket: string
  /** Where the driver keeps volumes and snapshots, and reads which faults it is to have. */
  readonly stateFolder: string
  /** Gives a volume at once. */
  readonly storageClass: string
  /** Gives a volume when a pod wants it. */
  readonly waitingStorageClass: string
  readonly snapshotClass: string
  readonly groupSnapshotClass: string
}

const driver = 'csi.lateen.dev'

/** Where the driver answers, as the node sees it. */
export const socketInNode = `/var/lib/kubelet/plugins/${driver}/csi.sock`

/** Where the kubelet looks for drivers. */
export const registrationSocket = `/var/lib/kubelet/plugins_registry/${driver}-reg.sock`

export function csiAccessOf(plan: Pick<ClusterPlan, 'folder'>): CsiAccess {
  const files = filesOf(plan)
  return {
    driver,
    socket: path.join(files.data('kubelet'), path.relative('/var/lib/kubelet', socketInNode)),
    stateFolder: files.data('csi'),
    storageClass: 'csi',
    waitingStorageClass: 'csi-waiting',
    snapshotClass: 'csi-snapshots',
    groupSnapshotClass: 'csi-groups',
  }
}
