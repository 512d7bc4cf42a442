import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { KubeError } from '../errors.ts'
import type { ResourceType, Unstructured } from '../object.ts'
import { type Answer, sendStatus, startFaultServer } from '../testing/fault-server.ts'

const widgets: ResourceType<Unstructured> = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}

const nameOf = (number: number) => `w-${String(number).padStart(5, '0')}`
const numbered = (count: number) => Array.from({ length: count }, (_, number) => nameOf(number))

interface PageOptions {
  total: number
  version?: string
  /** Names in the order the server keeps them. */
  order?: (names: string[]) => string[]
  /** As the API server writes lists of custom resources. */
  metadataLast?: boolean
}

/** The page a request asks for; a continue token is the name to go on after. */
function pageFor(url: string, options: PageOptions) {
  const { total, version = '100', order = names => names, metadataLast = false } = options
  const query = new URL(url, 'http://x').searchParams
  const limit = Number(query.get('limit'))
  const names = order(numbered(total))
  const after = query.get('continue')
  const from = after === null ? 0 : names.indexOf(after) + 1
  const page = names.slice(from, from + limit)
  const more = from + limit < total
  const metadata = { resourceVersion: version, ...(more && { continue: page.at(-1) }) }
  const items = page.map(name => ({
    metadata: { name, namespace: 'n', labels: { note: 'a "quoted" ]}, text' } },
  }))
  const kind = { apiVersion: 'example.com/v1', kind: 'WidgetList' }
  return JSON.stringify(metadataLast ? { ...kind, items, metadata } : { ...kind, metadata, items })
}

function sendCut(response: ServerResponse, body: string, bytes: number): void {
  response.setHeader('content-length', Buffer.byteLength(body))
  response.write(body.slice(0, bytes), () => response.socket?.end())
}

const namesOf = (objects: Unstructured[]) => objects.map(object => object.metadata.name)

describe('A list', () => {
  it('hands out every object of every page once, with the apiVersion and kind its items leave out', async () => {
    await using server = await startFaultServer(
      ({ url }, response) => void response.end(pageFor(url, { total: 1234 })),
    )
    const listing = server.client.resource(widgets, 'n').list({ limit: 100, labelSelector: 'a=b' })
    const objects = await listing.toArray()
    assert.deepEqual(namesOf(objects), numbered(1234))
    assert.ok(objects.every(object => object.kind === 'Widget' && object.apiVersion === 'example.com/v1'))
    assert.equal(listing.resourceVersion, '100')
    assert.equal(server.requests.length, 13)
    assert.ok(server.requests.every(request => request.includes('labelSelector=a%3Db')))
  })

  it('of custom resources tells the version of its first page, which comes after the items', async () => {
    let version = 100
    await using server = await startFaultServer(
      ({ url }, response) =>
        void response.end(pageFor(url, { total: 250, version: `${version++}`, metadataLast: true })),
    )
    const listing = server.client.resource(widgets, 'n').list({ limit: 100 })
    assert.deepEqual(namesOf(await listing.toArray()), numbered(250))
    assert.equal(listing.resourceVersion, '100')
  })

  it('tells no version when its first page handed out objects and broke off before its version came', async () => {
    let requests = 0
    await using server = await startFaultServer(({ url }, response) => {
      const body = pageFor(url, { total: 50, version: `${++requests}`, metadataLast: true })
      if (requests === 1) sendCut(response, body, body.length - 60)
      else response.end(body)
    })
    const listing = server.client.resource(widgets, 'n').list({ limit: 100 })
    assert.deepEqual(namesOf(await listing.toArray()), numbered(50))
    assert.equal(listing.resourceVersion, undefined, 'what changed between the two readings would be missed')
  })

  it('goes on without repeating or leaving out objects, wherever bodies are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.nat({ max: 6000 })),
        fc.integer({ min: 1, max: 60 }),
        async (cuts, limit) => {
          let healthy = 0
          const answer: Answer = ({ url }, response, number) => {
            const body = pageFor(url, { total: 97 })
            const cut = cuts.next().value ?? 0
            if (cut < body.length && number % 3 !== 0) return sendCut(response, body, cut)
            healthy++
            response.end(body)
          }
          await using server = await startFaultServer(answer)
          const objects = await server.client.resource(widgets, 'n').list({ limit }).toArray()
          assert.deepEqual(namesOf(objects), numbered(97))
          assert.ok(healthy > 0)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('hands out the JSON of every object once, wherever bodies are cut', async () => {
    let requests = 0
    await using server = await startFaultServer(({ url }, response) => {
      const body = pageFor(url, { total: 1000, metadataLast: ++requests % 2 === 0 })
      if (requests % 3 === 1) sendCut(response, body, (requests * 7919) % body.length)
      else response.end(body)
    })
    const listing = server.client.resource(widgets, 'n').listEncoded({ limit: 90 })
    const objects: Unstructured[] = []
    for await (const { json, name, namespace, labels } of listing) {
      const object = JSON.parse(Buffer.from(json).toString()) as Unstructured
      assert.deepEqual({ name, namespace, labels }, object.metadata)
      objects.push(object)
    }
    assert.deepEqual(objects, await server.client.resource(widgets, 'n').list({ limit: 90 }).toArray())
    assert.deepEqual(namesOf(objects), numbered(1000))
  })

  it('of encoded objects does not take an item without a name for an object', async () => {
    await using server = await startFaultServer(
      (_request, response) => void response.end('{"metadata":{},"items":[{"metadata":{}}]}'),
      { retry: { attempts: 1 } },
    )
    const list = server.client.resource(widgets, 'n').listEncoded().toArray()
    await assert.rejects(list, (error: KubeError) => error.code === 'BodyMalformed')
  })

  it('reads compressed pages, and goes on where one of those is cut', async () => {
    const cut = new Set<string>()
    await using server = await startFaultServer(({ url, headers }, response) => {
      assert.equal(headers['accept-encoding'], 'gzip')
      const bytes = gzipSync(pageFor(url, { total: 2000 }))
      response.setHeader('content-encoding', 'gzip')
      response.end(cut.has(url) ? bytes : bytes.subarray(0, bytes.length / 2))
      cut.add(url)
    })
    const objects = await server.client.resource(widgets, 'n').list({ limit: 300 }).toArray()
    assert.deepEqual(namesOf(objects), numbered(2000))
  })

  it('asks for larger pages while the reader keeps up', async () => {
    await using server = await startFaultServer(
      ({ url }, response) => void response.end(pageFor(url, { total: 20_000 })),
    )
    assert.equal((await server.client.resource(widgets, 'n').list().toArray()).length, 20_000)
    const limits = server.requests.map(request => Number(/limit=(\d+)/.exec(request)?.[1]))
    assert.deepEqual(limits, [500, 500, 10_000, 10_000])
  })

  it('goes on with the token that comes with 410', async () => {
    let expired = false
    await using server = await startFaultServer(({ url }, response) => {
      if (url.includes(`continue=${nameOf(19)}`) && !expired) {
        expired = true
        return sendStatus(response, 410, { reason: 'Expired', metadata: { continue: nameOf(19) } })
      }
      response.end(pageFor(url, { total: 50, version: expired ? '200' : '100' }))
    })
    const listing = server.client.resource(widgets, 'n').list({ limit: 10 })
    assert.deepEqual(namesOf(await listing.toArray()), numbered(50))
    assert.equal(listing.resourceVersion, '100', 'a watch must begin where the oldest part was read')
  })

  it('starts over after 410 without a token, and skips what it has handed out', async () => {
    let expired = false
    await using server = await startFaultServer(({ url }, response) => {
      if (url.includes(`continue=${nameOf(19)}`) && !expired) {
        expired = true
        return sendStatus(response, 410, { reason: 'Expired' })
      }
      response.end(pageFor(url, { total: 50 }))
    })
    assert.deepEqual(
      namesOf(await server.client.resource(widgets, 'n').list({ limit: 10 }).toArray()),
      numbered(50),
    )
    assert.equal(server.requests.filter(request => !request.includes('continue')).length, 2)
  })

  it('gives up when every token is answered with 410', async () => {
    await using server = await startFaultServer(({ url }, response) => {
      if (url.includes('continue')) return sendStatus(response, 410, { reason: 'Expired' })
      response.end(pageFor(url, { total: 50 }))
    })
    const list = server.client.resource(widgets, 'n').list({ limit: 10 }).toArray()
    await assert.rejects(list, (error: KubeError) => error.status === 410)
  })

  it('says that it cannot go on when the server does not order what it lists', async () => {
    await using server = await startFaultServer(({ url }, response, number) => {
      const body = pageFor(url, { total: 50, order: names => names.toReversed() })
      if (number === 1) sendCut(response, body, body.length - 100)
      else response.end(body)
    })
    const list = server.client.resource(widgets, 'n').list().toArray()
    await assert.rejects(list, (error: KubeError) => error.code === 'ListUnordered')
  })

  it('does not take an answer without items for an empty list', async () => {
    await using server = await startFaultServer(
      (_request, response) => void response.end('{"kind":"Widget"}'),
      {
        retry: { attempts: 1 },
      },
    )
    const list = server.client.resource(widgets, 'n').list().toArray()
    await assert.rejects(list, (error: KubeError) => error.code === 'BodyMalformed')
  })

  it('lists nothing where items is null', async () => {
    await using server = await startFaultServer(
      (_request, response) => void response.end('{"metadata":{"resourceVersion":"5"},"items":null}'),
    )
    const listing = server.client.resource(widgets, 'n').list()
    assert.deepEqual(await listing.toArray(), [])
    assert.equal(listing.resourceVersion, '5')
  })

  it('closes its connections when the caller stops reading', async () => {
    await using server = await startFaultServer(({ url }, response) => {
      const body = pageFor(url, { total: 5000 })
      response.write(body.slice(0, body.length / 2))
    })
    for await (const object of server.client.resource(widgets, 'n').list({ limit: 1000 })) {
      assert.equal(object.metadata.name, nameOf(0))
      break
    }
    while ((await server.connections()) > 0) await setImmediate()
  })

  it('ends with the reason of its signal in the middle of a page', async () => {
    await using server = await startFaultServer(({ url }, response) => {
      const body = pageFor(url, { total: 5000 })
      response.write(body.slice(0, body.length / 2))
    })
    const abort = new AbortController()
    const reason = new Error('enough')
    const seen: unknown[] = []
    const list = async () => {
      for await (const object of server.client
        .resource(widgets, 'n')
        .list({ limit: 1000, signal: abort.signal })) {
        if (seen.push(object) === 10) abort.abort(reason)
      }
    }
    await assert.rejects(list, reason)
    while ((await server.connections()) > 0) await setImmediate()
  })
})
