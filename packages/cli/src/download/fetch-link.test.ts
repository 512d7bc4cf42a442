import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { type FetchOptions, fetchLink } from './fetch-link.ts'

const servers: Server[] = []
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function options(more: Partial<FetchOptions> = {}): FetchOptions {
  return {
    trust: { certificates: [], insecure: false },
    env: {},
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    ...more,
  }
}

describe('fetchLink', () => {
  it('brings the body of a link', async () => {
    const url = await answering((request, response) => void response.end(`you asked for ${request.url}`))
    assert.equal(await text(await fetchLink(`${url}/a?b=c`, options())), 'you asked for /a?b=c')
  })

  it('follows redirects, but not for ever', async () => {
    const url = await answering((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) return void response.end('there')
      response.writeHead(307, { location: `/${left < 0 ? left : left - 1}` }).end()
    })
    assert.equal(await text(await fetchLink(`${url}/3`, options())), 'there')
    await assert.rejects(fetchLink(`${url}/-1`, options()), { code: 'DOWNLOAD', message: /redirects again/ })
  })

  it('knows a file that is not there from other refusals', async () => {
    const url = await answering((request, response) => {
      response.writeHead(Number(request.url?.slice(1))).end(`because ${'x'.repeat(10_000)}`)
    })
    await assert.rejects(fetchLink(`${url}/404`, options()), { code: 'NO_FILE' })
    await assert.rejects(fetchLink(`${url}/403`, options()), (error: Error & { code: string }) => {
      assert.equal(error.code, 'DOWNLOAD')
      assert.match(error.message, /answered 403 instead of the file: because x+$/)
      return error.message.length < 3_000
    })
  })

  it('says when nobody is there', async () => {
    const url = await answering(() => {})
    const gone = servers.pop()
    gone?.close()
    await once(gone as Server, 'close')
    await assert.rejects(fetchLink(url, options()), { code: 'UNREACHABLE', hint: /publicUrl/ })
    await assert.rejects(fetchLink('http://nowhere.invalid/', options()), { code: 'UNREACHABLE' })
  })

  it('does not wait for ever for an answer, nor for more of it', async () => {
    const silent = await answering(() => {})
    await assert.rejects(fetchLink(silent, options({ timeoutMs: 50 })), {
      code: 'UNREACHABLE',
      message: /silent/,
    })
    const stalling = await answering((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('start')
    })
    const rest = await fetchLink(stalling, options())
    // The same limit, once the head is there.
    rest.socket.setTimeout(50)
    await assert.rejects(text(rest), /silent|aborted/)
  })

  it('fails while reading when the body breaks off', async () => {
    const url = await answering((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('start')
      setImmediate(() => response.destroy())
    })
    await assert.rejects(text(await fetchLink(url, options())), /aborted/)
  })

  it('ends with the reason of the signal', async () => {
    const url = await answering(() => {})
    const interruption = new AbortController()
    const fetching = fetchLink(url, options({ signal: interruption.signal }))
    interruption.abort(new Error('interrupted'))
    await assert.rejects(fetching, /interrupted/)
  })

  it('goes through the proxy of the environment', async () => {
    const proxy = await answering((request, response) => void response.end(`proxied ${request.url}`))
    const got = await fetchLink('http://store.invalid/file', options({ env: { HTTP_PROXY: proxy } }))
    assert.equal(await text(got), 'proxied http://store.invalid/file')
  })

  it('refuses links that are no web addresses', async () => {
    await assert.rejects(fetchLink('file:///etc/passwd', options()), { code: 'DOWNLOAD' })
  })
})
