import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { FencedError, LeaseFence } from '@lateen/kube'
import { FencedHttpAgent } from './fenced-agents.ts'

describe('a fenced agent', () => {
  const asked: string[] = []
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    incoming.resume().on('end', () => response.end('ok'))
  })
  const time = { now: 0 }
  let agent: FencedHttpAgent

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  function newAgent(): void {
    time.now = 0
    asked.length = 0
    const fence = new LeaseFence(() => time.now)
    fence.hold(1_000)
    agent = new FencedHttpAgent({ keepAlive: true }, fence)
  }

  async function send(method: string, path: string, onSocket?: () => void): Promise<number | undefined> {
    const { port } = server.address() as AddressInfo
    const sent = request({ host: '127.0.0.1', port, method, path, agent })
    if (onSocket !== undefined) sent.once('socket', onSocket)
    sent.end(method === 'PUT' || method === 'POST' ? 'body' : undefined)
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode
  }

  const isFenced = (error: unknown) => error instanceof FencedError

  it('sends changes while the fence is open, on new and on kept connections', async () => {
    newAgent()
    assert.equal(await send('PUT', '/a'), 200)
    assert.equal(await send('DELETE', '/a'), 200)
    assert.deepEqual(asked, ['PUT /a', 'DELETE /a'])
    agent.destroy()
  })

  it('sends none once it is closed, and reads on', async () => {
    newAgent()
    await send('GET', '/kept')
    time.now = 1_000
    for (const method of ['PUT', 'POST', 'DELETE']) await assert.rejects(send(method, '/a?x=1'), isFenced)
    assert.equal(await send('GET', '/a'), 200)
    assert.deepEqual(asked, ['GET /kept', 'GET /a'])
    agent.destroy()
  })

  it('sends none whose connection was made while the fence closed', async () => {
    newAgent()
    const sending = send('PUT', '/a', () => {
      time.now = 1_000
    })
    await assert.rejects(sending, isFenced)
    assert.deepEqual(asked, [])
    agent.destroy()
  })

  it('lets parts of an unfinished upload be taken back', async () => {
    newAgent()
    time.now = 1_000
    assert.equal(await send('DELETE', '/a?uploadId=1&x-id=AbortMultipartUpload'), 200)
    agent.destroy()
  })
})
