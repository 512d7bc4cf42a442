import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase, BackupStatus } from '@lateen/api'
import { countsOfBackup } from './backup-counts.ts'

const inPhase = (phase: BackupPhase | undefined, status: BackupStatus = {}): Backup => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'one' },
  spec: {},
  status: { ...(phase && { phase }), ...status },
})

/** What a backup adds to metrics that goes through these phases, `undefined` for one that nobody has looked at. */
function countsAlong(...phases: (BackupPhase | undefined)[]) {
  const startTimestamp = '2026-01-01T00:00:00Z'
  const states = phases.map(phase =>
    inPhase(phase, phase === undefined || phase === 'New' || phase === 'Queued' ? {} : { startTimestamp }),
  )
  const counts = states.slice(1).map((now, index) => countsOfBackup(states[index] ?? now, now))
  return {
    attempts: counts.filter(({ attempt }) => attempt).length,
    written: counts.filter(({ written }) => written).length,
    results: counts.flatMap(({ result }) => result ?? []),
  }
}

describe('countsOfBackup', () => {
  it('counts a backup once, however many phases it goes through', () => {
    const once = { attempts: 1, written: 1, results: ['success'] }
    assert.deepEqual(
      countsAlong(
        ...([undefined, 'New', 'Queued', 'ReadyToStart', 'InProgress', 'InProgress'] as const),
        ...(['WaitingForPluginOperations', 'Finalizing', 'Completed', 'Completed', 'Deleting'] as const),
      ),
      once,
    )
  })

  it('counts a backup whose phases nobody has seen in between', () => {
    assert.deepEqual(countsAlong('New', 'Completed'), { attempts: 1, written: 1, results: ['success'] })
    assert.deepEqual(countsAlong('New', 'Finalizing', 'PartiallyFailed'), {
      ...{ attempts: 1, written: 1, results: ['partial failure'] },
    })
  })

  it('does not take a backup that is not valid for an attempt', () => {
    assert.deepEqual(countsAlong('New', 'FailedValidation'), {
      ...{ attempts: 0, written: 0, results: ['validation failure'] },
    })
  })

  it('counts a failure, of one that has not begun without an attempt', () => {
    assert.deepEqual(countsAlong('InProgress', 'Failed'), { attempts: 0, written: 1, results: ['failure'] })
    const failed = countsOfBackup(inPhase('Queued'), inPhase('Failed'))
    assert.deepEqual([failed.attempt, failed.result], [false, 'failure'])
  })

  it('counts nothing of a backup that is deleted, or whose deletion is taken back', () => {
    const nothing = { attempts: 0, written: 0, results: [] }
    assert.deepEqual(countsAlong('New', 'Deleting'), nothing)
    assert.deepEqual(countsAlong('Deleting', 'Completed'), nothing)
    assert.deepEqual(countsAlong('Completed', 'Failed'), nothing)
  })

  it('adds the objects that were written in between', () => {
    const at = (itemsBackedUp: number) =>
      inPhase('InProgress', { progress: { itemsBackedUp, totalItems: 9 } })
    assert.equal(countsOfBackup(at(2), at(7)).items, 5)
    assert.equal(countsOfBackup(at(7), at(2)).items, 0)
    assert.equal(countsOfBackup(inPhase('ReadyToStart'), at(3)).items, 3)
  })
})
