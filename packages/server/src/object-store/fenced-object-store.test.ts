import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { FencedError, LeaseFence, systemClock } from '@lateen/kube'
import type { ObjectStore } from '@lateen/plugin'
import { fencedObjectStore } from './fenced-object-store.ts'
import { FilesystemStore } from './filesystem.ts'
import { createSignedDownloads } from './signed-downloads.ts'

const isFenced = (error: unknown) => error instanceof FencedError

describe('a fenced store', () => {
  const time = { now: 0 }
  const fence = new LeaseFence(() => time.now)
  const bucket = 'bucket'
  let folder: string
  let store: ObjectStore
  let names = 0

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-fenced-'))
    fence.hold(1_000)
    const plain = new FilesystemStore({
      clock: systemClock,
      randomName: () => `name-${names++}`,
      downloads: createSignedDownloads({
        signingKey: Buffer.from('key'),
        clock: systemClock,
        publicUrl: () => 'http://localhost',
      }),
      anyFolder: true,
      fence,
    })
    store = fencedObjectStore(plain, fence)
    await store.init({ config: { path: folder, bucket, createBucket: 'true' } })
    await store.putObject({ bucket, key: 'before', body: Buffer.from('x') })
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('stores no object that was on its way when the fence closed', async () => {
    async function* body() {
      yield Buffer.from('one')
      time.now = 1_000
      yield Buffer.from('two')
    }
    await assert.rejects(store.putObject({ bucket, key: 'half', body: body() }), isFenced)
    assert.equal(await store.objectExists({ bucket, key: 'half' }), false)
  })

  it('puts and deletes nothing once it is closed, and reads on', async () => {
    time.now = 1_000
    await assert.rejects(store.putObject({ bucket, key: 'after', body: Buffer.from('x') }), isFenced)
    await assert.rejects(store.deleteObject({ bucket, key: 'before' }), isFenced)
    await assert.rejects(store.init({ config: { path: folder, bucket } }), isFenced)
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket, prefix: '' })), ['before'])
    assert.ok((await readdir(path.join(folder, bucket))).includes('before'))
  })
})
