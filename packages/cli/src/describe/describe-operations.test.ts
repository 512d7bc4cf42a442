import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ItemOperation } from './backup-description.ts'
import { describeOperations } from './describe-operations.ts'

function described(status: NonNullable<ItemOperation['status']>): string {
  const operation = { spec: { restoreItemAction: 'a.b/c', operationID: 'op-1' }, status }
  const file = { got: 'content', content: [operation] } as const
  return describeOperations({ of: 'Restore', attempted: 1, completed: 0, failed: 0, file })
}

describe('describeOperations', () => {
  it('shows how far an operation is, and when it was looked at', () => {
    const text = described({
      phase: 'InProgress',
      nCompleted: 3,
      nTotal: 10,
      operationUnits: 'bytes',
      description: 'moving',
      updated: '2026-01-02T03:04:05Z',
    })
    assert.match(text, /^\t\tProgress:\t3 of 10 complete \(bytes\)$/m)
    assert.match(text, /^\t\tProgress description:\tmoving$/m)
    assert.match(text, /^\t\tUpdated:\t2026-01-0/m)
  })

  it('has no line for a time that nobody knows', () => {
    const text = described({
      phase: 'New',
      created: '0001-01-01T00:00:00Z',
      started: '1970-01-01T00:00:00Z',
      updated: null,
    })
    assert.doesNotMatch(text, /Created|Started|Updated/)
  })
})
