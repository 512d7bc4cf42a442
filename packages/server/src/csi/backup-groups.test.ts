import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isGroupOf } from './backup-groups.ts'
import { groupSnapshotName } from './claim-group.ts'
import type { VolumeGroupSnapshot } from './group-snapshot-kinds.ts'

it('a group snapshot is of the backup that gave its name, and not of the one whose label somebody copied', () => {
  const group = { namespace: 'shop', label: 'tier', value: 'orders' }
  const named = (name: string, uid = 'b'): VolumeGroupSnapshot => ({
    apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
    kind: 'VolumeGroupSnapshot',
    metadata: { name, namespace: 'shop', labels: { 'velero.io/backup-uid': uid } },
    spec: { source: { selector: { matchLabels: { tier: 'orders' } } } },
  })
  assert.equal(isGroupOf(named(groupSnapshotName('b', group)), 'b'), true)
  assert.equal(isGroupOf(named('copied'), 'b'), false)
  assert.equal(isGroupOf(named(groupSnapshotName('b', group), 'c'), 'c'), false)
  assert.equal(isGroupOf(named(groupSnapshotName('', group), ''), ''), false)
})
