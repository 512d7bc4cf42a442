import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupRepository, MaintenanceRun } from '@lateen/api'
import { observeRepositories } from './observe-repositories.ts'
import { createMetricsRegistry } from './registry.ts'
import { registerVeleroMetrics } from './velero-metrics.ts'

const repository = (...recentMaintenance: MaintenanceRun[]): BackupRepository => ({
  apiVersion: 'velero.io/v1',
  kind: 'BackupRepository',
  metadata: { name: 'app-default-kopia', namespace: 'ns' },
  spec: { volumeNamespace: 'app', backupStorageLocation: 'default', maintenanceFrequency: '1h' },
  status: { recentMaintenance },
})
const run = (hour: number, result: 'Succeeded' | 'Failed'): MaintenanceRun => ({
  result,
  startTimestamp: `2026-01-01T0${hour}:00:00Z`,
  completeTimestamp: `2026-01-01T0${hour}:02:00Z`,
})

describe('observeRepositories', () => {
  it('counts every run of maintenance once, from 0 on, and forgets a repository that is gone', () => {
    const registry = createMetricsRegistry()
    const see = observeRepositories({ velero: registerVeleroMetrics(registry), isLeading: () => true })
    const shown = () =>
      registry
        .render()
        .split('\n')
        .filter(line => /^velero_repo_maintenance_(success|failure|duration_seconds_sum)/.test(line))
    const [first, second, third] = [run(1, 'Succeeded'), run(2, 'Failed'), run(3, 'Succeeded')]
    see({ type: 'added', object: repository(first) })
    assert.deepEqual(shown(), [
      'velero_repo_maintenance_success_total{repository_name="app-default-kopia"} 0',
      'velero_repo_maintenance_failure_total{repository_name="app-default-kopia"} 0',
    ])
    see({ type: 'updated', previous: repository(first), object: repository(first, second) })
    see({ type: 'updated', previous: repository(first, second), object: repository(second, third) })
    see({ type: 'updated', previous: repository(second, third), object: repository(second, third) })
    assert.deepEqual(shown(), [
      'velero_repo_maintenance_success_total{repository_name="app-default-kopia"} 1',
      'velero_repo_maintenance_failure_total{repository_name="app-default-kopia"} 1',
      'velero_repo_maintenance_duration_seconds_sum{repository_name="app-default-kopia"} 240',
    ])
    see({ type: 'deleted', object: repository(third) })
    assert.deepEqual(shown(), [])
  })
})
