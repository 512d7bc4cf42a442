import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createKubeClient } from '../create-kube-client.ts'
import { FencedError } from '../fence.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { LeaseFence } from '../runtime/lease-fence.ts'

const ConfigMapKind: ResourceType<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
}

const isFenced = (error: unknown) => error instanceof FencedError

describe('a client with a fence', () => {
  const asked: string[] = []
  let server: Server
  let answer: (request: IncomingMessage, response: ServerResponse) => void = ok

  function ok(_: IncomingMessage, response: ServerResponse): void {
    response.end('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}')
  }

  before(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      answer(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  async function clientWith(fence: LeaseFence, connections = 2) {
    const { port } = server.address() as AddressInfo
    const config = {
      server: `http://127.0.0.1:${port}`,
      tls: {},
      origin: 'a test',
      credentials: async () => ({ headers: {} }),
      invalidate: () => undefined,
    }
    const retry = { baseMs: 1, capMs: 1 }
    const client = await createKubeClient({ config, fence, connections, retry })
    asked.length = 0
    answer = ok
    return { client, maps: client.resource(ConfigMapKind, 'default') }
  }

  function open() {
    const time = { now: 0 }
    const fence = new LeaseFence(() => time.now)
    fence.hold(1_000)
    return { time, fence }
  }

  it('sends changes while the fence is open', async () => {
    const { client, maps } = await clientWith(open().fence)
    await using _ = client
    await maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    assert.deepEqual(asked, ['POST /api/v1/namespaces/default/configmaps'])
  })

  it('sends no change of any kind once it is closed, and reads on', async () => {
    const { time, fence } = open()
    const { client, maps } = await clientWith(fence)
    await using _ = client
    time.now = 1_000
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    await assert.rejects(maps.create(object), isFenced)
    await assert.rejects(maps.update(object), isFenced)
    await assert.rejects(maps.patch('a', { type: 'merge', body: {} }), isFenced)
    await assert.rejects(maps.delete('a'), isFenced)
    await assert.rejects(client.exec({ namespace: 'default', name: 'a' }, { command: ['true'] }), isFenced)
    assert.deepEqual(asked, [])
    await maps.get('a')
    assert.deepEqual(asked, ['GET /api/v1/namespaces/default/configmaps/a'])
  })

  it('does not repeat a change that failed while the fence was open', async () => {
    const { time, fence } = open()
    const { client, maps } = await clientWith(fence)
    await using _ = client
    answer = (_, response) => {
      time.now = 1_000
      response.writeHead(503, { 'retry-after': '0' }).end()
    }
    await assert.rejects(maps.patch('a', { type: 'merge', body: {} }), isFenced)
    assert.equal(asked.length, 1)
  })

  it('does not send a change that waited for a connection while the fence closed', async () => {
    const { time, fence } = open()
    const { client, maps } = await clientWith(fence, 1)
    await using _ = client
    const reached = Promise.withResolvers<() => void>()
    answer = (request, response) => reached.resolve(() => ok(request, response))
    const first = maps.patch('a', { type: 'merge', body: {} })
    const second = maps.patch('b', { type: 'merge', body: {} })
    const letGo = await reached.promise
    time.now = 1_000
    letGo()
    await first
    await assert.rejects(second, isFenced)
    assert.deepEqual(asked, ['PATCH /api/v1/namespaces/default/configmaps/a'])
  })
})
