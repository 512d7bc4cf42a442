import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newOperation } from '../operations/backup-operation.ts'
import { LeftBehindError } from './left-behind.ts'

const backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly' },
  spec: {},
} as const
const item = { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv' }
const snapshots = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    newOperation({
      ...{ backup, item, now: 0 },
      ...{ action: 'x', operationId: `snap-${at}`, volumeSnapshotLocation: 'ebs' },
    }),
  )

describe('what is left of a backup that failed', () => {
  it('is named, so that somebody can look after it', () => {
    const { message } = new LeftBehindError({ unheard: 3, snapshots: snapshots(1) })
    assert.match(message, /^3 operations could not be told to stop/)
    assert.match(message, /snapshots could not be deleted: snap-0 of the location ebs$/)
  })

  it('is named in part where it is a lot', () => {
    const { message } = new LeftBehindError({ unheard: 0, snapshots: snapshots(1_000) })
    assert.doesNotMatch(message, /told to stop/)
    assert.match(message, /snap-9 of the location ebs, 990 more$/)
  })
})
