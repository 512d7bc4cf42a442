import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase } from '@lateen/api'
import { planQueue } from './backup-queue.ts'

let created = 0

/** A backup of some namespaces, later than all before it; `state` is its phase and place in the queue. */
function backup(name: string, state: string | undefined, namespaces: string[]): Backup {
  const [phase, position = '0'] = (state?.split(' ') ?? []) as [BackupPhase?, string?]
  created += 1
  const creationTimestamp = new Date(created * 1000).toISOString()
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace: 'velero', creationTimestamp },
    spec: { includedNamespaces: namespaces },
    ...(phase && { status: { phase, queuePosition: Number(position) } }),
  }
}

const conflicts = (one: Backup, other: Backup) =>
  (one.spec.includedNamespaces ?? []).some(name => other.spec.includedNamespaces?.includes(name))

const plan = (backups: Backup[], concurrentBackups = 1) =>
  planQueue(backups, { concurrentBackups, conflicts }).map(
    change => `${change.backup.metadata.name} ${change.phase} ${change.queuePosition}`,
  )

describe('The queue of backups', () => {
  it('starts a backup at once when nothing runs', () => {
    assert.deepEqual(plan([backup('a', undefined, ['x'])]), ['a ReadyToStart 0'])
  })

  it('lets later ones wait in the order of their creation', () => {
    assert.deepEqual(
      plan([backup('a', 'InProgress', ['x']), backup('b', undefined, ['y']), backup('c', 'New', ['z'])]),
      ['b Queued 1', 'c Queued 2'],
    )
  })

  it('moves the others up when one leaves', () => {
    assert.deepEqual(
      plan([backup('b', 'Queued 1', ['y']), backup('c', 'Queued 2', ['z']), backup('d', 'Queued 3', ['z'])]),
      ['b ReadyToStart 0', 'c Queued 1', 'd Queued 2'],
    )
  })

  it('runs as many at once as it may, and no two on one namespace', () => {
    assert.deepEqual(
      plan(
        [
          backup('a', 'InProgress', ['x']),
          backup('b', 'Queued 1', ['x', 'y']),
          backup('c', 'Queued 2', ['z']),
          backup('d', 'Queued 3', ['w']),
        ],
        2,
      ),
      ['c ReadyToStart 0', 'd Queued 2'],
    )
  })

  it('does not let a later backup overtake an earlier one on the same namespace', () => {
    assert.deepEqual(
      plan(
        [backup('a', 'InProgress', ['x']), backup('b', 'Queued 1', ['x', 'y']), backup('c', 'New', ['y'])],
        3,
      ),
      ['c Queued 2'],
    )
  })

  it('counts what is ready to start, and not what waits for plugins or is finished', () => {
    assert.deepEqual(plan([backup('a', 'ReadyToStart', ['x']), backup('b', 'New', ['y'])]), ['b Queued 1'])
    for (const phase of ['WaitingForPluginOperations', 'Finalizing', 'Completed', 'Failed'] as const) {
      assert.deepEqual(plan([backup('a', phase, ['x']), backup('b', 'New', ['x'])]), ['b ReadyToStart 0'])
    }
  })

  it('changes nothing when all is in place', () => {
    assert.deepEqual(plan([backup('a', 'InProgress', ['x']), backup('b', 'Queued 1', ['y'])]), [])
  })
})
