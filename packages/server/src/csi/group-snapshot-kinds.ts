import type { KubeObject, ResourceType } from '@lateen/kube'
import { type DeletionPolicy, groupSnapshotGroup, type SnapshotFault } from './snapshot-kinds.ts'

export interface VolumeGroupSnapshot extends KubeObject {
  spec: {
    source: {
      selector?: { matchLabels?: Record<string, string> }
      volumeGroupSnapshotContentName?: string
    }
    volumeGroupSnapshotClassName?: string
  }
  status?: {
    boundVolumeGroupSnapshotContentName?: string
    readyToUse?: boolean
    error?: SnapshotFault
  }
}

export interface VolumeGroupSnapshotContent extends KubeObject {
  spec: {
    deletionPolicy: DeletionPolicy
    driver: string
    source: {
      volumeHandles?: string[]
      groupSnapshotHandles?: { volumeGroupSnapshotHandle: string; volumeSnapshotHandles: string[] }
    }
    volumeGroupSnapshotClassName?: string
    volumeGroupSnapshotRef: {
      apiVersion?: string
      kind?: string
      namespace?: string
      name?: string
      uid?: string
    }
  }
  status?: {
    volumeGroupSnapshotHandle?: string
    readyToUse?: boolean
    volumeSnapshotInfoList?: { volumeHandle?: string; snapshotHandle?: string }[]
    error?: SnapshotFault
  }
}

export interface VolumeGroupSnapshotClass extends KubeObject {
  driver: string
  deletionPolicy: DeletionPolicy
  parameters?: Record<string, string>
}

const place = { group: groupSnapshotGroup, version: 'v1beta2' }

export const VolumeGroupSnapshotKind: ResourceType<VolumeGroupSnapshot> = {
  ...{ ...place, kind: 'VolumeGroupSnapshot' },
  ...{ plural: 'volumegroupsnapshots', namespaced: true },
}

export const VolumeGroupSnapshotContentKind: ResourceType<VolumeGroupSnapshotContent> = {
  ...{ ...place, kind: 'VolumeGroupSnapshotContent' },
  ...{ plural: 'volumegroupsnapshotcontents', namespaced: false },
}

export const VolumeGroupSnapshotClassKind: ResourceType<VolumeGroupSnapshotClass> = {
  ...{ ...place, kind: 'VolumeGroupSnapshotClass' },
  ...{ plural: 'volumegroupsnapshotclasses', namespaced: false },
}
