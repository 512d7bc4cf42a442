import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../memory.ts'
import { blobId } from '../storage.ts'
import { guarded } from './guarded.ts'

const pack = blobId('p27455c8fbe90a1b2c3d4e5f607182930-s1')

describe('guarded', () => {
  it('makes no change that the guard refuses, and reads on', async () => {
    const gate = { closedFor: '' }
    const storage = guarded(memoryStorage(), (change, id) => {
      if (gate.closedFor !== '') throw new Error(`no ${change} of ${id}`)
    })
    await storage.put(pack, Buffer.from('kept'))
    gate.closedFor = 'good'
    await assert.rejects(storage.put(pack, new Uint8Array(1)), /no put of p27/)
    await assert.rejects(storage.delete(pack), /no delete of p27/)
    await assert.rejects(storage.retain(pack, { mode: 'GOVERNANCE', until: 0 }), /no retain of p27/)
    assert.equal(Buffer.from(await storage.get(pack)).toString(), 'kept')
    assert.equal((await storage.head(pack)).length, 4)
    gate.closedFor = ''
    await storage.delete(pack)
    assert.deepEqual(await Array.fromAsync(storage.list('')), [])
  })
})
