import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isObjectStoreError } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { ItemOperation } from './poll-operations.ts'
import { WaitingOperations } from './waiting-operations.ts'

const owner = { uid: 'u', of: 'backup', name: 'nightly' } as const
const { signal } = new AbortController()

function operation(nCompleted: number): ItemOperation {
  return { spec: { operationID: 'a' }, status: { phase: 'InProgress', nCompleted } }
}

/** A store of one file that counts what is asked of it. */
function oneFile(value: unknown) {
  const seen = { reads: 0, writes: [] as unknown[], fail: undefined as Error | undefined }
  const store = {
    async getJson() {
      seen.reads += 1
      return value
    },
    async putJson(_file: unknown, written: unknown) {
      if (seen.fail !== undefined) throw seen.fail
      seen.writes.push(written)
    },
  } as unknown as BackupStore
  return { seen, store }
}

describe('operations that are waited for', () => {
  it('are read once and then remembered, until they are forgotten', async () => {
    const { seen, store } = oneFile([operation(1)])
    const waiting = new WaitingOperations()
    assert.deepEqual(await waiting.load(owner, store, signal), [operation(1)])
    await waiting.load(owner, store, signal)
    assert.equal(seen.reads, 1)
    waiting.forget('u')
    await waiting.load(owner, store, signal)
    assert.equal(seen.reads, 2)
  })

  it('are written when they are not what the file has, and after a failure once more', async () => {
    const { seen, store } = oneFile([operation(1)])
    const waiting = new WaitingOperations()
    await waiting.load(owner, store, signal)
    const save = (...operations: ItemOperation[]) => waiting.save({ ...owner, operations }, store, signal)
    await save(operation(1))
    assert.deepEqual(seen.writes, [])
    seen.fail = new Error('away')
    await assert.rejects(save(operation(2)), seen.fail)
    assert.deepEqual(waiting.peek('u'), [operation(2)])
    seen.fail = undefined
    await save(operation(2))
    await save(operation(2))
    assert.deepEqual(seen.writes, [[operation(2)]])
  })

  for (const [what, value] of [
    ['missing', undefined],
    ['no list', { spec: {} }],
    ['a list of other things', [{ name: 'x' }]],
  ] as const) {
    it(`say so when their file is ${what}`, async () => {
      const loading = new WaitingOperations().load(owner, oneFile(value).store, signal)
      await assert.rejects(
        loading,
        error => isObjectStoreError(error, 'STORE_FAULT') && /nightly/.test(error.message),
      )
    })
  }

  it('may be none', async () => {
    assert.deepEqual(await new WaitingOperations().load(owner, oneFile(null).store, signal), [])
  })
})
