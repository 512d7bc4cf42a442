import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { blobId } from '../blob/storage.ts'
import { isRepoError } from '../errors/repo-error.ts'
import { groupRanges, PackRanges } from './pack-ranges.ts'

const pack = { packBlobId: 'p1' }
const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index % 251)

describe('slices of one pack', () => {
  it('are read together when they lie close, in the order of offsets', () => {
    const ranges = [
      { ...pack, offset: 500, length: 10 },
      { ...pack, offset: 0, length: 10 },
      { ...pack, offset: 15, length: 10 },
    ]
    assert.deepEqual(groupRanges(ranges, { maxGap: 5, maxRead: 100 }), [[ranges[1], ranges[2]], [ranges[0]]])
  })

  it('are read apart when together they would be too much', () => {
    const ranges = [0, 10, 20].map(offset => ({ ...pack, offset, length: 10 }))
    assert.deepEqual(
      groupRanges(ranges, { maxGap: 0, maxRead: 20 }).map(group => group.length),
      [2, 1],
    )
  })

  it('may overlap', () => {
    const ranges = [
      { ...pack, offset: 0, length: 100 },
      { ...pack, offset: 10, length: 10 },
      { ...pack, offset: 99, length: 2 },
    ]
    assert.deepEqual(groupRanges(ranges, { maxGap: 0, maxRead: 1000 }), [ranges])
  })
})

describe('reading slices of packs', () => {
  for (const { packBlobId, how, ...bounds } of [
    { packBlobId: 'p1', how: 'by range', metadataPackBytes: 0 },
    { packBlobId: 'q1', how: 'out of a whole metadata pack', metadataPackBytes: 10_000 },
    {
      packBlobId: 'q1',
      how: 'some before the whole metadata pack',
      metadataPackBytes: 10_000,
      slicesBeforeWhole: 2,
    },
  ]) {
    it(`gives each caller its bytes, ${how}`, async () => {
      const storage = memoryStorage()
      await storage.put(blobId(packBlobId), bytes)
      const ranges = new PackRanges({ storage, ...bounds })
      const wanted = [5, 900, 0, 6].map(offset => ({ packBlobId, offset, length: 50 }))
      const read = await Promise.all(wanted.map(range => ranges.read(range)))
      assert.deepEqual(
        read.map(slice => Uint8Array.from(slice)),
        wanted.map(({ offset, length }) => bytes.slice(offset, offset + length)),
      )
    })

    it(`fails for a slice beyond the end, ${how}`, async () => {
      const storage = memoryStorage()
      await storage.put(blobId(packBlobId), bytes)
      const ranges = new PackRanges({ storage, ...bounds })
      await assert.rejects(ranges.read({ packBlobId, offset: 990, length: 11 }), error =>
        isRepoError(error, 'INVALID_RANGE'),
      )
    })

    it(`finds a pack that comes later, ${how}`, async () => {
      const storage = memoryStorage()
      const ranges = new PackRanges({ storage, ...bounds })
      const range = { packBlobId, offset: 1, length: 2 }
      await assert.rejects(ranges.read(range), error => isRepoError(error, 'BLOB_NOT_FOUND'))
      await storage.put(blobId(packBlobId), bytes)
      assert.deepEqual(Uint8Array.from(await ranges.read(range)), bytes.slice(1, 3))
    })
  }

  it('ends for the caller whose signal is aborted and goes on for the others', async () => {
    const storage = memoryStorage()
    await storage.put(blobId('p1'), bytes)
    const ranges = new PackRanges({ storage })
    const cancelled = ranges.read({ ...pack, offset: 0, length: 5 }, AbortSignal.abort())
    const other = ranges.read({ ...pack, offset: 5, length: 5 })
    await assert.rejects(cancelled, error => isRepoError(error, 'CANCELLED'))
    assert.deepEqual(Uint8Array.from(await other), bytes.slice(5, 10))
  })
})
