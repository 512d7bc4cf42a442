import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createKubeClient } from '../create-kube-client.ts'
import type { ObservedRequest } from './observed-transport.ts'

describe('a client whose requests are observed', () => {
  const answers: (number | 'cut')[] = []
  const server = createServer((request, response) => {
    const status = answers.shift() ?? 200
    if (status === 'cut') request.socket.destroy()
    else response.writeHead(status, { 'content-type': 'application/json' }).end('{"a":1}')
  })

  before(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)))
  after(() => server.close())

  it('tells of every attempt by verb and status, and of those without an answer', async () => {
    const seen: Pick<ObservedRequest, 'verb' | 'status'>[] = []
    await using client = await createKubeClient({
      config: {
        server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        tls: {},
        origin: 'this test',
        credentials: async () => ({ headers: {} }),
        invalidate: () => undefined,
      },
      clock: { now: () => 0, sleep: async () => undefined },
      observer: ({ verb, status, tookMs }) => {
        assert.equal(tookMs, 0)
        seen.push({ verb, status })
      },
    })
    answers.push(503, 'cut', 200, 404)
    assert.equal(await client.getRaw('/version'), '{"a":1}')
    await assert.rejects(client.getRaw('/none'), { status: 404 })
    assert.deepEqual(seen, [
      { verb: 'get', status: 503 },
      { verb: 'get', status: undefined },
      { verb: 'get', status: 200 },
      { verb: 'get', status: 404 },
    ])
  })
})
