import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSnapshotOf } from './backup-snapshots.ts'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import type { VolumeSnapshot } from './snapshot-kinds.ts'

const backupUid = '2a0321fd-d8ab-4d0d-b461-c926812cf908'
const owner = { backupUid, namespace: 'shop', claim: 'data' }

function snapshot(
  name: string,
  more: { namespace?: string; claim?: string; group?: string } = {},
): VolumeSnapshot {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: {
      name,
      namespace: more.namespace ?? 'shop',
      labels: { 'velero.io/backup-uid': backupUid, 'velero.io/backup-name': 'nightly' },
    },
    spec: { source: { persistentVolumeClaimName: more.claim ?? 'data' } },
    ...(more.group && { status: { volumeGroupSnapshotName: more.group } }),
  }
}

describe('the snapshots of a backup', () => {
  it('have the same name whenever it is asked for, and each claim of each backup another', () => {
    const name = claimSnapshotName(owner)
    assert.match(name, /^velero-data-[0-9a-f]{16}$/)
    assert.equal(claimSnapshotName({ ...owner }), name)
    const others = [{ namespace: 'shop2' }, { claim: 'data2' }, { backupUid: 'another' }]
    const names = others.map(other => claimSnapshotName({ ...owner, ...other }))
    assert.equal(new Set([name, ...names]).size, 4)
  })

  it('have names that are values of labels and names of objects, however long the name of the claim', () => {
    for (const claim of [
      'a',
      'a'.repeat(253),
      `${'a'.repeat(38)}-.-${'b'.repeat(60)}`,
      `${'a'.repeat(39)}.b.c.d`,
    ]) {
      const name = claimSnapshotName({ ...owner, claim })
      assert.ok(name.length <= 63, name)
      assert.match(name, /^[a-z0-9]+([-.]?[a-z0-9]+)*$/)
    }
  })

  it('are known by label and name, and not by a label that somebody has copied', () => {
    const name = claimSnapshotName(owner)
    assert.equal(isSnapshotOf(snapshot(name), backupUid), true)
    assert.equal(isSnapshotOf(snapshot('copy'), backupUid), false)
    assert.equal(isSnapshotOf(snapshot(name, { claim: 'other' }), backupUid), false)
    assert.equal(isSnapshotOf(snapshot(name, { namespace: 'other' }), backupUid), false)
    assert.equal(isSnapshotOf(snapshot(name), 'another'), false)
    assert.equal(isSnapshotOf(snapshot(name), ''), false)
  })

  it('may be members of a group, whose names the snapshot controller gives', () => {
    assert.equal(isSnapshotOf(snapshot('snapshot-1', { group: 'velero-shop' }), backupUid), true)
  })
})
