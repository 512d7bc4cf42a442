import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JournalSegment } from '../backup-store/backup-store.ts'
import type { JournalOwner } from '../backup-store/bucket-layout.ts'
import { createOperationJournal, type JournalError, readJournal } from './operation-journal.ts'
import type { ItemOperation } from './poll-operations.ts'

const owner: JournalOwner = { of: 'backup', name: 'nightly' }
const { signal } = new AbortController()

function operation(operationID: string): ItemOperation {
  return { spec: { operationID }, status: { phase: 'New', created: '2026-01-02T03:04:05Z' } }
}

/** Puts wait until they are let through, and fail on request. */
function slowStore() {
  const puts: { segment: JournalSegment; ids: string[]; end: PromiseWithResolvers<void> }[] = []
  const putSegment = (segment: JournalSegment, value: unknown, abort?: AbortSignal) => {
    const end = Promise.withResolvers<void>()
    abort?.addEventListener('abort', () => end.reject(abort.reason))
    puts.push({ segment, ids: (value as ItemOperation[]).map(({ spec }) => spec.operationID), end })
    return end.promise
  }
  return { puts, putSegment }
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const nothing = Symbol('pending')
  return (await Promise.race([promise.catch(() => undefined), Promise.resolve(nothing)])) === nothing
}

const letOthersRun = () => new Promise(resolve => setImmediate(resolve))

describe('the journal of operations', () => {
  it('lets an operation be used only once it is stored', async () => {
    const store = slowStore()
    const journal = createOperationJournal({ store, owner, signal })
    const adding = journal.add(operation('a'))
    assert.deepEqual(journal.all, [operation('a')])
    assert.equal(await isPending(adding), true)
    store.puts[0]?.end.resolve()
    await adding
    assert.deepEqual(store.puts[0]?.segment, { owner, number: 1 })
  })

  it('stores together what began while the part before was stored', async () => {
    const store = slowStore()
    const journal = createOperationJournal({ store, owner, signal })
    const adding = ['a', 'b', 'c', 'd'].map(id => journal.add(operation(id)))
    store.puts[0]?.end.resolve()
    await adding[0]
    await letOthersRun()
    assert.deepEqual(
      store.puts.map(({ segment, ids }) => [segment.number, ids]),
      [
        [1, ['a']],
        [2, ['b', 'c', 'd']],
      ],
    )
    store.puts[1]?.end.resolve()
    await Promise.all(adding)
  })

  it('throws what the bucket says to all that were stored together, counts none of them, and goes on', async () => {
    const store = slowStore()
    const journal = createOperationJournal({ store, owner, signal })
    const first = journal.add(operation('a'))
    const lost = Promise.allSettled([journal.add(operation('b')), journal.add(operation('c'))])
    store.puts[0]?.end.resolve()
    await first
    await letOthersRun()
    store.puts[1]?.end.reject(new Error('access denied'))
    for (const [at, id] of ['b', 'c'].entries()) {
      const { reason } = (await lost)[at] as { reason: JournalError }
      assert.equal(reason.code, 'OPERATION_NOT_NOTED')
      assert.match(reason.message, new RegExp(`operation ${id} .*access denied`))
    }
    assert.deepEqual(journal.all, [operation('a')])
    const next = journal.add(operation('d'))
    store.puts[2]?.end.resolve()
    await next
    assert.equal(store.puts[2]?.segment.number, 3)
  })

  it('counts what the bucket does not take when that is wished', async () => {
    const store = slowStore()
    const lost: string[] = []
    const journal = createOperationJournal({
      store,
      owner,
      signal,
      onLost: ({ message }) => lost.push(message),
    })
    const adding = journal.add(operation('a'))
    store.puts[0]?.end.reject(new Error('read-only'))
    await adding
    assert.match(lost[0] ?? '', /read-only/)
    assert.deepEqual(journal.all, [operation('a')])
  })

  it('keeps an operation whose note was interrupted, so that it can be stopped', async () => {
    const store = slowStore()
    const abort = new AbortController()
    const journal = createOperationJournal({ store, owner, signal: abort.signal })
    const adding = journal.add(operation('a'))
    const reason = new Error('the server stops')
    abort.abort(reason)
    await assert.rejects(adding, reason)
    assert.deepEqual(journal.all, [operation('a')])
  })

  it('is read in the order of its parts', async () => {
    const parts = [[operation('a')], [operation('b'), operation('c')]]
    const store = {
      async *segments() {
        yield* parts
      },
    }
    assert.deepEqual(await readJournal(store, owner, signal), parts.flat())
  })
})
