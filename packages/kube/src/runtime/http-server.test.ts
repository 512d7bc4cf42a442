import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '../logger.ts'
import { chooseRoute, type Route, sendText, startHttpServer } from './http-server.ts'

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
