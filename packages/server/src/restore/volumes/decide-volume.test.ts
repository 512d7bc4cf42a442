import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import { decideVolume, type VolumeFacts } from './decide-volume.ts'

const snapshot: NativeSnapshot = {
  spec: {
    backupName: 'b',
    backupUID: 'u',
    location: 'default',
    persistentVolumeName: 'pv-1',
    providerVolumeID: 'vol-1',
    volumeType: 'ssd',
  },
  status: { phase: 'Completed', providerSnapshotID: 'snap-1' },
}

function facts(changes: Partial<VolumeFacts>): VolumeFacts {
  return {
    reclaimPolicy: 'Delete',
    info: undefined,
    snapshot: undefined,
    podVolumeBackup: false,
    csiSnapshot: false,
    ...changes,
  }
}

function infoOf(backupMethod?: VolumeInfo['backupMethod']): VolumeInfo {
  const base = { pvName: 'pv-1', snapshotDataMoved: false, preserveLocalSnapshot: false }
  return { ...base, skipped: backupMethod === undefined, ...(backupMethod && { backupMethod }) }
}

describe('A volume of a backup', () => {
  const rows: [name: string, changes: Partial<VolumeFacts>, step: ReturnType<typeof decideVolume>][] = [
    ['with a native snapshot is made from it', { info: infoOf('NativeSnapshot') }, { step: 'from snapshot' }],
    [
      'with a file system backup is provisioned anew',
      { info: infoOf('PodVolumeBackup') },
      { step: 'provision', data: 'pod volume backup' },
    ],
    [
      'with a CSI snapshot is provisioned anew',
      { info: infoOf('CSISnapshot') },
      { step: 'provision', data: 'CSI snapshot' },
    ],
    [
      'without data, of which the storage was deleted, is provisioned anew and empty',
      { info: infoOf() },
      { step: 'provision', data: 'none' },
    ],
    [
      'without data, but retained, is what it was',
      { info: infoOf(), reclaimPolicy: 'Retain' },
      { step: 'as it was' },
    ],
    [
      'is what its volume info says, whatever other files say',
      { info: infoOf(), snapshot, podVolumeBackup: true, csiSnapshot: true },
      { step: 'provision', data: 'none' },
    ],
    [
      'without volume info is looked for among snapshots first',
      { snapshot, podVolumeBackup: true, csiSnapshot: true },
      { step: 'from snapshot' },
    ],
    [
      'without volume info is looked for among file system backups next',
      { podVolumeBackup: true, csiSnapshot: true },
      { step: 'provision', data: 'pod volume backup' },
    ],
    [
      'without volume info is looked for among CSI snapshots last',
      { csiSnapshot: true, reclaimPolicy: 'Retain' },
      { step: 'provision', data: 'CSI snapshot' },
    ],
    [
      'of which nothing is known is what it was, if it was retained',
      { reclaimPolicy: 'Retain' },
      { step: 'as it was' },
    ],
  ]
  for (const [name, changes, step] of rows)
    it(name, () => assert.deepEqual(decideVolume(facts(changes)), step))
})
