import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { discardWithinMs, stopWithinMs } from '../backup/run-operations.ts'
import { LAST_WORDS_MS as backupMs } from '../controllers/backup.ts'
import { LAST_WORDS_MS as restoreMs } from '../controllers/restore.ts'
import { hostLimits } from '../plugin-host/host-limits.ts'
import { STOP_OPERATIONS_MS } from '../restore/perform-restore.ts'
import { stopTimes } from './stop-times.ts'

describe('The times of a server that is told to stop', () => {
  const { graceMs, programsMs, lastWordsMs } = stopTimes

  it('leave plugins alone until operations have been stopped through them', () => {
    const ofBackupsMs = stopWithinMs.stopping + discardWithinMs.stopping
    assert.ok(graceMs + Math.max(ofBackupsMs, STOP_OPERATIONS_MS) < programsMs)
  })

  it('let backups and restores tell how they ended although a program did not end when it was asked to', () => {
    // A program that is killed has so long to be gone, and its output to end.
    const sessionsMs = programsMs + 2 * hostLimits.lastWordsMs
    assert.ok(sessionsMs + Math.max(backupMs, restoreMs) < graceMs + lastWordsMs)
  })

  it('fit, with what comes after the work, into those of a pod', () => {
    const [leaseMs, connectionsMs] = [5_000, 5_000]
    assert.ok(graceMs + lastWordsMs + leaseMs + connectionsMs < 30_000)
  })
})
