import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Schedule } from '@lateen/api'
import { scheduleColumns } from './schedule-columns.ts'

const now = Date.UTC(2026, 5, 15, 12)

function row(schedule: Partial<Schedule>): Record<string, string> {
  const object = {
    apiVersion: 'velero.io/v1',
    kind: 'Schedule',
    metadata: { name: 's' },
    spec: { schedule: '@daily', template: {} },
    ...schedule,
  }
  return Object.fromEntries(scheduleColumns(now).map(({ header, cell }) => [header, cell(object)]))
}

describe('scheduleColumns', () => {
  it('shows a schedule that nobody has seen as New', () => {
    assert.deepEqual(row({}), {
      NAME: 's',
      STATUS: 'New',
      CREATED: '0001-01-01 00:00:00 +0000 UTC',
      SCHEDULE: '@daily',
      'BACKUP TTL': '0s',
      'LAST BACKUP': 'n/a',
      SELECTOR: '<none>',
      PAUSED: 'false',
    })
  })

  it('shows how long ago the last backup was made', () => {
    const status = { phase: 'Enabled' as const, lastBackup: '2026-06-15T09:00:00Z' }
    assert.equal(row({ status })['LAST BACKUP'], '3h ago')
    assert.equal(row({ status }).STATUS, 'Enabled')
  })
})
