import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cancelOperations, mergeOperations } from './cancel-operations.ts'
import type { ItemOperation } from './poll-operations.ts'

const { signal } = new AbortController()

function operation(
  operationID: string,
  phase: ItemOperation['status']['phase'] = 'InProgress',
): ItemOperation {
  return { spec: { operationID }, status: { phase } }
}

describe('cancelling operations', () => {
  it('stops those that have not ended, and leaves the others as they are', async () => {
    const cancelled: string[] = []
    const ports = { cancel: async ({ spec }: ItemOperation) => void cancelled.push(spec.operationID) }
    const operations = [
      operation('a', 'Completed'),
      operation('b'),
      operation('c', 'Failed'),
      operation('d', 'New'),
    ]
    const ended = await cancelOperations(operations, { ports, error: 'enough', signal })
    assert.deepEqual(
      cancelled.sort((a, b) => (a < b ? -1 : 1)),
      ['b', 'd'],
    )
    assert.deepEqual(
      ended.map(({ status }) => [status.phase, status.error]),
      [
        ['Completed', undefined],
        ['Failed', 'enough'],
        ['Failed', undefined],
        ['Failed', 'enough'],
      ],
    )
  })

  it('knows an operation once that stands in the journal and in the file, as the file has it', () => {
    const merged = mergeOperations([operation('a'), operation('b')], [operation('a', 'Completed')])
    assert.deepEqual(merged, [operation('a', 'Completed'), operation('b')])
  })
})
