import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Answer } from './after-asking.ts'
import { type ItemOperation, type OperationPorts, pollOperations } from './poll-operations.ts'

const created = '2026-01-02T03:04:05Z'
const createdAt = Date.UTC(2026, 0, 2, 3, 4, 5)
const { signal } = new AbortController()

function operation(operationID: string, phase: ItemOperation['status']['phase'] = 'New'): ItemOperation {
  return { spec: { operationID }, status: { phase, created } }
}

function going(nCompleted: number): Answer {
  const progress = {
    completed: false,
    error: '',
    nCompleted,
    nTotal: 9,
    operationUnits: '',
    description: '',
  }
  return { type: 'progress', progress }
}

function ports(answers: Record<string, Answer>, now = createdAt) {
  const asked: string[] = []
  const cancelled: string[] = []
  let reports = 0
  const all: OperationPorts<ItemOperation> = {
    async ask({ spec }) {
      asked.push(spec.operationID)
      await setImmediate()
      return answers[spec.operationID] ?? { type: 'refused', reason: `no answer for ${spec.operationID}` }
    },
    async cancel({ spec }) {
      cancelled.push(spec.operationID)
      return 'told'
    },
    reportUntold() {
      reports += 1
    },
    now: () => now,
  }
  return { all, asked, cancelled, reports: () => reports }
}

const options = { timeoutMs: 60_000, atOnce: 2, signal }

describe('polling operations', () => {
  it('begins where it is told to, and asks about all', async () => {
    const operations = [...'abcd'].map(id => operation(id, id === 'a' ? 'Completed' : 'New'))
    const { all, asked } = ports({ b: going(1), c: going(2), d: going(3) })
    const polled = await pollOperations(operations, all, { ...options, atOnce: 1, beginAt: 0.5 })
    assert.deepEqual(asked, ['c', 'd', 'b'])
    assert.deepEqual(
      polled.operations.map(({ spec, status }) => [spec.operationID, status.nCompleted]),
      [
        ['a', undefined],
        ['b', 1],
        ['c', 2],
        ['d', 3],
      ],
    )
  })

  it('asks about those that have not ended, and keeps their order', async () => {
    const operations = [operation('a', 'Completed'), operation('b'), operation('c', 'Failed'), operation('d')]
    const { all, asked } = ports({ b: going(1), d: { type: 'refused', reason: 'gone' } })
    const polled = await pollOperations(operations, all, options)
    assert.deepEqual(asked, ['b', 'd'])
    assert.deepEqual(
      polled.operations.map(({ spec, status }) => [spec.operationID, status.phase, status.nCompleted]),
      [
        ['a', 'Completed', undefined],
        ['b', 'New', 1],
        ['c', 'Failed', undefined],
        ['d', 'Failed', undefined],
      ],
    )
    assert.deepEqual(
      polled.failures.map(failure => [failure.operation.spec.operationID, failure.error]),
      [['d', 'gone']],
    )
    assert.deepEqual([polled.completed, polled.failed, polled.unfinished], [1, 2, 1])
    assert.equal(polled.changed, true)
  })

  it('says so when nothing has changed', async () => {
    const first = await pollOperations([operation('a')], ports({ a: going(1) }).all, options)
    const again = await pollOperations(first.operations, ports({ a: going(1) }).all, options)
    assert.deepEqual([first.changed, again.changed], [true, false])
  })

  it('stops what takes too long, and only that', async () => {
    const answers = { a: going(1), b: { type: 'unreachable' as const, reason: 'away' }, c: going(1) }
    const late = ports(answers, createdAt + 60_001)
    const young = { ...operation('c'), status: { phase: 'New' as const, created: '2026-01-02T03:05:05Z' } }
    const { failures } = await pollOperations([operation('a'), operation('b'), young], late.all, options)
    assert.deepEqual(late.cancelled, ['a', 'b'])
    assert.deepEqual(
      failures.map(failure => failure.operation.spec.operationID),
      ['a', 'b'],
    )
  })

  it('tells of the first failure at once when it is asked to, and leaves the others for the next time', async () => {
    const { all } = ports({ b: { type: 'refused', reason: 'gone' } })
    const asking: OperationPorts<ItemOperation> = {
      ...all,
      ask: (operation, abort) =>
        operation.spec.operationID === 'b'
          ? all.ask(operation, abort)
          : new Promise((_, reject) => abort.addEventListener('abort', () => reject(abort.reason))),
    }
    const operations = [operation('a'), operation('b'), operation('c')]
    const polled = await pollOperations(operations, asking, { ...options, endAtFailure: true })
    assert.deepEqual(
      polled.operations.map(({ status }) => status.phase),
      ['New', 'Failed', 'New'],
    )
    assert.deepEqual([polled.failed, polled.unfinished], [1, 2])
  })

  it('fails the one operation whose answer or record is of no use, and goes on with the others', async () => {
    const absurd = going(1)
    if (absurd.type === 'progress') absurd.progress.started = absurd.progress.updated = 9e18
    const broken = { type: 'progress', progress: undefined } as unknown as Answer
    const odd: ItemOperation = { ...operation('c'), status: { phase: 'New', created: 'yesterday' } }
    const { all } = ports({ a: absurd, b: broken, c: going(1), d: going(2) })
    const polled = await pollOperations([operation('a'), operation('b'), odd, operation('d')], all, options)
    assert.deepEqual(
      polled.operations.map(({ status }) => [status.phase, status.nCompleted]),
      [
        ['New', 1],
        ['Failed', undefined],
        ['Failed', undefined],
        ['New', 2],
      ],
    )
    assert.match(polled.operations[2]?.status.error ?? '', /'yesterday' is not a time/)
  })

  it('reports once in a round which actions could not be told to stop', async () => {
    const { all, cancelled, reports } = ports({ a: going(1), b: going(1) }, createdAt + 60_001)
    await pollOperations([operation('a'), operation('b')], all, options)
    assert.deepEqual([cancelled, reports()], [['a', 'b'], 1])
  })

  it('has no more questions under way than it may', async () => {
    let under = 0
    let most = 0
    const many = Array.from({ length: 50 }, (_, at) => operation(`${at}`))
    await pollOperations(
      many,
      {
        async ask() {
          most = Math.max(most, ++under)
          await setImmediate()
          under--
          return going(1)
        },
        cancel: async () => 'told',
        reportUntold: () => undefined,
        now: () => createdAt,
      },
      { ...options, atOnce: 7 },
    )
    assert.equal(most, 7)
  })
})
