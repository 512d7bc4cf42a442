import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { blobStorageConformance } from './conformance.ts'
import { memoryStorage } from './memory.ts'
import { blobId } from './storage.ts'

blobStorageConformance({
  name: 'memory',
  open: async () => {
    const storage = memoryStorage()
    return { storage, reopen: async () => memoryStorage({ blobs: storage.blobs }) }
  },
})

describe('the storage in memory', () => {
  it('takes its timestamps from the clock it is given', async () => {
    let time = 1_700_000_000_000
    const storage = memoryStorage({ clock: { now: () => time } })
    await storage.put(blobId('a'), Buffer.from('1'))
    time += 60_000
    await storage.put(blobId('b'), Buffer.from('2'))
    const times = await Array.fromAsync(storage.list(''), blob => [blob.id, blob.timestamp])
    assert.deepEqual(times, [
      ['a', 1_700_000_000_000],
      ['b', 1_700_000_060_000],
    ])
  })
})
