import type { KubeObject, ResourceType } from '@lateen/kube'

/** The group of the kinds that snapshots are taken by. */
export const snapshotGroup = 'snapshot.storage.k8s.io'
export const groupSnapshotGroup = 'groupsnapshot.storage.k8s.io'

export type DeletionPolicy = 'Delete' | 'Retain'

/** What a driver could not do, as it tells. */
export interface SnapshotFault {
  time?: string
  message?: string
}

export interface VolumeSnapshot extends KubeObject {
  spec: {
    source: { persistentVolumeClaimName?: string; volumeSnapshotContentName?: string }
    volumeSnapshotClassName?: string
  }
  status?: {
    boundVolumeSnapshotContentName?: string
    creationTime?: string
    readyToUse?: boolean
    restoreSize?: string
    error?: SnapshotFault
    volumeGroupSnapshotName?: string
  }
}

export interface VolumeSnapshotContent extends KubeObject {
  spec: {
    deletionPolicy: DeletionPolicy
    driver: string
    source: { volumeHandle?: string; snapshotHandle?: string }
    sourceVolumeMode?: string
    volumeSnapshotClassName?: string
    volumeSnapshotRef: {
      apiVersion?: string
      kind?: string
      namespace?: string
      name?: string
      uid?: string
      resourceVersion?: string
    }
  }
  status?: {
    snapshotHandle?: string
    /** Nanoseconds since the epoch. */
    creationTime?: number
    readyToUse?: boolean
    /** In bytes. */
    restoreSize?: number
    error?: SnapshotFault
    volumeGroupSnapshotHandle?: string
  }
}

export interface VolumeSnapshotClass extends KubeObject {
  driver: string
  deletionPolicy: DeletionPolicy
  parameters?: Record<string, string>
}

export const VolumeSnapshotKind: ResourceType<VolumeSnapshot> = {
  ...{ group: snapshotGroup, version: 'v1', kind: 'VolumeSnapshot' },
  ...{ plural: 'volumesnapshots', namespaced: true },
}

export const VolumeSnapshotContentKind: ResourceType<VolumeSnapshotContent> = {
  ...{ group: snapshotGroup, version: 'v1', kind: 'VolumeSnapshotContent' },
  ...{ plural: 'volumesnapshotcontents', namespaced: false },
}

export const VolumeSnapshotClassKind: ResourceType<VolumeSnapshotClass> = {
  ...{ group: snapshotGroup, version: 'v1', kind: 'VolumeSnapshotClass' },
  ...{ plural: 'volumesnapshotclasses', namespaced: false },
}
