import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, DeleteBackupRequest, DeleteBackupRequestStatus } from '@lateen/api'
import { observeDeletions } from './observe-deletions.ts'
import { createMetricsRegistry } from './registry.ts'
import { registerVeleroMetrics } from './velero-metrics.ts'

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'one', namespace: 'ns', labels: { 'velero.io/schedule-name': 'nightly' } },
  spec: {},
}
const request = (status?: DeleteBackupRequestStatus): DeleteBackupRequest => ({
  apiVersion: 'velero.io/v1',
  kind: 'DeleteBackupRequest',
  metadata: { name: 'one-abc', namespace: 'ns' },
  spec: { backupName: 'one' },
  ...(status && { status }),
})

/** What is shown after a request went through these states. */
function counted(isLeading: boolean, ...states: (DeleteBackupRequestStatus | undefined)[]) {
  const registry = createMetricsRegistry()
  const see = observeDeletions({
    velero: registerVeleroMetrics(registry),
    isLeading: () => isLeading,
    backups: { get: key => (key === 'ns/one' ? backup : undefined) },
  })
  const [first, ...later] = states.map(request)
  if (first !== undefined) see({ type: 'added', object: first })
  for (const [index, object] of later.entries()) {
    see({ type: 'updated', previous: [first, ...later][index] ?? object, object })
  }
  const shown = registry.render().matchAll(/^velero_backup_deletion_(\w+)_total\{schedule="(.*)"\} (\d+)$/gm)
  return [...shown].map(([, what, schedule, count]) => `${what} ${schedule} ${count}`)
}

const inProgress = { phase: 'InProgress' } as const

describe('observeDeletions', () => {
  it('counts a deletion that begins, for the schedule of its backup', () => {
    assert.deepEqual(counted(true, undefined, inProgress), ['attempt nightly 1'])
  })

  it('counts one that fails again and again once', () => {
    const failures: DeleteBackupRequestStatus[] = [
      { phase: 'InProgress', errors: ['the bucket is gone'] },
      { phase: 'InProgress', errors: ['now the plugin is gone'] },
      { phase: 'Processed', errors: ['now the plugin is gone'] },
    ]
    const expected = ['attempt nightly 1', 'failure nightly 1']
    assert.deepEqual(counted(true, undefined, inProgress, ...failures), expected)
  })

  it('counts nothing of one that is refused', () => {
    assert.deepEqual(counted(true, undefined, { phase: 'Processed', errors: ['backup not found'] }), [])
  })

  it('leaves the counting to the server that leads', () => {
    assert.deepEqual(counted(false, undefined, inProgress), [])
  })
})
