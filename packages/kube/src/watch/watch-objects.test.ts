import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { WatchEvent } from '../client.ts'
import { isForbidden, isGone, type KubeError } from '../errors.ts'
import type { ResourceType, Unstructured } from '../object.ts'
import { sendStatus, startFaultServer } from '../testing/fault-server.ts'

const widgets: ResourceType<Unstructured> = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}

function send(response: ServerResponse, type: string, resourceVersion: string): void {
  const object = { kind: 'Widget', apiVersion: 'example.com/v1', metadata: { name: 'é', resourceVersion } }
  response.write(`${JSON.stringify({ type, object })}\n`)
}

const askedVersion = (url: string) => new URL(url, 'http://x').searchParams.get('resourceVersion')

async function take(events: AsyncIterable<WatchEvent<Unstructured>>, count: number) {
  const taken: string[] = []
  for await (const event of events) {
    taken.push(
      event.type === 'BOOKMARK'
        ? `BOOKMARK ${event.resourceVersion}`
        : `${event.type} ${event.object.metadata.resourceVersion}`,
    )
    if (taken.length === count) break
  }
  return taken
}

describe('A watch', () => {
  it('resumes at the last version seen, bookmarks included, however connections end', async () => {
    await using server = await startFaultServer(({ url, socket }, response, number) => {
      response.writeHead(200)
      const version = Number(askedVersion(url))
      send(response, 'ADDED', String(version + 1))
      send(response, number === 2 ? 'BOOKMARK' : 'MODIFIED', String(version + 2))
      if (number === 1) response.end()
      else setTimeout(() => socket.resetAndDestroy(), 20)
    })
    const events = server.client.resource(widgets, 'n').watch({ resourceVersion: '10' })
    assert.deepEqual(await take(events, 6), [
      'ADDED 11',
      'MODIFIED 12',
      'ADDED 13',
      'BOOKMARK 14',
      'ADDED 15',
      'MODIFIED 16',
    ])
    assert.deepEqual(
      server.requests.map(request => askedVersion(request.slice(4))),
      ['10', '12', '14'],
    )
  })

  it('joins events that arrive in pieces, even inside a character', async () => {
    await using server = await startFaultServer(async (_request, response) => {
      const line = Buffer.from(
        '{"type":"ADDED","object":{"metadata":{"name":"\u00e9","resourceVersion":"2"}}}\n',
      )
      const cut = line.indexOf(0xc3) + 1
      response.write(line.subarray(0, cut))
      await new Promise(resolve => setTimeout(resolve, 20))
      response.write(line.subarray(cut))
    })
    for await (const event of server.client.resource(widgets, 'n').watch({ resourceVersion: '1' })) {
      assert.equal(event.type === 'ADDED' && event.object.metadata.name, 'é')
      break
    }
  })

  it('begins at the present when no version is given', async () => {
    await using server = await startFaultServer(({ url }, response) => {
      if (!url.includes('watch=true'))
        return void response.end('{"metadata":{"resourceVersion":"77"},"items":[]}')
      send(response, 'ADDED', '78')
    })
    assert.deepEqual(await take(server.client.resource(widgets, 'n').watch(), 1), ['ADDED 78'])
    assert.equal(askedVersion(server.requests[1]!.slice(4)), '77')
  })

  it('throws when its version is gone, be that said by status or by event', async () => {
    await using server = await startFaultServer((_request, response, number) => {
      const status = {
        kind: 'Status',
        code: 410,
        reason: number === 1 ? 'Gone' : 'Expired',
        message: 'too old resource version',
      }
      if (number === 1) return sendStatus(response, 410, status)
      response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
    })
    for (const _ of [1, 2]) {
      await assert.rejects(
        take(server.client.resource(widgets, 'n').watch({ resourceVersion: '1' }), 1),
        isGone,
      )
    }
  })

  it('throws what reconnecting would not cure', async () => {
    await using server = await startFaultServer((_request, response) => sendStatus(response, 403))
    await assert.rejects(
      take(server.client.resource(widgets, 'n').watch({ resourceVersion: '1' }), 1),
      isForbidden,
    )
    assert.equal(server.requests.length, 1)
  })

  it('reconnects for as long as it takes, with growing waits and respect for Retry-After', async () => {
    await using server = await startFaultServer(({ socket }, response, number) => {
      if (number === 21) return send(response, 'ADDED', '2')
      if (number === 20) return sendStatus(response.setHeader('retry-after', '7'), 429)
      if (number % 3 === 0) return sendStatus(response, 503)
      if (number % 3 === 1) return void response.end()
      socket.resetAndDestroy()
    })
    assert.deepEqual(await take(server.client.resource(widgets, 'n').watch({ resourceVersion: '1' }), 1), [
      'ADDED 2',
    ])
    assert.equal(server.waits.length, 20)
    assert.deepEqual(server.waits.slice(0, 3), [200, 400, 800])
    assert.equal(server.waits[18], 30_000)
    assert.equal(server.waits[19], 37_000)
  })

  it('takes a connection that has fallen silent for dead, and resumes', async () => {
    await using server = await startFaultServer(
      ({ url }, response) => send(response, 'ADDED', String(Number(askedVersion(url)) + 1)),
      { watchIdleTimeoutMs: 50 },
    )
    const events = server.client.resource(widgets, 'n').watch({ resourceVersion: '1' })
    assert.deepEqual(await take(events, 2), ['ADDED 2', 'ADDED 3'])
  })

  it('ends at once and closes its connection when its signal is aborted', async () => {
    await using server = await startFaultServer((_request, response) => {
      response.writeHead(200)
      send(response, 'ADDED', '2')
    })
    const abort = new AbortController()
    const reason = new Error('enough')
    const watching = (async () => {
      for await (const _event of server.client
        .resource(widgets, 'n')
        .watch({ resourceVersion: '1', signal: abort.signal })) {
        setTimeout(() => abort.abort(reason), 10)
      }
    })()
    await assert.rejects(watching, reason)
    while ((await server.connections()) > 0) await setImmediate()
  })

  it('asks for new credentials after 401 and fails at the second in a row', async () => {
    await using server = await startFaultServer((_request, response) => sendStatus(response, 401))
    const watching = take(server.client.resource(widgets, 'n').watch({ resourceVersion: '1' }), 1)
    await assert.rejects(watching, (error: KubeError) => error.code === 'Unauthorized')
    assert.equal(server.requests.length, 2)
  })
})
