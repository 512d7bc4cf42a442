import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectStore } from './object-store.ts'
import { isObjectStoreError, type ObjectStoreErrorCode } from './object-store-error.ts'

/** A store under test, initialised, with a bucket it may write to. Keys stay below one random prefix. */
export interface StoreUnderTest {
  store: ObjectStore
  bucket: string
  /** A bucket name of which there is no bucket. */
  missingBucket: string
  close(): Promise<void>
}

export interface ConformanceOptions {
  /** Stands in the test titles: the provider, and against what it runs. */
  name: string
  open(): Promise<StoreUnderTest>
  /** Why the suite cannot run here, or false. */
  skip?: string | false
}

interface Scope {
  store: ObjectStore
  bucket: string
  missingBucket: string
  prefix: string
}

/**
 * Registers the tests every object store must pass. Call it at the top of a test file, or inside a `describe`:
 * `objectStoreConformance({ name: 'mine', open: async () => ({ store, bucket, missingBucket, close }) })`.
 */
export function objectStoreConformance(options: ConformanceOptions): void {
  describe(`object store conformance: ${options.name}`, { skip: options.skip ?? false }, () => {
    let opened: StoreUnderTest | undefined
    before(async () => {
      opened = await options.open()
    })
    after(async () => {
      await opened?.close()
    })
    const scope = (): Scope => {
      assert.ok(opened, 'the store did not open')
      const { store, bucket, missingBucket } = opened
      return { store, bucket, missingBucket, prefix: `backups/${randomBytes(6).toString('hex')}/` }
    }
    objectTests(scope)
    atomicityTests(scope)
    listTests(scope)
    refusalTests(scope)
    signedUrlTests(scope)
  })
}

function objectTests(scope: () => Scope): void {
  it('gives back the bytes that were put', async () => {
    const at = scope()
    const key = `${at.prefix}object`
    for (const bytes of [randomBytes(0), randomBytes(1), randomBytes(300_000)]) {
      await at.store.putObject({ bucket: at.bucket, key, body: bytes })
      assert.deepEqual(await read(at, key), bytes)
    }
  })

  it('stores a body that arrives in chunks of any size', async () => {
    const at = scope()
    const key = `${at.prefix}chunks`
    const chunks = [1, 0, 70_000, 3, 500_000].map(size => randomBytes(size))
    await at.store.putObject({ bucket: at.bucket, key, body: streamOf(chunks) })
    assert.deepEqual(await read(at, key), Buffer.concat(chunks))
  })

  it('knows whether an object exists, from the moment a put or a delete returned', async () => {
    const at = scope()
    const key = `${at.prefix}exists`
    assert.equal(await at.store.objectExists({ bucket: at.bucket, key }), false)
    await putText(at, key, 'x')
    assert.equal(await at.store.objectExists({ bucket: at.bucket, key }), true)
    await at.store.deleteObject({ bucket: at.bucket, key })
    assert.equal(await at.store.objectExists({ bucket: at.bucket, key }), false)
    await rejectsWith('NOT_FOUND', at.store.getObject({ bucket: at.bucket, key }))
  })

  it('tells how large an object is, if it can', async () => {
    const at = scope()
    if (at.store.objectSize === undefined) return
    const key = `${at.prefix}sized`
    assert.equal(await at.store.objectSize({ bucket: at.bucket, key }), undefined)
    await putText(at, key, 'five\u00e9')
    assert.equal(await at.store.objectSize({ bucket: at.bucket, key }), 6)
    await at.store.deleteObject({ bucket: at.bucket, key })
    assert.equal(await at.store.objectSize({ bucket: at.bucket, key }), undefined)
  })

  it('does not take a folder of objects for an object', async () => {
    const at = scope()
    await putText(at, `${at.prefix}folder/object`, 'x')
    assert.equal(await at.store.objectExists({ bucket: at.bucket, key: `${at.prefix}folder` }), false)
    await rejectsWith('NOT_FOUND', at.store.getObject({ bucket: at.bucket, key: `${at.prefix}folder` }))
    await at.store.deleteObject({ bucket: at.bucket, key: `${at.prefix}folder` })
    assert.equal(await readText(at, `${at.prefix}folder/object`), 'x')
  })

  it('rejects a get of a missing key with NOT_FOUND and deletes a missing key without complaint', async () => {
    const at = scope()
    await rejectsWith('NOT_FOUND', at.store.getObject({ bucket: at.bucket, key: `${at.prefix}none/at/all` }))
    await at.store.deleteObject({ bucket: at.bucket, key: `${at.prefix}none/at/all` })
  })

  it('keeps its other objects when one is deleted', async () => {
    const at = scope()
    await putText(at, `${at.prefix}a/one`, '1')
    await putText(at, `${at.prefix}a/two`, '2')
    await at.store.deleteObject({ bucket: at.bucket, key: `${at.prefix}a/one` })
    assert.deepEqual(await list(at), [`${at.prefix}a/two`])
    await at.store.deleteObject({ bucket: at.bucket, key: `${at.prefix}a/two` })
    assert.deepEqual(await list(at), [])
    await putText(at, `${at.prefix}a/one`, 'again')
    assert.equal(await readText(at, `${at.prefix}a/one`), 'again')
  })

  it('holds keys with spaces, percent signs, plus signs, quotes and other scripts', async () => {
    const at = scope()
    const keys = [
      'a b',
      '100%',
      '%2F',
      'a+b',
      "it's",
      '"q"',
      '日本語',
      'é',
      'a=b&c',
      '#x?y',
      '.dot',
      '<x>',
    ].map(name => at.prefix + name)
    for (const key of keys) await putText(at, key, key)
    for (const key of keys) assert.equal(await readText(at, key), key)
    assert.deepEqual(await list(at), inByteOrder(keys))
  })
}

function atomicityTests(scope: () => Scope): void {
  it('replaces an object whole', async () => {
    const at = scope()
    const key = `${at.prefix}replaced`
    await putText(at, key, 'a long first version')
    await putText(at, key, 'second')
    assert.equal(await readText(at, key), 'second')
  })

  it('leaves the old object, or none, when the body fails half-way', async () => {
    const at = scope()
    const failing = () => failingAfter([randomBytes(200_000)], new Error('the source broke'))
    const put = (key: string) => at.store.putObject({ bucket: at.bucket, key, body: failing() })
    await assert.rejects(put(`${at.prefix}new`))
    await putText(at, `${at.prefix}old`, 'old')
    await assert.rejects(put(`${at.prefix}old`))
    assert.deepEqual(await list(at), [`${at.prefix}old`])
    assert.equal(await readText(at, `${at.prefix}old`), 'old')
  })

  it('leaves the old object when the signal aborts a put, and closes the body', async () => {
    const at = scope()
    const key = `${at.prefix}aborted`
    await putText(at, key, 'old')
    const abort = new AbortController()
    let closed = false
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield randomBytes(1000)
        abort.abort()
        yield randomBytes(1000)
        await sleep(60_000, undefined, { ref: false })
      } finally {
        closed = true
      }
    }
    await assert.rejects(at.store.putObject({ bucket: at.bucket, key, body: body(), signal: abort.signal }))
    assert.equal(closed, true)
    assert.equal(await readText(at, key), 'old')
    assert.deepEqual(await list(at), [key])
  })

  it('does nothing under a signal that has aborted', async () => {
    const at = scope()
    const signal = AbortSignal.abort(new Error('stopped by the test'))
    const key = `${at.prefix}never`
    await assert.rejects(at.store.putObject({ bucket: at.bucket, key, body: Buffer.from('x'), signal }))
    await assert.rejects(at.store.getObject({ bucket: at.bucket, key, signal }))
    await assert.rejects(list(at, at.prefix, signal))
    assert.deepEqual(await list(at), [])
  })

  it('shows readers one whole version while writers compete', async () => {
    const at = scope()
    const key = `${at.prefix}contended`
    const versions = Array.from({ length: 8 }, (_, n) => Buffer.alloc(100_000 + n, n))
    await at.store.putObject({ bucket: at.bucket, key, body: versions[0] ?? Buffer.alloc(0) })
    const writes = Promise.all(versions.map(body => at.store.putObject({ bucket: at.bucket, key, body })))
    const reads = Promise.all(Array.from({ length: 12 }, () => read(at, key)))
    await writes
    for (const seen of await reads) {
      assert.ok(
        versions.some(version => version.equals(seen)),
        'a reader saw a mixture',
      )
    }
    const last = await read(at, key)
    assert.ok(versions.some(version => version.equals(last)))
  })

  it('survives puts and deletes in the same folder at the same time', async () => {
    const at = scope()
    const rounds = Array.from({ length: 10 }, (_, n) => n)
    await Promise.all([
      ...rounds.map(n => putText(at, `${at.prefix}shared/kept-${n}`, 'kept')),
      ...rounds.map(async n => {
        await putText(at, `${at.prefix}shared/gone-${n}`, 'gone')
        await at.store.deleteObject({ bucket: at.bucket, key: `${at.prefix}shared/gone-${n}` })
      }),
    ])
    assert.deepEqual(await list(at), inByteOrder(rounds.map(n => `${at.prefix}shared/kept-${n}`)))
  })
}

function listTests(scope: () => Scope): void {
  it('lists keys at every depth in the order of their bytes', async () => {
    const at = scope()
    const names = ['b/c/d', 'b-c', 'b/a', 'b.c', 'a', 'B', 'b0', 'z/1/2/3', 'ä', '\u{ff5e}', '\u{1f600}']
    const keys = names.map(name => at.prefix + name)
    for (const key of keys) await putText(at, key, '')
    assert.deepEqual(await list(at), inByteOrder(keys))
  })

  it('lists by any beginning of a key, also in the middle of a segment', async () => {
    const at = scope()
    for (const name of ['ab', 'abc/d', 'ac', 'b']) await putText(at, at.prefix + name, '')
    assert.deepEqual(await list(at, `${at.prefix}ab`), [`${at.prefix}ab`, `${at.prefix}abc/d`])
    assert.deepEqual(await list(at, `${at.prefix}abc/`), [`${at.prefix}abc/d`])
    assert.deepEqual(await list(at, `${at.prefix}x`), [])
    assert.deepEqual(await list(at, `${at.prefix}no/such/folder/`), [])
  })

  it('lists common prefixes in full, each once, without the objects beside them', async () => {
    const at = scope()
    for (const name of ['one/a', 'one/b/c', 'two/a', 'object']) await putText(at, at.prefix + name, '')
    assert.deepEqual(await prefixes(at, at.prefix), [`${at.prefix}one/`, `${at.prefix}two/`])
    assert.deepEqual(await prefixes(at, `${at.prefix}one/`), [`${at.prefix}one/b/`])
    assert.deepEqual(await prefixes(at, `${at.prefix}none/`), [])
  })

  it('lists more keys than a page holds, without repeating or losing any', async () => {
    const at = scope()
    const keys = Array.from({ length: 1100 }, (_, n) => `${at.prefix}${n % 7}/${String(n).padStart(5, '0')}`)
    for (let start = 0; start < keys.length; start += 50) {
      await Promise.all(keys.slice(start, start + 50).map(key => putText(at, key, '')))
    }
    assert.deepEqual(await list(at), inByteOrder(keys))
  })

  it('lets a reader stop in the middle of a list', async () => {
    const at = scope()
    for (const name of ['a', 'b', 'c']) await putText(at, at.prefix + name, '')
    for await (const key of at.store.listObjects({ bucket: at.bucket, prefix: at.prefix })) {
      assert.equal(key, `${at.prefix}a`)
      break
    }
  })
}

function refusalTests(scope: () => Scope): void {
  for (const key of [
    '',
    '/abs',
    'a/../../b',
    '../b',
    'a/./b',
    'a//b',
    'a/',
    'nul\0',
    `${'x/'.repeat(600)}x`,
  ]) {
    it(`refuses to put ${JSON.stringify(key.slice(0, 12))}`, async () => {
      const at = scope()
      await rejectsWith('UNSAFE_KEY', at.store.putObject({ bucket: at.bucket, key, body: Buffer.from('x') }))
    })
  }

  it('rejects with NO_BUCKET when there is no such bucket', async () => {
    const at = { ...scope() }
    const bucket = at.missingBucket
    await rejectsWith('NO_BUCKET', at.store.putObject({ bucket, key: 'k', body: Buffer.from('x') }))
    await rejectsWith('NO_BUCKET', at.store.getObject({ bucket, key: 'k' }))
    await rejectsWith('NO_BUCKET', list({ ...at, bucket }))
    await rejectsWith('NO_BUCKET', prefixes({ ...at, bucket }, ''))
  })
}

function signedUrlTests(scope: () => Scope): void {
  it('signs a URL that serves the object to anyone', async () => {
    const at = scope()
    const key = `${at.prefix}signed dir/100%.tar.gz`
    const bytes = randomBytes(200_000)
    await at.store.putObject({ bucket: at.bucket, key, body: bytes })
    const url = await at.store.createSignedUrl({ bucket: at.bucket, key, ttlSeconds: 60 })
    const response = await fetch(url)
    assert.equal(response.status, 200)
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes)
  })

  it('signs a URL that answers 404 when there is no such object', async () => {
    const at = scope()
    const url = await at.store.createSignedUrl({ bucket: at.bucket, key: `${at.prefix}none`, ttlSeconds: 60 })
    assert.equal((await fetch(url)).status, 404)
  })

  it('signs a URL that ends with its time to live', async () => {
    const at = scope()
    const key = `${at.prefix}expiring`
    await putText(at, key, 'secret')
    const url = await at.store.createSignedUrl({ bucket: at.bucket, key, ttlSeconds: 1 })
    await sleep(3_000)
    const response = await fetch(url)
    assert.equal(response.ok, false)
    assert.ok(!(await response.text()).includes('secret'))
  })

  it('refuses a URL whose signature was altered', async () => {
    const at = scope()
    const key = `${at.prefix}guarded`
    await putText(at, key, 'secret')
    const url = await at.store.createSignedUrl({ bucket: at.bucket, key, ttlSeconds: 60 })
    const last = url.at(-1) === '0' ? '1' : '0'
    assert.equal((await fetch(url.slice(0, -1) + last)).ok, false)
  })
}

async function rejectsWith(code: ObjectStoreErrorCode, action: Promise<unknown>): Promise<void> {
  await assert.rejects(action, (error: unknown) => {
    assert.ok(isObjectStoreError(error), `expected an ObjectStoreError, got ${String(error)}`)
    assert.equal(error.code, code, error.message)
    assert.notEqual(error.message, '')
    return true
  })
}

async function putText(at: Scope, key: string, content: string): Promise<void> {
  await at.store.putObject({ bucket: at.bucket, key, body: Buffer.from(content) })
}

async function readText(at: Scope, key: string): Promise<string> {
  return text(await at.store.getObject({ bucket: at.bucket, key }))
}

async function read(at: Scope, key: string): Promise<Buffer> {
  return buffer(await at.store.getObject({ bucket: at.bucket, key }))
}

async function list(at: Scope, prefix = at.prefix, signal?: AbortSignal): Promise<string[]> {
  const options = { bucket: at.bucket, prefix, ...(signal && { signal }) }
  return Array.fromAsync(at.store.listObjects(options))
}

async function prefixes(at: Scope, prefix: string): Promise<string[]> {
  return Array.fromAsync(at.store.listCommonPrefixes({ bucket: at.bucket, prefix, delimiter: '/' }))
}

function inByteOrder(keys: readonly string[]): string[] {
  return keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
}

async function* failingAfter(chunks: readonly Uint8Array[], error: Error): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
  throw error
}
