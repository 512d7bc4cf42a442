import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore } from '@lateen/api'
import { restoreColumns } from './restore-columns.ts'

function row(fields: Partial<Restore>): Record<string, string> {
  const restore = { metadata: { name: 'r' }, spec: { backupName: 'b' }, ...fields }
  return Object.fromEntries(restoreColumns.map(({ header, cell }) => [header, cell(restore)]))
}

describe('restoreColumns', () => {
  it('show a restore that nobody has seen as New', () => {
    assert.deepEqual(row({}), {
      NAME: 'r',
      BACKUP: 'b',
      STATUS: 'New',
      STARTED: '<nil>',
      COMPLETED: '<nil>',
      ERRORS: '0',
      WARNINGS: '0',
      CREATED: '0001-01-01 00:00:00 +0000 UTC',
      SELECTOR: '<none>',
    })
  })

  it('show that a restore is being deleted beside its phase', () => {
    const metadata = { deletionTimestamp: '2026-06-15T11:00:00Z' }
    assert.equal(row({ metadata }).STATUS, 'New (Deleting)')
    assert.equal(row({ metadata, status: { phase: 'Failed' } }).STATUS, 'Failed (Deleting)')
  })
})
