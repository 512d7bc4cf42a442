import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BackupRepository, formatTime } from '@lateen/api'
import { decideRepository, type RepositoryFactsNow } from './decide-repository.ts'
import type { Job } from './maintenance-job.ts'

const now = Date.UTC(2026, 0, 2)
const hour = 3_600_000

function job(name: string, agoMs: number, status: Job['status'] = { succeeded: 1 }): Job {
  const metadata = { name, creationTimestamp: formatTime(now - agoMs) }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, status }
}

function facts(
  status: BackupRepository['status'],
  more: Partial<RepositoryFactsNow> = {},
): RepositoryFactsNow {
  return {
    repository: {
      apiVersion: 'velero.io/v1',
      kind: 'BackupRepository',
      metadata: { name: 'shop-default-kopia' },
      spec: {
        volumeNamespace: 'shop',
        backupStorageLocation: 'default',
        repositoryType: 'kopia',
        maintenanceFrequency: '1h0m0s',
      },
      ...(status && { status }),
    },
    location: {
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'default' },
      spec: { provider: 'aws', objectStorage: { bucket: 'backups' } },
    },
    place: 'here',
    openedPlace: 'here',
    jobs: [],
    keptJobs: 3,
    triedAt: undefined,
    now,
    ...more,
  }
}

const ready = (agoMs = 0) => ({ phase: 'Ready' as const, lastMaintenanceTime: formatTime(now - agoMs) })

describe('decideRepository', () => {
  it('opens a new one, one that could not be opened before, and one whose location has changed', () => {
    assert.deepEqual(decideRepository(facts(undefined)), { type: 'prepare' })
    assert.deepEqual(decideRepository(facts({ phase: 'NotReady' })), { type: 'prepare' })
    assert.deepEqual(decideRepository(facts(ready(), { place: 'there' })), { type: 'prepare' })
  })

  it('leaves one alone for a minute that could not be opened just now, unless its location has changed', () => {
    const failed = { triedAt: now - 10_000 }
    const status = { phase: 'NotReady' } as const
    assert.deepEqual(decideRepository(facts(status, failed)), { type: 'wait', until: now + 50_000 })
    assert.deepEqual(decideRepository(facts(status, { ...failed, place: 'there' })), { type: 'prepare' })
  })

  it('says once that the location is gone', () => {
    const step = decideRepository(facts(ready(), { location: undefined }))
    assert.equal(step.type, 'lose')
    const message = step.type === 'lose' ? step.message : ''
    assert.match(message, /default does not exist/)
    const said = { phase: 'NotReady', message } as const
    assert.deepEqual(decideRepository(facts(said, { location: undefined })), { type: 'ignore' })
  })

  it('maintains one when it is due, and not before', () => {
    assert.deepEqual(decideRepository(facts(ready(hour + 1000))), { type: 'maintain' })
    assert.deepEqual(decideRepository(facts(ready(hour / 2))), { type: 'wait', until: now + hour / 2 })
  })

  it('does not begin a second maintenance while one is under way', () => {
    const jobs = [job('first', 1000, {})]
    assert.deepEqual(decideRepository(facts(ready(2 * hour), { jobs })), { type: 'ignore' })
  })

  it('rests for five minutes after a maintenance that failed', () => {
    const startTimestamp = formatTime(now - 60_000)
    const status = { ...ready(2 * hour), recentMaintenance: [{ result: 'Failed' as const, startTimestamp }] }
    assert.deepEqual(decideRepository(facts(status)), { type: 'wait', until: now + 240_000 })
  })

  it('records what it does not know of yet, before it removes Jobs beyond those that stay', () => {
    const jobs = [job('a', 5 * hour), job('b', 4 * hour), job('c', 3 * hour), job('d', 60_000)]
    const known = jobs.slice(0, 3).map(({ metadata }) => ({
      result: 'Succeeded' as const,
      startTimestamp: metadata.creationTimestamp ?? '',
    }))
    const before = decideRepository(facts({ ...ready(), recentMaintenance: known }, { jobs }))
    assert.deepEqual(before, { type: 'record', jobs: [jobs[3]] })
    const after = {
      ...ready(),
      recentMaintenance: [...known.slice(1), known[2]].map((run, at) => ({
        ...run,
        startTimestamp: jobs[at + 1]?.metadata.creationTimestamp ?? '',
        result: 'Succeeded' as const,
      })),
    }
    assert.deepEqual(decideRepository(facts(after, { jobs })), { type: 'tidy', jobs: [jobs[0]] })
  })

  it('writes nothing into a location that is only read', () => {
    const { location } = facts(undefined)
    if (location === undefined) throw new Error('no location')
    const readOnly = { ...location, spec: { ...location.spec, accessMode: 'ReadOnly' as const } }
    assert.deepEqual(decideRepository(facts(ready(2 * hour), { location: readOnly })), { type: 'ignore' })
  })
})
