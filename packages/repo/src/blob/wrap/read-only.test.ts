import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../memory.ts'
import { blobId } from '../storage.ts'
import { readOnly } from './read-only.ts'

const pack = blobId('p27455c8fbe90a1b2c3d4e5f607182930-s1')

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

describe('read-only', () => {
  it('reads, lists, and refuses every change', async () => {
    const inner = memoryStorage()
    await inner.put(pack, Buffer.from('kept'))
    const storage = readOnly(inner)
    await assert.rejects(storage.put(pack, new Uint8Array(1)), { code: 'READ_ONLY', blobId: pack })
    await assert.rejects(storage.delete(pack), { code: 'READ_ONLY', blobId: pack })
    assert.equal(text(await storage.get(pack)), 'kept')
    assert.equal((await storage.head(pack)).length, 4)
    assert.equal((await Array.fromAsync(storage.list(''))).length, 1)
  })
})
