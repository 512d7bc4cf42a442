import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { givenUp } from './given-up.ts'
import { PublishError } from './publish-backup.ts'

/** What happens to a backup that is given up, in order. */
function given({ stops = true, deletes = true, signal = new AbortController().signal } = {}) {
  const happened: string[] = []
  const operations = {
    async abandon() {
      happened.push('stopped')
      return stops
    },
  }
  const store = {
    async deleteBackup() {
      happened.push('deleted')
      if (!deletes) throw new Error('the bucket is away')
    },
  } as unknown as BackupStore
  const end = async (error: unknown) => {
    const thrown = await givenUp(error, { operations, store, name: 'nightly', signal })
    assert.ok(thrown instanceof Error)
    return { message: thrown.message, leftovers: thrown instanceof PublishError && thrown.leftovers }
  }
  return { happened, end }
}

const notStored = () => new PublishError(new Error('the bucket is full'), true)

describe('a backup that is given up', () => {
  it('loses its files only when what it began was stopped', async () => {
    const { happened, end } = given()
    assert.deepEqual(await end(notStored()), { message: 'the bucket is full', leftovers: false })
    assert.deepEqual(happened, ['stopped', 'deleted'])
  })

  it('keeps its files, and says so, when something could not be stopped', async () => {
    for (const error of [notStored(), new Error('the bucket is full')]) {
      const { happened, end } = given({ stops: false })
      assert.deepEqual(await end(error), { message: 'the bucket is full', leftovers: true })
      assert.deepEqual(happened, ['stopped'])
    }
  })

  it('says that files are left which could not be deleted', async () => {
    const { end } = given({ deletes: false })
    assert.deepEqual(await end(notStored()), { message: 'the bucket is full', leftovers: true })
  })

  it('is left to those who aborted it, or to the next server, when that happens', async () => {
    const signal = AbortSignal.abort(new Error('aborted'))
    const stopped = given({ signal })
    assert.deepEqual(await stopped.end(signal.reason), { message: 'aborted', leftovers: false })
    const unstopped = given({ signal, stops: false })
    assert.deepEqual(await unstopped.end(signal.reason), { message: 'aborted', leftovers: true })
    assert.deepEqual([...stopped.happened, ...unstopped.happened], ['stopped', 'stopped'])
  })
})
