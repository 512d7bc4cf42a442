import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '@lateen/kube'
import type { ObjectStore } from '@lateen/plugin'
import { objectStoreConformance } from '@lateen/plugin/object-store-conformance'
import { FilesystemStore } from '../object-store/filesystem.ts'
import { createSignedDownloads } from '../object-store/signed-downloads.ts'
import { registerLateenMetrics } from './lateen-metrics.ts'
import { observeObjectStore } from './observe-object-store.ts'
import { createMetricsRegistry } from './registry.ts'

async function open() {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-observed-'))
  await mkdir(path.join(folder, 'bucket'))
  const registry = createMetricsRegistry()
  const stored: { key: string; bytes: number }[] = []
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const downloads = createSignedDownloads({ signingKey: randomBytes(32), clock: systemClock, publicUrl: url })
  const server = createServer((request, response) => void downloads.handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  }
  const plain = new FilesystemStore({
    clock: systemClock,
    randomName: () => randomBytes(8).toString('hex'),
    downloads,
  })
  const store: ObjectStore = observeObjectStore(plain, {
    ...{ provider: 'folder', own: registerLateenMetrics(registry), clock: systemClock },
    stored: object => void stored.push(object),
  })
  await store.init({ config: { path: folder, bucket: 'bucket', prefix: '' } })
  return { store, registry, stored, close }
}

objectStoreConformance({
  name: 'a store that is observed',
  async open() {
    const { store, close } = await open()
    return { store, bucket: 'bucket', missingBucket: 'no-such-bucket', close }
  },
})

describe('observeObjectStore', () => {
  let given: Awaited<ReturnType<typeof open>>
  const bucket = 'bucket'
  before(async () => {
    given = await open()
  })
  after(() => given.close())

  it('counts calls by how they end, and bytes in both directions', async () => {
    const { store, registry, stored } = given
    async function* pieces() {
      yield Buffer.alloc(1_000)
      yield Buffer.alloc(24)
    }
    await store.putObject({ bucket, key: 'a/one', body: pieces() })
    await store.putObject({ bucket, key: 'a/two', body: Buffer.alloc(10) })
    assert.equal((await buffer(await store.getObject({ bucket, key: 'a/one' }))).length, 1_024)
    await assert.rejects(store.getObject({ bucket, key: 'none' }), { code: 'NOT_FOUND' })
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket, prefix: '' })), ['a/one', 'a/two'])
    assert.deepEqual(stored, [
      { key: 'a/one', bytes: 1_024 },
      { key: 'a/two', bytes: 10 },
    ])
    const shown = registry.render().split('\n')
    for (const line of [
      'lateen_object_store_requests_total{provider="folder",operation="put",result="ok"} 2',
      'lateen_object_store_requests_total{provider="folder",operation="get",result="ok"} 1',
      'lateen_object_store_requests_total{provider="folder",operation="get",result="NOT_FOUND"} 1',
      'lateen_object_store_requests_total{provider="folder",operation="list",result="ok"} 1',
      'lateen_object_store_bytes_total{provider="folder",direction="written"} 1034',
      'lateen_object_store_bytes_total{provider="folder",direction="read"} 1024',
    ]) {
      assert.ok(shown.includes(line), `${line} is not in\n${shown.join('\n')}`)
    }
  })

  it('tells of an object only when it is stored', async () => {
    const { store, stored } = given
    async function* cut() {
      yield Buffer.alloc(5)
      throw new Error('the disk is gone')
    }
    await assert.rejects(store.putObject({ bucket, key: 'cut', body: cut() }))
    assert.ok(!stored.some(({ key }) => key === 'cut'))
  })
})
