import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cancelOperations, mergeOperations, tellToStop } from './cancel-operations.ts'
import type { CancelAnswer, ItemOperation } from './poll-operations.ts'

const { signal } = new AbortController()

function operation(
  operationID: string,
  phase: ItemOperation['status']['phase'] = 'InProgress',
): ItemOperation {
  return { spec: { operationID }, status: { phase } }
}

/** Ports whose actions answer as told. */
function portsThat(answer: (operationId: string) => CancelAnswer) {
  const events: string[] = []
  const ports = {
    async cancel({ spec }: ItemOperation): Promise<CancelAnswer> {
      events.push(spec.operationID)
      return answer(spec.operationID)
    },
    reportUntold: () => void events.push('report'),
  }
  return { ports, events }
}

describe('cancelling operations', () => {
  it('stops those that have not ended, and leaves the others as they are', async () => {
    const { ports, events } = portsThat(() => 'told')
    const operations = [
      operation('a', 'Completed'),
      operation('b'),
      operation('c', 'Failed'),
      operation('d', 'New'),
    ]
    const ended = await cancelOperations(operations, { ports, error: 'enough', signal })
    assert.deepEqual(events, ['b', 'd', 'report'])
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

  it('says how many were not told because nobody answered; a refusal is an answer', async () => {
    const { ports } = portsThat(id => (id === 'a' ? 'refused' : id === 'd' ? 'told' : 'unreachable'))
    const operations = [...'abcd'].map(id => operation(id))
    const stopped = await tellToStop(operations, { ports, error: 'enough', signal })
    assert.equal(stopped.unheard, 2)
    assert.ok(stopped.operations.every(({ status }) => status.phase === 'Failed'))
    assert.deepEqual(
      stopped.heard.map(({ status }) => status.phase),
      ['Failed', 'InProgress', 'InProgress', 'Failed'],
    )
  })

  it('keeps the beginning of a long reason', async () => {
    const { ports } = portsThat(() => 'told')
    const error = 'x'.repeat(1 << 20)
    const [ended] = await cancelOperations([operation('a')], { ports, error, signal })
    assert.ok((ended?.status.error ?? '').length < 3000)
  })

  it('reports what was not told even when it is broken off', async () => {
    const { ports, events } = portsThat(() => {
      throw new Error('enough')
    })
    await assert.rejects(cancelOperations([operation('a')], { ports, error: 'late', signal }), /enough/)
    assert.deepEqual(events, ['a', 'report'])
  })

  it('knows an operation once that stands in the journal and in the file, as the file has it', () => {
    const merged = mergeOperations([operation('a'), operation('b')], [operation('a', 'Completed')])
    assert.deepEqual(merged, [operation('a', 'Completed'), operation('b')])
  })
})
