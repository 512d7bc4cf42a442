import { formatTime, type Restore } from '@lateen/api'
import type { ResourceIdentifier } from '@lateen/plugin'
import type { StoredIdentifier } from './backup-operation.ts'
import type { OperationStatus } from './operation-status.ts'

/** Long work that a restore action began for an object: an entry of `restore-<name>-itemoperations.json.gz`. */
export interface RestoreOperation {
  spec: {
    restoreName: string
    restoreUID: string
    restoreItemAction: string
    resourceIdentifier: StoredIdentifier
    operationID: string
  }
  status: OperationStatus
}

export interface BegunRestoreOperation {
  restore: Restore
  /** The name the action is registered with. */
  action: string
  /** The object, in the namespace it is restored to. */
  item: ResourceIdentifier
  operationId: string
  /** Milliseconds since 1970. */
  now: number
}

/** The record of an operation that has just begun. */
export function newRestoreOperation(begun: BegunRestoreOperation): RestoreOperation {
  const { restore, action, item, operationId, now } = begun
  return {
    spec: {
      restoreName: restore.metadata.name ?? '',
      restoreUID: restore.metadata.uid ?? '',
      restoreItemAction: action,
      resourceIdentifier: {
        Group: item.group,
        Resource: item.resource,
        Namespace: item.namespace,
        Name: item.name,
      },
      operationID: operationId,
    },
    status: { phase: 'New', created: formatTime(now) },
  }
}
