import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { nativeSnapshotInfo } from './native-snapshot-info.ts'
import { settleSnapshots, snapshotCounts } from './settle-snapshots.ts'
import type { NativeSnapshot } from './volume-backup.ts'
import type { VolumeInfo } from './volume-info.ts'

function snapshot(name: string, location = 'here'): NativeSnapshot {
  return {
    spec: {
      backupName: 'b',
      backupUID: 'u',
      location,
      persistentVolumeName: name,
      providerVolumeID: `vol-${name}`,
      volumeType: 'ssd',
    },
    status: { providerSnapshotID: `snap-${name}`, phase: 'Completed' },
  }
}

function info(name: string): VolumeInfo {
  return { pvName: name, snapshotDataMoved: false, preserveLocalSnapshot: false, skipped: false }
}

function operation(
  operationID: string,
  phase: BackupOperation['status']['phase'],
  volumeSnapshotLocation?: string,
): BackupOperation {
  return {
    spec: {
      backupName: 'b',
      backupUID: 'u',
      backupItemAction: 'example.com/x',
      ...(volumeSnapshotLocation !== undefined && { volumeSnapshotLocation }),
      resourceIdentifier: { Group: '', Resource: 'persistentvolumes', Namespace: '', Name: '' },
      operationID,
      postOperationItems: null,
    },
    status: { phase },
  }
}

function filesOf(...snapshots: NativeSnapshot[]) {
  const infos = snapshots.map(each => nativeSnapshotInfo(each, info(each.spec.persistentVolumeName)))
  return { volumeSnapshots: snapshots, volumeInfo: [...infos, { ...info('skipped'), skipped: true }] }
}

describe('the snapshots of a backup whose operations have ended', () => {
  it('are as they were when none has failed', () => {
    const files = filesOf(snapshot('a'), snapshot('b'))
    const operations = [operation('snap-a', 'Completed', 'here'), operation('snap-b', 'InProgress', 'here')]
    assert.equal(settleSnapshots(files, operations), files)
    assert.deepEqual(snapshotCounts(files.volumeSnapshots), {
      volumeSnapshotsAttempted: 2,
      volumeSnapshotsCompleted: 2,
    })
  })

  it('are failed in both files where theirs has failed, and keep their ids for whoever deletes them', () => {
    const files = filesOf(snapshot('a'), snapshot('b'))
    const settled = settleSnapshots(files, [
      operation('snap-a', 'Failed', 'here'),
      operation('snap-b', 'Completed', 'here'),
    ])
    assert.deepEqual(
      settled.volumeSnapshots.map(({ status }) => status),
      [
        { providerSnapshotID: 'snap-a', phase: 'Failed' },
        { providerSnapshotID: 'snap-b', phase: 'Completed' },
      ],
    )
    assert.deepEqual(
      settled.volumeInfo.map(({ pvName, result, nativeSnapshotInfo: native }) => [pvName, result, native]),
      [
        [
          'a',
          'failed',
          { snapshotHandle: 'snap-a', volumeType: 'ssd', volumeAZ: '', iops: '0', Phase: 'Failed' },
        ],
        [
          'b',
          'succeeded',
          { snapshotHandle: 'snap-b', volumeType: 'ssd', volumeAZ: '', iops: '0', Phase: 'Completed' },
        ],
        ['skipped', undefined, undefined],
      ],
    )
    assert.equal(settleSnapshots(settled, [operation('snap-a', 'Failed', 'here')]), settled)
    assert.equal(snapshotCounts(settled.volumeSnapshots)?.volumeSnapshotsCompleted, 1)
  })

  it('have nothing to do with operations of actions, nor with snapshots of the same id elsewhere', () => {
    const files = filesOf(snapshot('a'))
    const operations = [operation('snap-a', 'Failed'), operation('snap-a', 'Failed', 'elsewhere')]
    assert.equal(settleSnapshots(files, operations), files)
  })

  it('are not counted where there are none', () => assert.equal(snapshotCounts([]), undefined))
})
