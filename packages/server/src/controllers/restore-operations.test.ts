import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore, RestoreStatus } from '@lateen/api'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import { isWaiting, statusAfterAsking } from './restore-operations.ts'

function restoreWith(status: RestoreStatus, deletionTimestamp?: string): Restore {
  const metadata = deletionTimestamp === undefined ? {} : { deletionTimestamp }
  return { apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec: { backupName: 'b' }, status }
}

function settled(counts: { completed: number; failed: number; unfinished: number }) {
  const count = counts.completed + counts.failed + counts.unfinished
  return { ...counts, operations: Array.from({ length: count }, () => ({}) as RestoreOperation) }
}

const going = { isCancelled: false }

describe('A restore that waits for operations', () => {
  it('is in one of two phases, and not being deleted', () => {
    assert.equal(isWaiting(restoreWith({ phase: 'WaitingForPluginOperations' })), true)
    assert.equal(isWaiting(restoreWith({ phase: 'WaitingForPluginOperationsPartiallyFailed' })), true)
    assert.equal(isWaiting(restoreWith({ phase: 'Finalizing' })), false)
    assert.equal(
      isWaiting(restoreWith({ phase: 'WaitingForPluginOperations' }, '2026-01-01T00:00:00Z')),
      false,
    )
  })

  it('waits on with the counts of those that have ended', () => {
    const restore = restoreWith({ phase: 'WaitingForPluginOperations' })
    assert.deepEqual(statusAfterAsking(restore, settled({ completed: 1, failed: 0, unfinished: 2 }), going), {
      phase: 'WaitingForPluginOperations',
      restoreItemOperationsAttempted: 3,
      restoreItemOperationsCompleted: 1,
    })
  })

  it('is partly failed with the first that fails, and stays so', () => {
    const failed = statusAfterAsking(
      restoreWith({ phase: 'WaitingForPluginOperations', errors: 2 }),
      settled({ completed: 0, failed: 1, unfinished: 1 }),
      going,
    )
    assert.deepEqual(
      [failed.phase, failed.errors, failed.restoreItemOperationsFailed],
      ['WaitingForPluginOperationsPartiallyFailed', 3, 1],
    )
    const ended = statusAfterAsking(
      restoreWith(failed),
      settled({ completed: 1, failed: 1, unfinished: 0 }),
      going,
    )
    assert.deepEqual([ended.phase, ended.errors], ['FinalizingPartiallyFailed', 3])
  })

  it('is partly failed for failures of which another server stored the file, and said nothing', () => {
    const restore = restoreWith({ phase: 'WaitingForPluginOperations' })
    const status = statusAfterAsking(restore, settled({ completed: 0, failed: 2, unfinished: 0 }), going)
    assert.deepEqual([status.phase, status.errors], ['FinalizingPartiallyFailed', 2])
  })

  it('is finalized when all went well, unless it is cancelled', () => {
    const restore = restoreWith({ phase: 'WaitingForPluginOperations' })
    const all = settled({ completed: 2, failed: 0, unfinished: 0 })
    assert.equal(statusAfterAsking(restore, all, going).phase, 'Finalizing')
    assert.equal(statusAfterAsking(restore, all, { isCancelled: true }).phase, 'FinalizingPartiallyFailed')
  })
})
