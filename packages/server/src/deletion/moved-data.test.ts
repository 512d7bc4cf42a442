import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, DataUpload } from '@lateen/api'
import { movedSnapshots } from './moved-data.ts'

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly', uid: 'u' },
  spec: { storageLocation: 'here' },
}

function upload(more: {
  id?: string
  namespace?: string
  of?: string
  datamover?: string
  location?: string
}): DataUpload {
  const { id, namespace = 'shop', of = 'nightly', datamover, location = 'here' } = more
  return {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name: 'du', labels: { 'velero.io/backup-name': of } },
    spec: {
      snapshotType: 'CSI',
      sourcePVC: 'data',
      sourceNamespace: namespace,
      backupStorageLocation: location,
      operationTimeout: '10m0s',
      ...(datamover !== undefined && { datamover }),
    },
    status: { phase: 'Completed', ...(id !== undefined && { snapshotID: id }) },
  }
}

describe('the snapshots that a backup has moved to repositories', () => {
  it('are those of its own uploads, each once, by namespace', () => {
    const found = movedSnapshots(
      [
        upload({ id: 'one' }),
        upload({ id: 'one' }),
        upload({ id: 'two', datamover: 'velero' }),
        upload({ id: 'three', namespace: 'bank' }),
        upload({}),
        upload({ id: 'theirs', datamover: 'acme' }),
        upload({ id: 'another', of: 'weekly' }),
      ],
      backup,
    )
    const key = (volumeNamespace: string) => ({
      volumeNamespace,
      backupStorageLocation: 'here',
      repositoryType: 'kopia',
    })
    assert.deepEqual(found, [
      { key: key('shop'), snapshotIds: ['one', 'two'] },
      { key: key('bank'), snapshotIds: ['three'] },
    ])
  })

  it('are in the location that this cluster knows the bucket by', () => {
    const [found] = movedSnapshots([upload({ id: 'one', location: 'elsewhere' })], backup)
    assert.equal(found?.key.backupStorageLocation, 'here')
  })
})
