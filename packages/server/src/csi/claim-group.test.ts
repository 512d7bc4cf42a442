import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupOfClaim, groupSnapshotName } from './claim-group.ts'

const backup = (volumeGroupSnapshotLabelKey?: string) => ({
  spec: volumeGroupSnapshotLabelKey === undefined ? {} : { volumeGroupSnapshotLabelKey },
})
const claim = (labels?: Record<string, string>) => ({
  metadata: { name: 'data', namespace: 'shop', ...(labels && { labels }) },
})

describe('the group of a claim', () => {
  it('is that of the label which the backup names', () => {
    assert.deepEqual(groupOfClaim(backup('app/group'), claim({ 'app/group': 'db', other: 'x' })), {
      namespace: 'shop',
      label: 'app/group',
      value: 'db',
    })
  })

  it('is none without the label, with an empty one, and when the backup names no label', () => {
    assert.equal(groupOfClaim(backup('app/group'), claim({ other: 'x' })), undefined)
    assert.equal(groupOfClaim(backup('app/group'), claim({ 'app/group': '' })), undefined)
    assert.equal(groupOfClaim(backup('app/group'), claim()), undefined)
    assert.equal(groupOfClaim(backup(), claim({ '': 'x' })), undefined)
  })
})

describe('the name of a group snapshot', () => {
  const group = { namespace: 'shop', label: 'app/group', value: 'db' }

  it('is the same for the same group of the same backup, and else another', () => {
    const names = [
      groupSnapshotName('u1', group),
      groupSnapshotName('u2', group),
      groupSnapshotName('u1', { ...group, namespace: 'other' }),
      groupSnapshotName('u1', { ...group, label: 'other' }),
      groupSnapshotName('u1', { ...group, value: 'other' }),
    ]
    assert.equal(new Set(names).size, names.length)
    assert.equal(groupSnapshotName('u1', { ...group }), names[0])
  })

  it('is a name, and the value of a label, whatever the value of the label is', () => {
    for (const value of ['db', 'A_b.C', '_', 'x'.repeat(63), 'a.-_b', '9']) {
      const name = groupSnapshotName('0b5d4f0e-6a1c-4c50-8a7b-1f3b5f0c9d2e', { ...group, value })
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
      assert.ok(name.length <= 63, name)
    }
  })
})
