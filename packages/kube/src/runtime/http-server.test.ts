import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { silentLogger } from '../logger.ts'
import { chooseRoute, type HttpLimits, type Route, sendText, startHttpServer } from './http-server.ts'

const say = (path: string): Route => ({ path, handler: (_, response) => sendText(response, 200, path) })

async function serving(routes: readonly Route[], use: (url: string) => Promise<void>): Promise<void> {
  await using server = await startHttpServer({ host: '127.0.0.1', port: 0 }, routes, silentLogger)
  await use(`http://127.0.0.1:${server.port}`)
}

describe('chooseRoute', () => {
  const routes = [say('/'), say('/files/'), say('/files/list'), say('/healthz')]
  const cases = [
    ['/healthz', '/healthz'],
    ['/healthzz', '/'],
    ['/files/a/b', '/files/'],
    ['/files/list', '/files/list'],
    ['/files', '/'],
  ] as const
  for (const [path, chosen] of cases) {
    it(`answers ${path} by ${chosen}`, () => assert.equal(chooseRoute(routes, path)?.path, chosen))
  }
})

describe('http server', () => {
  it('serves routes and ignores the query when choosing', async () => {
    await serving([say('/files/')], async url => {
      const response = await fetch(`${url}/files/x?signature=1`)
      assert.equal(await response.text(), '/files/')
    })
  })

  it('answers 404 for unknown paths and 405 for methods a route does not take', async () => {
    await serving([say('/healthz')], async url => {
      assert.equal((await fetch(`${url}/nowhere`)).status, 404)
      assert.equal((await fetch(`${url}/healthz`, { method: 'POST' })).status, 405)
    })
  })

  it('answers 500 when a handler throws and goes on serving', async () => {
    const broken: Route = { path: '/broken', handler: () => Promise.reject(new Error('broken')) }
    const sync: Route = {
      path: '/sync',
      handler: () => {
        throw new Error('broken')
      },
    }
    await serving([broken, sync, say('/healthz')], async url => {
      assert.equal((await fetch(`${url}/broken`)).status, 500)
      assert.equal((await fetch(`${url}/sync`)).status, 500)
      assert.equal((await fetch(`${url}/healthz`)).status, 200)
    })
  })

  it('says which port it could not have', async () => {
    await serving([], async url => {
      const port = Number(new URL(url).port)
      await assert.rejects(startHttpServer({ host: '127.0.0.1', port }, [], silentLogger), {
        code: 'HTTP_LISTEN_FAILED',
        message: new RegExp(`127\\.0\\.0\\.1 port ${port}`),
      })
    })
  })
})

describe('http server against clients that mean no good', { concurrency: true }, () => {
  // Long enough for what is sent at once to be read before they run out, on a busy machine too.
  const quick = { headers: 2_000, request: 3_000, look: 20 }

  /** Sends bytes, and resolves to all that comes back until the server hangs up. */
  function answerTo(port: number, text: string): Promise<string> {
    return new Promise(resolve => {
      let answer = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      socket.setEncoding('utf8').on('data', data => {
        answer += data
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(answer))
    })
  }

  async function attacked(limits: Partial<HttpLimits>, text: string): Promise<string> {
    const options = { host: '127.0.0.1', port: 0, limits }
    await using server = await startHttpServer(options, [say('/healthz')], silentLogger)
    const answer = await answerTo(server.port, text)
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200)
    return answer
  }

  it('hangs up on headers that never end (slowloris)', async () => {
    assert.match(await attacked(quick, 'GET /healthz HTTP/1.1\r\nhost: a\r\nx: '), /^(?:HTTP\/1.1 408|$)/)
  })

  it('hangs up on a connection that says nothing', async () => {
    assert.match(await attacked(quick, ''), /^(?:HTTP\/1.1 408|$)/)
  })

  it('hangs up on a body that never ends', async () => {
    const text = 'GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx'
    assert.match(await attacked(quick, text), /^HTTP\/1.1 200/)
  })

  it('refuses headers that are too large', async () => {
    const text = `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(64 * 1024)}\r\n\r\n`
    assert.match(await attacked({}, text), /^HTTP\/1.1 431/)
  })

  it('refuses what is no HTTP, and lengths that contradict each other (request smuggling)', async () => {
    assert.match(await attacked({}, 'MAKE ME A SANDWICH\r\n\r\n'), /^HTTP\/1.1 400/)
    const lengths = 'content-length: 4\r\ntransfer-encoding: chunked'
    const text = `GET /healthz HTTP/1.1\r\nhost: a\r\n${lengths}\r\n\r\n0\r\n\r\n`
    assert.match(await attacked({}, text), /^HTTP\/1.1 400/)
  })

  it('takes no more connections at once than it may, and others once there is room', async () => {
    const options = { host: '127.0.0.1', port: 0, limits: { ...quick, connections: 2 } }
    await using server = await startHttpServer(options, [say('/healthz')], silentLogger)
    const answers = await Promise.all(Array.from({ length: 8 }, () => answerTo(server.port, '')))
    // The others are hung up on without a word.
    assert.deepEqual(answers.map(answer => answer.slice(0, 12)).toSorted(), [
      ...Array(6).fill(''),
      ...Array(2).fill('HTTP/1.1 408'),
    ])
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200)
  })
})
