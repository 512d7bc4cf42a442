import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupStatus } from '@lateen/api'
import { newOperation } from '../operations/backup-operation.ts'
import { type BackupRound, pauseAfter, statusAfterRound } from './backup-operations.ts'

function waiting(status: BackupStatus): Backup {
  const metadata = { name: 'nightly', namespace: 'velero' }
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {}, status }
}

const whole = 'WaitingForPluginOperations'
const partly = 'WaitingForPluginOperationsPartiallyFailed'

function round(completed: number, failed: number, unfinished: number): BackupRound {
  const item = { group: '', resource: 'pods', namespace: 'shop', name: 'web' }
  const backup = waiting({})
  const operations = Array.from({ length: completed + failed + unfinished }, (_, at) =>
    newOperation({ backup, action: 'x', item, operationId: `${at}`, now: 0 }),
  )
  return { operations, completed, failed, unfinished }
}

describe('a backup that waits for its operations', () => {
  it('goes on waiting, and counts those that have ended', () => {
    assert.deepEqual(statusAfterRound(waiting({ phase: whole }), round(1, 0, 2)), {
      phase: whole,
      backupItemOperationsAttempted: 3,
      backupItemOperationsCompleted: 1,
    })
  })

  it('has partly failed with the first failure, while the others go on', () => {
    assert.deepEqual(statusAfterRound(waiting({ phase: whole, errors: 2 }), round(0, 1, 2)), {
      phase: partly,
      errors: 3,
      backupItemOperationsAttempted: 3,
      backupItemOperationsFailed: 1,
    })
  })

  it('counts a failure once, and keeps in mind that something failed before', () => {
    const status = { phase: partly, errors: 3, backupItemOperationsFailed: 1 } as const
    const after = statusAfterRound(waiting(status), round(1, 1, 1))
    assert.deepEqual([after.phase, after.errors], [partly, 3])
  })

  it('is finalized when all have ended', () => {
    assert.equal(statusAfterRound(waiting({ phase: whole }), round(2, 0, 0)).phase, 'Finalizing')
    assert.equal(
      statusAfterRound(waiting({ phase: whole }), round(2, 1, 0)).phase,
      'FinalizingPartiallyFailed',
    )
    const failedBefore = waiting({ phase: partly, errors: 1 })
    assert.equal(statusAfterRound(failedBefore, round(2, 0, 0)).phase, 'FinalizingPartiallyFailed')
  })
})

describe('the pause between questions about operations', () => {
  it('grows with the time that was waited, up to what the server is told', () => {
    assert.deepEqual(
      [0, 1_000, 2_500, 9_999, 60_000].map(waited => pauseAfter(waited, 10_000)),
      [1_000, 1_000, 2_500, 9_999, 10_000],
    )
    assert.equal(pauseAfter(60_000, 500), 500)
    assert.equal(pauseAfter(0, 500), 500)
  })
})
