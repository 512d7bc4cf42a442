import { type Backup, formatTime } from '@lateen/api'
import type { ResourceIdentifier } from '@lateen/plugin'
import type { OperationStatus } from './operation-status.ts'

/** A ResourceIdentifier as the bucket has it: Velero writes these keys with capitals. */
export interface StoredIdentifier {
  Group: string
  Resource: string
  Namespace: string
  Name: string
}

/** Long work that an action began for an object: an entry of `-itemoperations.json.gz`. */
export interface BackupOperation {
  spec: {
    backupName: string
    backupUID: string
    /** The name that the action, or the snapshotter, is registered with. */
    backupItemAction: string
    /** Set for a native snapshot: the location whose snapshotter took it. Velero passes over this key. */
    volumeSnapshotLocation?: string
    resourceIdentifier: StoredIdentifier
    operationID: string
    postOperationItems: StoredIdentifier[] | null
  }
  status: OperationStatus
}

export interface BegunOperation {
  backup: Backup
  /** The name the action is registered with. */
  action: string
  item: ResourceIdentifier
  operationId: string
  postOperationItems?: readonly ResourceIdentifier[] | undefined
  /** Of a native snapshot. */
  volumeSnapshotLocation?: string | undefined
  /** Milliseconds since 1970. */
  now: number
}

/** The record of an operation that has just begun. */
export function newOperation(begun: BegunOperation): BackupOperation {
  const { backup, action, item, operationId, postOperationItems = [], volumeSnapshotLocation, now } = begun
  return {
    spec: {
      backupName: backup.metadata.name ?? '',
      backupUID: backup.metadata.uid ?? '',
      backupItemAction: action,
      ...(volumeSnapshotLocation !== undefined && { volumeSnapshotLocation }),
      resourceIdentifier: stored(item),
      operationID: operationId,
      postOperationItems: postOperationItems.length === 0 ? null : postOperationItems.map(stored),
    },
    status: { phase: 'New', created: formatTime(now) },
  }
}

function stored({ group, resource, namespace, name }: ResourceIdentifier): StoredIdentifier {
  return { Group: group, Resource: resource, Namespace: namespace, Name: name }
}
