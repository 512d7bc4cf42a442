import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import type { VolumeSnapshotter } from '@lateen/plugin'
import { newOperation } from '../../operations/backup-operation.ts'
import type { Snapshotters } from '../../volumes/snapshotters.ts'
import { discardSnapshots } from './discard-snapshots.ts'

const backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly' },
  spec: {},
} as const
const item = { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv' }
const log = silentLogger

const snapshot = (operationId: string, volumeSnapshotLocation?: string) =>
  newOperation({ ...{ backup, item, now: 0 }, ...{ action: 'x', operationId, volumeSnapshotLocation } })

/** Snapshotters of locations; that of `lost` cannot be opened. */
function given(deleteSnapshot: (id: string, signal: AbortSignal) => Promise<void>): Snapshotters {
  const snapshotter = {
    deleteSnapshot: ({ snapshotId, signal }: { snapshotId: string; signal: AbortSignal }) =>
      deleteSnapshot(snapshotId, signal),
  } as unknown as VolumeSnapshotter
  return {
    of: async () => snapshotter,
    named: async location => {
      if (location === 'lost') throw new Error('the location is not there')
      return snapshotter
    },
  }
}

const ids = (left: Awaited<ReturnType<typeof discardSnapshots>>) => left.map(({ spec }) => spec.operationID)

describe('deleting the snapshots of a backup that failed', () => {
  it('names those that are still there, and deletes all others', async () => {
    const deleted: string[] = []
    const snapshotters = given(async id => {
      if (id === 'fails') throw new Error('the array is on fire')
      deleted.push(id)
    })
    const all = [
      snapshot('no-snapshot'),
      snapshot('a', 'lost'),
      snapshot('fails', 'ebs'),
      snapshot('b', 'ebs'),
    ]
    const { signal } = new AbortController()
    assert.deepEqual(
      new Set(ids(await discardSnapshots(all, { snapshotters, log, signal }))),
      new Set(['a', 'fails']),
    )
    assert.deepEqual(deleted, ['b'])
  })

  it('does not leave the others to the first that hangs, and says that none was deleted when there was no time', async () => {
    const deleted: string[] = []
    const hanging = given(async (id, signal) => {
      if (id === 'hangs') await new Promise((_, reject) => signal.addEventListener('abort', reject))
      deleted.push(id)
    })
    const all = [snapshot('hangs', 'ebs'), snapshot('a', 'ebs'), snapshot('b', 'ebs')]
    const soon = AbortSignal.timeout(20)
    assert.deepEqual(ids(await discardSnapshots(all, { snapshotters: hanging, log, signal: soon })), [
      'hangs',
    ])
    assert.deepEqual(deleted, ['a', 'b'])
    const over = AbortSignal.abort()
    assert.equal((await discardSnapshots(all, { snapshotters: hanging, log, signal: over })).length, 3)
  })
})
