import assert from 'node:assert/strict'
import { it } from 'node:test'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { takerOf } from './orphan-contents.ts'
import type { VolumeSnapshotContent } from './snapshot-kinds.ts'

function contentOf(namespace: string, name: string): VolumeSnapshotContent {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'snapcontent-1' },
    spec: {
      ...{ deletionPolicy: 'Retain', driver: 'disk.example', source: {} },
      volumeSnapshotRef: { namespace, name },
    },
  }
}

it('a content without snapshot is known by the name that the snapshot had, and taken for no other', () => {
  const name = claimSnapshotName({ backupUid: 'u-2', namespace: 'shop', claim: 'data-0' })
  const uids = ['u-1', 'u-2', 'u-3']
  assert.equal(takerOf(contentOf('shop', name), uids), 'u-2')
  assert.equal(takerOf(contentOf('other', name), uids), undefined)
  assert.equal(takerOf(contentOf('shop', name), ['u-1']), undefined)
  assert.equal(takerOf(contentOf('shop', 'velero-data-0-x7k2p'), uids), undefined)
  assert.equal(takerOf(contentOf('shop', 'nightly'), uids), undefined)
})
