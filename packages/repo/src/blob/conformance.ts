import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { isRepoError, type RepoErrorCode } from '../errors/repo-error.ts'
import { type BlobId, type BlobMetadata, type BlobStorage, blobId, type GetBlobOptions } from './storage.ts'

/** Which storage the suite is to try. */
export interface ConformanceSubject {
  readonly name: string
  /** Opens an empty place. The suite disposes of the storage; the place is removed by `test.after`. */
  readonly open: (test: TestContext) => Promise<OpenedForTest>
  /** How many blobs to list; more than one page of the storage's listing. 150 when not given. */
  readonly many?: number
  /** A reason to skip the suite. */
  readonly skip?: false | string
}

/** An empty storage, and another way to the same place. */
export interface OpenedForTest {
  readonly storage: BlobStorage
  readonly reopen: () => Promise<BlobStorage>
}

const someIds = [
  'kopia.repository',
  'kopia.blobcfg',
  'xe0',
  'xw1794728032',
  'xn0_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c1',
  'xs12_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c10',
  'pf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66',
  'pf27455c8fbe90a1b2c3d4e5f60718294-saa33bb44cc55dd66',
  'qf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66',
  '_log_20260102030405_a1b2_1767323045_1767323049_1_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a',
  'xn0_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a--c1',
  'exactly-20-characters'.slice(0, 20),
  'exactly-21-characters',
].map(blobId)

/**
 * Declares the tests that every blob storage has to pass, as one suite of `node:test`: the promises of `BlobStorage`
 * as far as they can be seen from outside.
 */
export function blobStorageConformance(subject: ConformanceSubject): void {
  describe(`the blob storage contract: ${subject.name}`, { skip: subject.skip ?? false }, () => {
    const fact: Fact = (title, prove) => {
      void it(title, async test => {
        const opened = await subject.open(test)
        await using storage = opened.storage
        await prove(storage)
      })
    }
    bodies(fact)
    ranges(fact)
    listings(fact, subject.many ?? 150)
    manyAtOnce(fact)
    cancelling(fact)
    severalDoors(subject)
  })
}

type Fact = (title: string, prove: (storage: BlobStorage) => Promise<void>) => void

function bodies(fact: Fact): void {
  const id = blobId('pf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66')

  for (const length of [0, 1, 4096, 3_000_001]) {
    fact(`gives back ${length} bytes as they were put`, async storage => {
      const bytes = patternOf(length, 1)
      await storage.put(id, bytes)
      assertBytes(await storage.get(id), bytes)
      const { timestamp, ...rest } = await storage.head(id)
      assert.deepEqual(rest, { id, length })
      assert.ok(Number.isFinite(timestamp))
    })
  }

  fact('stores pieces one after the other', async storage => {
    const pieces = [patternOf(10, 1), patternOf(0, 2), patternOf(70_000, 3), patternOf(1, 4)]
    await storage.put(id, pieces)
    assertBytes(await storage.get(id), Buffer.concat(pieces))
    await storage.put(id, [])
    assertBytes(await storage.get(id), new Uint8Array())
  })

  fact('stores more pieces than one system call takes', async storage => {
    const pieces = Array.from({ length: 3000 }, (_, n) => patternOf(7, n))
    await storage.put(id, pieces)
    assertBytes(await storage.get(id), Buffer.concat(pieces))
  })

  fact('replaces a blob by a shorter and by a longer one', async storage => {
    for (const length of [1000, 10, 5000]) {
      await storage.put(id, patternOf(length, length))
      assertBytes(await storage.get(id), patternOf(length, length))
      assert.equal((await storage.head(id)).length, length)
      assert.equal((await listed(storage, '')).length, 1)
    }
  })

  fact('keeps its bytes apart from those of the caller', async storage => {
    const bytes = patternOf(100, 1)
    await storage.put(id, bytes)
    bytes.fill(0)
    const first = await storage.get(id)
    assertBytes(first, patternOf(100, 1))
    first.fill(0)
    assertBytes(await storage.get(id), patternOf(100, 1))
  })

  fact('forgets a deleted blob, and deleting what is not there is success', async storage => {
    await storage.put(id, patternOf(5, 1))
    await storage.delete(id)
    await assertRejects(storage.get(id), 'BLOB_NOT_FOUND')
    await assertRejects(storage.head(id), 'BLOB_NOT_FOUND')
    assert.deepEqual(await listed(storage, ''), [])
    await storage.delete(id)
    await storage.delete(blobId('never-there'))
  })

  fact('says that a blob is not there, naming it', async storage => {
    for (const missing of [id, blobId('short')]) {
      const naming = { code: 'BLOB_NOT_FOUND', blobId: missing }
      await assert.rejects(storage.get(missing), naming)
      await assert.rejects(storage.get(missing, { offset: 1, length: 2 }), naming)
      await assert.rejects(storage.get(missing, { offset: 0, length: 0 }), naming)
      await assert.rejects(storage.head(missing), naming)
    }
  })

  fact('gives timestamps near the present and none that runs back', async storage => {
    await storage.put(blobId('first'), patternOf(1, 1))
    await storage.put(blobId('second'), patternOf(1, 1))
    const first = await storage.head(blobId('first'))
    const second = await storage.head(blobId('second'))
    const tenMinutes = 600_000
    assert.ok(second.timestamp > first.timestamp - tenMinutes)
    assert.ok(Math.abs(Date.now() - second.timestamp) < tenMinutes)
    assert.deepEqual(await listed(storage, 'first'), [first])
  })
}

function ranges(fact: Fact): void {
  const id = blobId('qf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66')
  const inside: GetBlobOptions[] = [
    { offset: 0, length: 1 },
    { offset: 0, length: 1000 },
    { offset: 999, length: 1 },
    { offset: 300, length: 400 },
    { offset: 300 },
    { length: 10 },
    { offset: 0, length: 0 },
    { offset: 500, length: 0 },
    { offset: 1000, length: 0 },
    { offset: 1000 },
  ]
  const outside: GetBlobOptions[] = [
    { offset: 0, length: 1001 },
    { offset: 999, length: 2 },
    { offset: 1000, length: 1 },
    { offset: 1001 },
    { offset: 1001, length: 0 },
    { offset: 5000, length: 5 },
    { offset: -1, length: 5 },
    { offset: 5, length: -1 },
    { offset: 0.5, length: 1 },
  ]

  fact('reads exactly the range asked for', async storage => {
    const bytes = patternOf(1000, 9)
    await storage.put(id, bytes)
    for (const range of inside) {
      const offset = range.offset ?? 0
      const wanted = bytes.subarray(offset, range.length === undefined ? undefined : offset + range.length)
      assertBytes(await storage.get(id, range), wanted)
    }
  })

  fact('refuses a range that does not lie in the blob', async storage => {
    await storage.put(id, patternOf(1000, 9))
    for (const range of outside) await assertRejects(storage.get(id, range), 'INVALID_RANGE')
  })

  fact('has only the empty range in an empty blob', async storage => {
    await storage.put(id, new Uint8Array())
    assertBytes(await storage.get(id, { offset: 0, length: 0 }), new Uint8Array())
    assertBytes(await storage.get(id, { offset: 0 }), new Uint8Array())
    await assertRejects(storage.get(id, { offset: 0, length: 1 }), 'INVALID_RANGE')
  })
}

function listings(fact: Fact, many: number): void {
  fact('lists what starts with a prefix, whole ids included', async storage => {
    assert.deepEqual(await listed(storage, ''), [])
    for (const [n, id] of someIds.entries()) await storage.put(id, patternOf(n, n))
    const prefixes = [
      '',
      'x',
      'xn',
      'xn0_743d',
      'p',
      'pf274',
      'pf27455c8fbe90a1b2c3d4e5f60718293-s',
      'kopia.',
      '_',
      'y',
    ]
    for (const prefix of [...prefixes, 'exactly-2', ...someIds, `${someIds[0]}.f`, `${someIds[4]}x`]) {
      const expected = someIds.filter(id => id.startsWith(prefix)).sort(byName)
      assert.deepEqual(idsOf(await listed(storage, prefix)), expected, `prefix ${prefix}`)
    }
  })

  fact('lists lengths and times as head gives them', async storage => {
    for (const [n, id] of someIds.entries()) await storage.put(id, patternOf(n, n))
    for (const blob of await listed(storage, '')) assert.deepEqual(blob, await storage.head(blob.id))
  })

  fact(`lists each of ${many} blobs once`, async storage => {
    const ids = Array.from({ length: many }, (_, n) =>
      blobId(`p${hexOf(n * 2654435761)}${hexOf(n)}cafebabe0123-s1`),
    )
    await inParallel(ids, id => storage.put(id, patternOf(3, 3)))
    assert.deepEqual(idsOf(await listed(storage, '')), ids.toSorted(byName))
    assert.deepEqual(idsOf(await listed(storage, 'pa')), ids.filter(id => id.startsWith('pa')).sort(byName))
    await inParallel(ids, id => storage.delete(id))
    assert.deepEqual(await listed(storage, ''), [])
  })

  fact('may be left in the middle of a listing', async storage => {
    for (const id of someIds) await storage.put(id, patternOf(1, 1))
    for await (const blob of storage.list('')) {
      assert.ok(someIds.includes(blob.id))
      break
    }
    assert.equal((await listed(storage, '')).length, someIds.length)
  })
}

function manyAtOnce(fact: Fact): void {
  fact('shows one of the bodies whole while many put the same blob', async storage => {
    const id = blobId('kopia.maintenance')
    const bodies = [patternOf(200_000, 1), patternOf(100_001, 2), patternOf(3, 3)]
    await storage.put(id, patternOf(3, 3))
    const writers = Array.from({ length: 12 }, (_, n) => storage.put(id, bodies[n % 3] ?? new Uint8Array()))
    const readers = Array.from({ length: 24 }, () => storage.get(id))
    await Promise.all(writers)
    for (const seen of [...(await Promise.all(readers)), await storage.get(id)]) {
      assert.ok(
        bodies.some(body => Buffer.compare(body, seen) === 0),
        `a mixture of ${seen.length} bytes`,
      )
    }
    assert.deepEqual(idsOf(await listed(storage, '')), [id])
  })

  fact('serves many blobs at the same time', async storage => {
    const ids = Array.from({ length: 40 }, (_, n) => blobId(`q${hexOf(n)}0123456789abcdef01234567-s2`))
    await Promise.all(ids.map((id, n) => storage.put(id, patternOf(5000 + n, n))))
    const read = await Promise.all(ids.map(id => storage.get(id)))
    for (const [n, bytes] of read.entries()) assertBytes(bytes, patternOf(5000 + n, n))
  })
}

function cancelling(fact: Fact): void {
  fact('does nothing once the signal is aborted', async storage => {
    const [kept, never] = [blobId('kept'), blobId('never')]
    await storage.put(kept, patternOf(5, 5))
    const signal = AbortSignal.abort(new Error('enough'))
    await assertRejects(storage.get(kept, { signal }), 'CANCELLED')
    await assertRejects(storage.head(kept, { signal }), 'CANCELLED')
    await assertRejects(storage.put(never, patternOf(1, 1), { signal }), 'CANCELLED')
    await assertRejects(storage.delete(kept, { signal }), 'CANCELLED')
    await assertRejects(listed(storage, '', signal), 'CANCELLED')
    assert.deepEqual(idsOf(await listed(storage, '')), [kept])
  })
}

function severalDoors(subject: ConformanceSubject): void {
  it('is the same place for everybody who opens it', async test => {
    const { storage, reopen } = await subject.open(test)
    await using first = storage
    await using second = await reopen()
    for (const id of someIds) await first.put(id, patternOf(9, 9))
    assert.deepEqual(idsOf(await listed(second, '')), [...someIds].sort(byName))
    for (const id of someIds) assertBytes(await second.get(id), patternOf(9, 9))
    await second.put(someIds[4] ?? blobId('x'), patternOf(8, 8))
    assertBytes(await first.get(someIds[4] ?? blobId('x')), patternOf(8, 8))
    await second.delete(someIds[6] ?? blobId('x'))
    await assertRejects(first.get(someIds[6] ?? blobId('x')), 'BLOB_NOT_FOUND')
  })
}

async function listed(storage: BlobStorage, prefix: string, signal?: AbortSignal): Promise<BlobMetadata[]> {
  return Array.fromAsync(storage.list(prefix, signal === undefined ? {} : { signal }))
}

function idsOf(blobs: readonly BlobMetadata[]): BlobId[] {
  return blobs.map(blob => blob.id).sort(byName)
}

function byName(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await act(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

function patternOf(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let n = 0; n < length; n++) bytes[n] = (n * 31 + (n >>> 8) + seed * 17) & 0xff
  return bytes
}

function hexOf(n: number): string {
  return (n >>> 0).toString(16).padStart(8, '0')
}

function assertBytes(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(actual.length, expected.length)
  assert.ok(Buffer.compare(actual, expected) === 0, 'the bytes differ')
}

async function assertRejects(promise: Promise<unknown>, code: RepoErrorCode): Promise<void> {
  await assert.rejects(promise, error => isRepoError(error, code))
}
