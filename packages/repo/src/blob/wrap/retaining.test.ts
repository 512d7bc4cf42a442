import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../memory.ts'
import { type BlobStorage, blobId } from '../storage.ts'
import { retaining } from './retaining.ts'

describe('retaining', () => {
  it('protects what a repository cannot be read without, and nothing else', async () => {
    const kept: Record<string, unknown> = {}
    const inner: BlobStorage = {
      ...memoryStorage(),
      put: async (id, _data, options) => {
        kept[id] = options?.retention
      },
    }
    const storage = retaining(inner, { mode: 'COMPLIANCE', periodMs: 1000, clock: { now: () => 5000 } })
    const ids = [
      'p1',
      'q1',
      'n1',
      'xn0_1',
      'kopia.repository',
      'kopia.blobcfg',
      's1',
      '_log_1',
      'kopia.maintenance',
    ]
    for (const id of ids) await storage.put(blobId(id), new Uint8Array())
    const retention = { mode: 'COMPLIANCE', until: 6000 }
    const expected = ids.map((id, n) => [id, n < 6 ? retention : undefined])
    assert.deepEqual(kept, Object.fromEntries(expected))
  })
})
