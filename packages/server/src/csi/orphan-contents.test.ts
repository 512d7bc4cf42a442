import assert from 'node:assert/strict'
import { it } from 'node:test'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { mayBeShortened, takerOf } from './orphan-contents.ts'
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

it('a content of a claim with a long name, of which the snapshot has only a part, is known by the whole name', () => {
  const uids = ['u-1', 'u-2']
  for (const claim of ['data-of-the-order-database-replica-number-0', `${'a'.repeat(36)}---b`]) {
    const content = contentOf('shop', claimSnapshotName({ backupUid: 'u-2', namespace: 'shop', claim }))
    assert.equal(takerOf(content, uids), undefined)
    assert.equal(mayBeShortened(content), true)
    assert.equal(takerOf(content, uids, claim), 'u-2')
    assert.equal(takerOf(content, uids, `${claim}1`), undefined)
  }
  const short = contentOf('shop', claimSnapshotName({ backupUid: 'u-3', namespace: 'shop', claim: 'data' }))
  assert.equal(mayBeShortened(short), false)
})
