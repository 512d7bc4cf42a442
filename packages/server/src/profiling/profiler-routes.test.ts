import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type HttpServer, silentLogger, startHttpServer, systemClock } from '@lateen/kube'
import { profilerRoutes } from './profiler-routes.ts'

let turns = 0

function spinTheCapstan(): void {
  for (let step = 0; step < 2e6; step += 1) turns += Math.sqrt(step)
}

describe('profiles of the process', { concurrency: false }, () => {
  let server: HttpServer
  const get = (path: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { ...(signal && { signal }) })

  before(async () => {
    server = await startHttpServer({ host: '127.0.0.1', port: 0 }, profilerRoutes(systemClock), silentLogger)
  })
  after(async () => {
    server.cut()
    await server[Symbol.asyncDispose]()
  })

  it('hold what was computed meanwhile', async () => {
    let ended = false
    const profiling = get('/debug/cpu?seconds=5').finally(() => {
      ended = true
    })
    // Of what was compiled into something else before, a profile does not know the name.
    while (!ended && (await get('/debug/cpu?seconds=0')).status !== 429);
    const busy = setInterval(spinTheCapstan, 5)
    const response = await profiling
    const profile = (await response.json()) as {
      nodes: { callFrame: { functionName: string } }[]
      samples: number[]
    }
    clearInterval(busy)
    assert.ok(turns > 0)
    assert.equal(response.headers.get('content-disposition'), 'attachment; filename="lateen.cpuprofile"')
    const names = profile.nodes.map(({ callFrame }) => callFrame.functionName)
    assert.ok(names.includes('spinTheCapstan'), names.join())
    assert.ok(profile.samples.length > 0)
  })

  it('hold every object of the heap', async () => {
    class CaptainOfTheMetrics {
      readonly name = 'a captain that is only here'
    }
    const kept = new CaptainOfTheMetrics()
    const response = await get('/debug/heap')
    const snapshot = (await response.json()) as { snapshot: { node_count: number }; strings: string[] }
    assert.ok(snapshot.snapshot.node_count > 1_000)
    assert.ok(snapshot.strings.includes('CaptainOfTheMetrics'))
    assert.ok(snapshot.strings.includes(kept.name))
  })

  it('are taken one at a time, and a client that leaves makes room', async () => {
    const leaving = new AbortController()
    const first = get('/debug/cpu?seconds=300', leaving.signal)
    let refused = await get('/debug/cpu?seconds=0')
    while (refused.status !== 429) refused = await get('/debug/cpu?seconds=0')
    assert.match(await refused.text(), /another profile/)
    assert.equal((await get('/debug/heap')).status, 429)
    leaving.abort()
    await assert.rejects(first, { name: 'AbortError' })
    let next = await get('/debug/cpu?seconds=1')
    while (next.status === 429) next = await get('/debug/cpu?seconds=1')
    assert.equal(next.status, 200)
    await next.body?.cancel()
  })

  for (const seconds of ['0', '301', '-1', '1.5', 'ten', '', '1e9']) {
    it(`are not taken for ${JSON.stringify(seconds)} seconds`, async () => {
      const response = await get(`/debug/cpu?seconds=${seconds}`)
      assert.equal(response.status, 400)
      assert.match(await response.text(), /from 1 to 300/)
    })
  }

  it('are only read', async () => {
    const { port } = server
    for (const path of ['/debug/heap', '/debug/cpu']) {
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' })).status, 405)
    }
    assert.match(await (await get('/debug/')).text(), /heap/)
    assert.equal((await get('/metrics')).status, 404)
  })
})
