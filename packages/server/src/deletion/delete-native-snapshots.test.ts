import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupOperation } from '../operations/backup-operation.ts'
import type { NativeSnapshot } from '../volumes/volume-backup.ts'
import { withOperations } from './delete-native-snapshots.ts'

function listed(location: string, id: string): NativeSnapshot {
  return {
    spec: {
      backupName: 'b',
      backupUID: 'u',
      location,
      persistentVolumeName: 'pv',
      providerVolumeID: 'v',
      volumeType: 'ssd',
    },
    status: { phase: 'Completed', providerSnapshotID: id },
  }
}

function operation(id: string, volumeSnapshotLocation?: string): BackupOperation {
  return {
    spec: {
      backupName: 'b',
      backupUID: 'u',
      backupItemAction: 'example.com/any',
      ...(volumeSnapshotLocation !== undefined && { volumeSnapshotLocation }),
      resourceIdentifier: { Group: '', Resource: 'persistentvolumes', Namespace: '', Name: 'pv-2' },
      operationID: id,
      postOperationItems: null,
    },
    status: { phase: 'InProgress' },
  }
}

describe('the snapshots of a deleted backup', () => {
  it('are those of its list and those that only its operations know of, each once', () => {
    const found = withOperations(
      [listed('east', 's1')],
      [operation('s1', 'east'), operation('s1', 'west'), operation('s2', 'east'), operation('copy')],
    )
    assert.deepEqual(
      found.map(({ spec, status }) => `${spec.location} ${status.providerSnapshotID}`),
      ['east s1', 'west s1', 'east s2'],
    )
  })
})
