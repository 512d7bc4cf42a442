import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { isRepoError } from '../errors/repo-error.ts'
import { type ContentId, contentIdOf, ivOf } from '../index-format/content-id.ts'
import type { PackBytes } from '../pack/pack-builder.ts'
import { preambleLength } from '../pack/pack-preamble.ts'
import { createRepository, openRepository, type RepositoryWriter } from '../repository.ts'
import type { NewContent, PackLane } from './pack-lane.ts'

const storage = memoryStorage()
await using repository = await createRepository({ storage, password: 'secret' })
const { hash, encryption } = repository.crypto

/** Somebody who fills the packs of a lane, as a thread does. */
class Filler {
  readonly lane: PackLane
  #buffer: PackBytes | undefined
  #length = preambleLength

  constructor({ contents }: RepositoryWriter) {
    this.lane = contents.openLane(async () => this.handOver())
  }

  /** Seals contents, has them admitted, and returns their ids. */
  async write(...texts: string[]): Promise<{ ids: ContentId[]; admitted: number[] }> {
    const sealed = texts.map(text => {
      const data = Buffer.from(text)
      const contentId = contentIdOf('', hash.hash(data))
      return { contentId, length: data.length, bytes: encryption.encrypt(data, ivOf(contentId)) }
    })
    const contents: NewContent[] = sealed.map(({ contentId, length, bytes }) => ({
      contentId,
      packedLength: bytes.length,
      originalLength: length,
      compressionId: 0,
    }))
    const room = this.#buffer === undefined ? await this.lane.room() : undefined
    this.#buffer ??= room?.buffer as PackBytes
    this.#length = room?.length ?? this.#length
    const admitted = [...(await this.lane.admit(contents))]
    for (const [at, { bytes }] of sealed.entries()) {
      if (admitted[at] !== 1) continue
      this.#buffer.set(bytes, this.#length)
      this.#length += bytes.length
    }
    return { ids: sealed.map(({ contentId }) => contentId), admitted }
  }

  handOver(): void {
    if (this.#buffer === undefined || this.#length === preambleLength) return
    this.lane.close(this.#buffer)
    this.#buffer = undefined
    this.#length = preambleLength
  }
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

describe('packs that somebody else fills', () => {
  it('are called back by a flush, and then everybody reads them', async () => {
    const ids = await repository.writing({}, async writer => {
      const filler = new Filler(writer)
      const first = await filler.write('one', 'two')
      await writer.flush()
      const second = await filler.write('three')
      return [...first.ids, ...second.ids]
    })
    await using other = await openRepository({ storage, password: 'secret' })
    const read = await Promise.all(ids.map(async id => text(await other.contents.read(id))))
    assert.deepEqual(read, ['one', 'two', 'three'])
  })

  it('are called back when one of their contents is read before', async () => {
    await repository.writing({}, async writer => {
      const { ids } = await new Filler(writer).write('four')
      assert.equal(text(await writer.contents.read(ids[0] as ContentId)), 'four')
    })
  })

  it('hold nothing that was written before, by the main thread or by another lane', async () => {
    await repository.writing({}, async writer => {
      await writer.contents.write(Buffer.from('five'))
      const [first, second] = [new Filler(writer), new Filler(writer)]
      assert.deepEqual((await first.write('five', 'six')).admitted, [0, 1])
      assert.deepEqual((await second.write('six', 'seven', 'seven')).admitted, [0, 1, 0])
    })
  })

  it('go on with the pack that the writer has begun, and are merged when they come back', async () => {
    const before = new Set(storage.blobs.keys())
    const ids = await repository.writing({}, async writer => {
      const main = await writer.contents.write(Buffer.from('from the main thread'))
      const fillers = [new Filler(writer), new Filler(writer), new Filler(writer)]
      const written = await Promise.all(fillers.map((filler, at) => filler.write(`lane ${at}`, `more ${at}`)))
      return [main, ...written.flatMap(({ ids }) => ids)]
    })
    const packs = [...storage.blobs.keys()].filter(id => id.startsWith('p') && !before.has(id))
    assert.equal(packs.length, 1)
    await using other = await openRepository({ storage, password: 'secret', rehash: true })
    const read = await Promise.all(ids.map(async id => text(await other.contents.read(id))))
    assert.deepEqual(read.sort(), [
      'from the main thread',
      'lane 0',
      'lane 1',
      'lane 2',
      'more 0',
      'more 1',
      'more 2',
    ])
  })

  it('never come into an index without their bytes', async () => {
    let lost: ContentId | undefined
    const losing = repository.writing({}, async writer => {
      const lane = writer.contents.openLane(async () => {})
      lost = contentIdOf('', hash.hash(Buffer.from('lost')))
      await lane.admit([{ contentId: lost, packedLength: 32, originalLength: 4, compressionId: 0 }])
      lane[Symbol.dispose]()
    })
    await assert.rejects(
      losing,
      error => isRepoError(error, 'STORAGE_FAILED') && /were lost/.test(error.message),
    )
    await using other = await openRepository({ storage, password: 'secret' })
    assert.ok(lost)
    assert.equal(other.contents.info(lost), undefined)
  })

  it('are no more at a time than there are lanes and one', async () => {
    await repository.writing({}, async writer => {
      const { lane } = new Filler(writer)
      const [{ buffer: first }, { buffer: second }] = [await lane.room(), await lane.room()]
      let third: PackBytes | undefined
      const waiting = lane.room().then(({ buffer }) => (third = buffer))
      await new Promise(resolve => setImmediate(resolve))
      assert.equal(third, undefined)
      lane.giveBack(first)
      await waiting
      assert.notEqual(third, second)
    })
  })
})
