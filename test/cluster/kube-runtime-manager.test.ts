import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  again,
  createKubeClient,
  createManager,
  done,
  type KubeClient,
  LeaseKind,
  loadKubeConfig,
  type Manager,
  type ManagerOptions,
  periodically,
  type Reconcile,
  sendText,
  silentLogger,
  splitKey,
  systemClock,
  TerminalError,
  watching,
} from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { ConfigMapKind } from './core-kinds.ts'

const given = await givenCluster()
const namespace = `kube-runtime-manager-${process.pid}`
const backoff = { baseMs: 20, maxMs: 200, jitter: 0 }

function eventually<T>(ask: () => T | undefined | false, what: string): Promise<T> {
  return waitUntil(async () => ask(), {
    timeoutMs: 60_000,
    failure: () => new Error(`did not happen: ${what}`),
    everyMs: 10,
  })
}

describe('manager', { skip: given.skip, timeout: 600_000 }, () => {
  let client: KubeClient
  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await given.cluster.kubectl(['create', 'namespace', namespace])
  })
  after(async () => {
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  function newManager(options: Partial<ManagerOptions> = {}): Manager {
    return createManager({ client, log: silentLogger, http: { host: '127.0.0.1', port: 0 }, ...options })
  }

  /** ConfigMaps that carry this label, so that tests do not see each other's. */
  function labelled(test: string) {
    return { namespace, labelSelector: `test=${test}` }
  }

  async function create(test: string, name: string, data: Record<string, string> = {}): Promise<void> {
    const metadata = { name: `${test}-${name}`, labels: { test } }
    await client
      .resource(ConfigMapKind, namespace)
      .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
  }

  function listening(manager: Manager): Promise<string> {
    const url = () => (manager.httpPort === undefined ? undefined : `http://127.0.0.1:${manager.httpPort}`)
    return eventually(url, 'the manager listens')
  }

  /** Runs a manager for as long as `use` takes and waits until it has stopped. */
  async function running(manager: Manager, use: (url: string) => Promise<void>): Promise<void> {
    const stop = new AbortController()
    const ended = manager.run(stop.signal)
    ended.catch(() => {})
    try {
      await eventually(() => manager.isLeading, 'the manager leads')
      await use(await listening(manager))
    } finally {
      stop.abort()
    }
    await ended
  }

  it('reconciles what is there and what comes, once for objects that are done', async () => {
    await create('done', 'old')
    const manager = newManager()
    const seen: string[] = []
    const informer = manager.informer(ConfigMapKind, labelled('done'))
    const reconcile: Reconcile = key => {
      const { name } = splitKey(key)
      seen.push(informer.get(key) === undefined ? `${name} is gone` : name)
      return Promise.resolve(done())
    }
    manager.addController({ name: 'done', sources: [watching({ informer })], reconcile })
    await running(manager, async () => {
      await create('done', 'new')
      await eventually(() => seen.includes('done-new'), 'the new one is reconciled')
      await client.resource(ConfigMapKind, namespace).delete('done-old')
      await eventually(() => seen.length >= 3, 'the deletion is reconciled')
    })
    assert.deepEqual(seen, ['done-old', 'done-new', 'done-old is gone'])
  })

  it('retries failures with growing waits until they succeed, and obeys terminal errors', async () => {
    const manager = newManager()
    const waits: number[] = []
    const calls = new Map<string, number>()
    const reconcile: Reconcile = key => {
      const call = (calls.get(key) ?? 0) + 1
      calls.set(key, call)
      if (key.endsWith('terminal')) throw new TerminalError('Nothing helps')
      if (call <= 3) throw new Error('Not yet')
      return Promise.resolve(call === 4 ? again({ afterMs: 30 }) : done())
    }
    const informer = manager.informer(ConfigMapKind, labelled('retry'))
    const observer = { retried: (_: string, delayMs: number) => waits.push(delayMs) }
    manager.addController({ name: 'retry', sources: [watching({ informer })], reconcile, backoff, observer })
    await running(manager, async () => {
      await create('retry', 'terminal')
      await create('retry', 'stubborn')
      await eventually(
        () => calls.get(`${namespace}/retry-stubborn`) === 5,
        'three failures, a wait, and done',
      )
      await sleep(300)
    })
    assert.deepEqual(waits, [20, 40, 80])
    assert.deepEqual(Object.fromEntries(calls), {
      [`${namespace}/retry-terminal`]: 1,
      [`${namespace}/retry-stubborn`]: 5,
    })
  })

  it('filters by predicate, maps to other keys, asks about both states of an update, and polls', async () => {
    const manager = newManager()
    const seen = new Set<string>()
    const informer = manager.informer(ConfigMapKind, labelled('sources'))
    const source = watching({
      informer,
      predicate: event => event.type !== 'added',
      toKeys: object => [`owner/${object.data?.owner}`],
    })
    const poll = periodically({ everyMs: 50, keys: () => ['polled/key'] })
    const reconcile: Reconcile = key => {
      seen.add(key)
      return Promise.resolve(done())
    }
    manager.addController({ name: 'sources', sources: [source, poll], reconcile })
    await running(manager, async () => {
      await create('sources', 'a', { owner: 'first' })
      await eventually(() => informer.size === 1, 'the informer has it')
      assert.equal(seen.has('owner/first'), false)
      const body = { data: { owner: 'second' } }
      await client.resource(ConfigMapKind, namespace).patch('sources-a', { type: 'merge', body })
      await eventually(() => seen.size === 3, 'all keys')
    })
    assert.deepEqual(seen, new Set(['polled/key', 'owner/first', 'owner/second']))
  })

  it('gives controllers of one kind the same informer, with the indexes of all', () => {
    const manager = newManager()
    const one = manager.informer(ConfigMapKind, { namespace, indexes: { first: () => ['x'] } })
    const two = manager.informer(ConfigMapKind, { namespace, indexes: { second: () => ['x'] } })
    assert.equal(one, two)
    assert.deepEqual([one.byIndex('first', 'x'), one.byIndex('second', 'x')], [[], []])
    assert.notEqual(one, manager.informer(ConfigMapKind, { namespace, labelSelector: 'a=b' }))
    assert.throws(() => manager.informer(ConfigMapKind, { namespace, resyncMs: 5 }), {
      code: 'INFORMER_OPTIONS_DIFFER',
    })
  })

  it("serves health, readiness, metrics and its owner's routes", async () => {
    const manager = newManager()
    manager.informer(ConfigMapKind, labelled('http'))
    let plugins: string | undefined = 'still loading'
    let disk = () => Promise.reject<undefined>(new Error('cannot be read'))
    manager.addReadinessCheck({ name: 'plugins', check: () => plugins })
    manager.addReadinessCheck({ name: 'disk', check: () => disk() })
    manager.addMetrics(() => 'lateen_up 1')
    manager.addMetrics(() => Promise.resolve('lateen_backups 2\n'))
    manager.addRoute({
      path: '/downloads/',
      handler: (request, response) => sendText(response, 200, `${request.url}`),
    })
    assert.throws(() => manager.addRoute({ path: '/healthz', handler: () => {} }), { code: 'ROUTE_TAKEN' })
    await running(manager, async url => {
      const get = async (path: string) => {
        const response = await fetch(`${url}${path}`)
        return [response.status, await response.text()]
      }
      assert.deepEqual(await get('/healthz'), [200, 'ok\n'])
      assert.deepEqual(await get('/readyz'), [503, 'plugins: still loading\ndisk: cannot be read\n'])
      plugins = undefined
      disk = () => Promise.resolve(undefined)
      assert.deepEqual(await get('/readyz'), [200, 'ok\n'])
      assert.deepEqual(await get('/metrics'), [200, 'lateen_up 1\nlateen_backups 2\n'])
      assert.deepEqual(await get('/downloads/a?b=c'), [200, '/downloads/a?b=c'])
    })
    assert.equal(manager.httpPort, undefined)
  })

  it('reports a standby as ready and not leading', async () => {
    const election = { namespace, name: 'standby', leaseDurationMs: 60_000 }
    const leader = newManager({ leaderElection: { ...election, identity: 'leader' } })
    const standby = newManager({ leaderElection: { ...election, identity: 'standby', retryPeriodMs: 50 } })
    await running(leader, async () => {
      const stop = new AbortController()
      const ended = standby.run(stop.signal)
      const url = `${await listening(standby)}/readyz`
      await waitUntil(async () => (await fetch(url)).ok, {
        timeoutMs: 60_000,
        failure: () => new Error('not ready'),
      })
      assert.deepEqual([leader.isLeading, standby.isLeading], [true, false])
      stop.abort()
      await ended
      assert.equal(
        (await client.resource(LeaseKind, namespace).get('standby')).spec?.holderIdentity,
        'leader',
      )
    })
  })

  it('says in one error which kinds it could not list, and why', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using hasty = await createKubeClient({ config, retry: { attempts: 1 } })
    // The time is up when the test says so: a slow machine may take long to list what is there.
    const syncTimeoutMs = 1_234_567
    const isUp = Promise.withResolvers<void>()
    const sleep = (ms: number, signal?: AbortSignal) =>
      ms === syncTimeoutMs ? isUp.promise : systemClock.sleep(ms, signal)
    const manager = newManager({ client: hasty, syncTimeoutMs, clock: { ...systemClock, sleep } })
    const known = manager.informer(ConfigMapKind, { namespace })
    const widgets = { ...ConfigMapKind, group: 'example.dev', plural: 'widgets' }
    const unknown = manager.informer(widgets, { namespace })
    const started = manager.run(new AbortController().signal)
    started.catch(() => {})
    const url = await listening(manager)
    await eventually(() => known.hasSynced && unknown.lastError !== undefined, 'both were asked for')
    const readiness = await fetch(`${url}/readyz`)
    assert.equal(readiness.status, 503)
    assert.match(await readiness.text(), /informer example\.dev\/v1\/widgets in .* has not synced/)
    isUp.resolve()
    await assert.rejects(started, (error: Error & { code: string }) => {
      assert.equal(error.code, 'INFORMERS_NOT_SYNCED')
      assert.match(error.message, /example\.dev\/v1\/widgets/)
      assert.doesNotMatch(error.message, /v1\/configmaps/)
      assert.ok(error.cause instanceof Error)
      return true
    })
    assert.equal(manager.httpPort, undefined)
  })

  it('says that its port is taken', async () => {
    await running(newManager(), async url => {
      const port = Number(new URL(url).port)
      const second = newManager({ http: { host: '127.0.0.1', port } })
      await assert.rejects(second.run(new AbortController().signal), { code: 'HTTP_LISTEN_FAILED' })
    })
  })

  it('lets a running reconcile finish on a stop, and is not ready meanwhile', async () => {
    await create('drain', 'a')
    const manager = newManager()
    const informer = manager.informer(ConfigMapKind, labelled('drain'))
    const begun = Promise.withResolvers<void>()
    const mayFinish = Promise.withResolvers<void>()
    let finished = 0
    const reconcile: Reconcile = async () => {
      begun.resolve()
      await mayFinish.promise
      finished += 1
      return again({ afterMs: 1 })
    }
    manager.addController({ name: 'drain', sources: [watching({ informer })], reconcile })
    const stop = new AbortController()
    const ended = manager.run(stop.signal)
    await begun.promise
    stop.abort()
    const readiness = await fetch(`http://127.0.0.1:${manager.httpPort}/readyz`)
    assert.deepEqual([readiness.status, await readiness.text()], [503, 'stopping\n'])
    mayFinish.resolve()
    await ended
    assert.equal(finished, 1)
  })

  it('aborts a reconcile that outlasts the grace time', async () => {
    await create('abort', 'a')
    const manager = newManager({ stopGraceMs: 100 })
    const informer = manager.informer(ConfigMapKind, labelled('abort'))
    const begun = Promise.withResolvers<void>()
    const reconcile: Reconcile = async (_, { signal }) => {
      begun.resolve()
      await sleep(600_000, undefined, { signal })
      return done()
    }
    manager.addController({ name: 'abort', sources: [watching({ informer })], reconcile })
    const stop = new AbortController()
    const ended = manager.run(stop.signal)
    await begun.promise
    stop.abort()
    await ended
  })

  it('stops everything when a task throws', async () => {
    const manager = newManager()
    manager.addTask({ name: 'broken', run: () => Promise.reject(new Error('The task broke')) })
    await assert.rejects(manager.run(new AbortController().signal), /The task broke/)
    assert.equal(manager.httpPort, undefined)
  })

  it('stops quietly when asked before its informers have synced', async () => {
    const manager = newManager()
    manager.informer(ConfigMapKind, { namespace })
    const stop = new AbortController()
    const ended = manager.run(stop.signal)
    stop.abort()
    await ended
    assert.equal(manager.isLeading, false)
    assert.throws(() => manager.informer(ConfigMapKind), { code: 'ALREADY_RUNNING' })
  })
})
