import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DataUpload, formatTime } from '@lateen/api'
import { systemClock } from '@lateen/kube'
import type { Pod } from '../data-path/mover-state.ts'
import { takenByAnyNode } from './any-node.ts'

const minute = 60_000
const accepted = 1_000_000

function upload(status: NonNullable<DataUpload['status']>): DataUpload {
  return {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name: 'x' },
    spec: {
      ...{ snapshotType: 'CSI', sourcePVC: 'data', sourceNamespace: 'shop' },
      ...{ backupStorageLocation: 'default', operationTimeout: '10m0s' },
    },
    status,
  }
}

const podOn = (nodeName: string): Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
  spec: { nodeName },
})

describe('work that any node can take', () => {
  const at = (now: number) =>
    takenByAnyNode<DataUpload>({
      ...{ node: 'one', os: 'linux', prepareTimeoutMs: 30 * minute },
      clock: { ...systemClock, now: () => now },
    })
  const { isOurs, isHere } = at(accepted + minute)

  it("is everybody's as long as nobody has it", () => {
    assert.equal(isOurs(upload({}), undefined), true)
    assert.equal(isOurs(upload({ phase: 'New' }), undefined), true)
  })

  it('is prepared by who accepted it, and prepared where its mover is', () => {
    const acceptedTimestamp = formatTime(accepted)
    const ours = upload({ phase: 'Accepted', acceptedByNode: 'one', acceptedTimestamp })
    const others = upload({ phase: 'Accepted', acceptedByNode: 'two', acceptedTimestamp })
    assert.equal(isOurs(ours, undefined), true)
    assert.equal(isOurs(others, undefined), false)
    assert.equal(isOurs(others, podOn('one')), true)
    assert.equal(isHere(podOn('one')), true)
    assert.equal(isHere(podOn('two')), false)
  })

  it('is ended by anybody when who accepted it did not in time', () => {
    const acceptedTimestamp = formatTime(accepted)
    const others = upload({ phase: 'Accepted', acceptedByNode: 'two', acceptedTimestamp })
    assert.equal(at(accepted + 30 * minute).isOurs(others, undefined), false)
    assert.equal(at(accepted + 32 * minute).isOurs(others, undefined), true)
  })

  it('is moved and cleaned up on the node of its mover', () => {
    for (const phase of ['Prepared', 'InProgress', 'Canceling', 'Completed', 'Failed', 'Canceled'] as const) {
      assert.equal(isOurs(upload({ phase, acceptedByNode: 'two', node: 'one' }), undefined), true, phase)
      assert.equal(isOurs(upload({ phase, acceptedByNode: 'one', node: 'two' }), undefined), false, phase)
    }
  })

  it('is cleaned up by who accepted it before it had a node, and by anybody else', () => {
    assert.equal(isOurs(upload({ phase: 'Canceled', acceptedByNode: 'one' }), undefined), true)
    assert.equal(isOurs(upload({ phase: 'Canceled', acceptedByNode: 'two' }), undefined), false)
    assert.equal(isOurs(upload({ phase: 'Canceled' }), undefined), true)
  })
})
