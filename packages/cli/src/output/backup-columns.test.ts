import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { backupColumns, sortedBackups } from './backup-columns.ts'
import { humanDuration } from './human-duration.ts'

const now = Date.UTC(2026, 5, 15, 12)

function backup(fields: Partial<Backup> & { name?: string } = {}): Backup {
  const { name = 'b', metadata, ...rest } = fields
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name, ...metadata }, spec: {}, ...rest }
}

function row(fields: Parameters<typeof backup>[0]): Record<string, string> {
  const object = backup(fields)
  return Object.fromEntries(backupColumns(now).map(({ header, cell }) => [header, cell(object)]))
}

describe('backupColumns', () => {
  it('shows a backup that nobody has seen as New', () => {
    assert.deepEqual(row({}), {
      NAME: 'b',
      STATUS: 'New',
      ERRORS: '0',
      WARNINGS: '0',
      CREATED: '<nil>',
      EXPIRES: 'n/a',
      'STORAGE LOCATION': '',
      'QUEUE POSITION': '',
      SELECTOR: '<none>',
    })
  })

  it('shows a backup that is being deleted as Deleting', () => {
    const metadata = { deletionTimestamp: '2026-06-15T11:00:00Z' }
    assert.equal(row({ metadata, status: { phase: 'Completed' } }).STATUS, 'Deleting')
  })

  it('counts to the expiration, or from creation by the time to live', () => {
    assert.equal(row({ status: { expiration: '2026-07-15T11:59:59Z' } }).EXPIRES, '29d')
    assert.equal(row({ status: { expiration: '2026-06-15T09:00:00Z' } }).EXPIRES, '3h ago')
    const metadata = { creationTimestamp: '2026-06-15T11:50:00Z' }
    assert.equal(row({ metadata, spec: { ttl: '1h0m0s' } }).EXPIRES, '50m')
    assert.equal(row({ metadata, spec: { ttl: '0s' } }).EXPIRES, 'n/a')
  })

  it('shows the place in the queue while there is one', () => {
    assert.equal(row({ status: { phase: 'Queued', queuePosition: 3 } })['QUEUE POSITION'], '3')
    assert.equal(row({ status: { queuePosition: 0 } })['QUEUE POSITION'], '')
  })
})

describe('sortedBackups', () => {
  it('sorts by name, and backups of one schedule newest first', () => {
    const names = [
      'b',
      'daily-20260101000000',
      'a',
      'daily-20260301000000',
      'daily-2026',
      'weekly-20260101000000',
    ]
    assert.deepEqual(
      sortedBackups(names.map(name => backup({ name }))).map(({ metadata }) => metadata.name),
      ['a', 'b', 'daily-2026', 'daily-20260301000000', 'daily-20260101000000', 'weekly-20260101000000'],
    )
  })
})

describe('humanDuration', () => {
  const cases: [number, string][] = [
    [0, '0s'],
    [59.9, '59s'],
    [60, '1m'],
    [3599, '59m'],
    [86_399, '23h'],
    [86_400 * 365 - 1, '364d'],
    [86_400 * 365, '1y'],
  ]
  for (const [seconds, text] of cases) {
    it(`is ${text} for ${seconds} seconds`, () => assert.equal(humanDuration(seconds * 1000), text))
  }
})
