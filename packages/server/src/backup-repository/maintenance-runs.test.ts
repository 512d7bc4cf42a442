import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupRepository } from '@lateen/api'
import { parseMaintenanceConfig } from './maintenance-config.ts'
import type { Job } from './maintenance-job.ts'
import { remembering, runOf } from './maintenance-runs.ts'
import { parseRepositoryConfig } from './repository-config.ts'

const spec = {
  volumeNamespace: 'shop',
  backupStorageLocation: 'default',
  repositoryType: 'kopia',
  maintenanceFrequency: '1h0m0s',
} as const

const repository: BackupRepository = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupRepository',
  metadata: { name: 'shop-default-kopia' },
  spec,
}

function job(status: Job['status']): Job {
  const metadata = { name: 'one', creationTimestamp: '2026-01-01T00:00:00Z' }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, status }
}

describe('a run of maintenance', () => {
  it('that went well has a beginning and an end', () => {
    assert.deepEqual(runOf(job({ succeeded: 1, completionTime: '2026-01-01T00:01:00Z' }), undefined), {
      result: 'Succeeded',
      startTimestamp: '2026-01-01T00:00:00Z',
      completeTimestamp: '2026-01-01T00:01:00Z',
    })
  })

  it('that failed says what its container said last, without the log before it', () => {
    const conditions = [
      {
        type: 'Failed',
        status: 'True',
        lastTransitionTime: '2026-01-01T00:02:00Z',
        message: 'BackoffLimitExceeded',
      },
    ]
    const failed = job({ failed: 1, conditions })
    const words = 'level=info msg="begins"\nRepo maintenance error: the password is wrong\n'
    assert.deepEqual(runOf(failed, words), {
      result: 'Failed',
      startTimestamp: '2026-01-01T00:00:00Z',
      completeTimestamp: '2026-01-01T00:02:00Z',
      message: 'the password is wrong',
    })
    assert.equal(runOf(failed, undefined).message, 'BackoffLimitExceeded')
  })

  it('is remembered with the two before it, and a failed one is no maintenance', () => {
    const run = (day: number, result: 'Succeeded' | 'Failed') => ({
      result,
      startTimestamp: `2026-01-0${day}T00:00:00Z`,
      completeTimestamp: `2026-01-0${day}T00:01:00Z`,
    })
    const status = {
      lastMaintenanceTime: '2026-01-03T00:01:00Z',
      recentMaintenance: [run(1, 'Succeeded'), run(2, 'Failed'), run(3, 'Succeeded')],
    }
    const known = { ...repository, status }
    assert.deepEqual(remembering(known, [run(4, 'Failed')]), {
      lastMaintenanceTime: '2026-01-03T00:01:00Z',
      recentMaintenance: [run(2, 'Failed'), run(3, 'Succeeded'), run(4, 'Failed')],
    })
    assert.equal(remembering(known, [run(4, 'Succeeded')]).lastMaintenanceTime, '2026-01-04T00:01:00Z')
  })
})

describe('the settings of maintenance', () => {
  const name = 'jobs'

  it('of one repository go before those of all, but for priority, annotations and labels', () => {
    const data = {
      global:
        '{"keepLatestMaintenanceJobs": 5, "podResources": {"cpuLimit": "1"}, "priorityClassName": "low"}',
      'shop-default-kopia': '{"keepLatestMaintenanceJobs": 1, "priorityClassName": "high"}',
    }
    assert.deepEqual(parseMaintenanceConfig(data, { repository: spec, name }), {
      keepLatestMaintenanceJobs: 1,
      podResources: { cpuLimit: '1' },
      priorityClassName: 'low',
    })
  })

  for (const text of ['{', '[]', '{"keepLatestMaintenanceJobs": -1}', '{"loadAffinity": {}}']) {
    it(`name the ConfigMap and the key of ${text}`, () => {
      assert.throws(() => parseMaintenanceConfig({ global: text }, { repository: spec, name }), {
        code: 'INVALID_CONFIG',
        message: /"global" of the ConfigMap jobs/,
      })
    })
  }
})

describe('the settings of new repositories', () => {
  it('are texts, whatever they were in the ConfigMap', () => {
    const data = { kopia: '{"cacheLimitMB": 2048, "fullMaintenanceInterval": "fastGC"}' }
    assert.deepEqual(parseRepositoryConfig(data, { type: 'kopia', name: 'repositories' }), {
      cacheLimitMB: '2048',
      fullMaintenanceInterval: 'fastGC',
    })
    assert.equal(parseRepositoryConfig(data, { type: 'restic', name: 'repositories' }), undefined)
    assert.throws(() => parseRepositoryConfig({ kopia: '7' }, { type: 'kopia', name: 'repositories' }), {
      code: 'INVALID_CONFIG',
    })
  })
})
