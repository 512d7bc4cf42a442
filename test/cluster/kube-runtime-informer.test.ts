import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  createKubeClient,
  Informer,
  type InformerOptions,
  type KubeClient,
  keyOf,
  loadKubeConfig,
  type ObjectEvent,
  silentLogger,
  systemClock,
  withoutManagedFields,
} from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type ConfigMap, ConfigMapKind, NamespaceKind } from './core-kinds.ts'
import { compactEtcd, deleteFromEtcd } from './kube-runtime-etcd.ts'

const ports = { log: silentLogger, clock: systemClock, random: Math.random }
const given = await givenCluster({ own: true })

function configMap(
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data }
}

/** `added a=1`: what a handler was told. */
function describeEvent({ type, object }: ObjectEvent<ConfigMap>): string {
  return `${type} ${object.metadata.name}=${object.data?.value ?? ''}`
}

describe('informer', { skip: given.skip, timeout: 600_000 }, () => {
  let client: KubeClient
  let spaces = 0

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
  })
  after(() => client[Symbol.asyncDispose]())

  /** A namespace of its own and an informer running on it, with everything its handler was told. */
  async function givenInformer(
    options: InformerOptions<ConfigMap> & { prepared?: readonly ConfigMap[] } = {},
  ) {
    const namespace = `informer-${spaces++}`
    const metadata = { name: namespace }
    await client.resource(NamespaceKind).create({ apiVersion: 'v1', kind: 'Namespace', metadata })
    const configMaps = client.resource(ConfigMapKind, namespace)
    for (const object of options.prepared ?? []) await configMaps.create(object)
    const own = { fieldSelector: 'metadata.name!=kube-root-ca.crt', ...options, ports }
    const informer = new Informer('configmaps', configMaps, own)
    const told: string[] = []
    informer.subscribe(event => told.push(describeEvent(event)))
    const stop = new AbortController()
    const ended = informer.run(stop.signal)
    await informer.synced()
    const stopped = async () => {
      stop.abort()
      await ended
    }
    return { namespace, configMaps, informer, told, [Symbol.asyncDispose]: stopped }
  }

  async function toldAll(told: readonly string[], expected: readonly string[]): Promise<void> {
    const failure = () => new assert.AssertionError({ actual: told, expected, operator: 'deepEqual' })
    await waitUntil(async () => told.length >= expected.length, { timeoutMs: 60_000, failure })
    assert.deepEqual(told, expected)
  }

  it('tells of what was there, then of adds, updates and deletes, in order', async () => {
    await using running = await givenInformer({ prepared: [configMap('old', { value: '0' })] })
    const { configMaps, told, informer } = running
    await configMaps.create(configMap('new', { value: '1' }))
    await configMaps.patch('new', { type: 'merge', body: { data: { value: '2' } } })
    await configMaps.delete('old')
    await toldAll(told, ['added old=0', 'added new=1', 'updated new=2', 'deleted old=0'])
    assert.deepEqual(informer.list().map(keyOf), [`${running.namespace}/new`])
  })

  it('finds objects by key and by index as they change', async () => {
    const indexes = { team: (object: ConfigMap) => [object.metadata.labels?.team ?? 'none'] }
    await using running = await givenInformer({ indexes, prepared: [configMap('a', {}, { team: 'red' })] })
    const { configMaps, informer, namespace, told } = running
    assert.equal(informer.get({ namespace, name: 'a' })?.metadata.name, 'a')
    assert.deepEqual(informer.byIndex('team', 'red').map(keyOf), [`${namespace}/a`])
    await configMaps.patch('a', { type: 'merge', body: { metadata: { labels: { team: 'blue' } } } })
    await toldAll(told, ['added a=', 'updated a='])
    assert.deepEqual(informer.byIndex('team', 'red'), [])
    assert.deepEqual(informer.byIndex('team', 'blue').map(keyOf), [`${namespace}/a`])
  })

  it('sees an object that leaves its label selector as deleted', async () => {
    const prepared = [configMap('a', {}, { keep: 'yes' }), configMap('b', {}, { keep: 'no' })]
    await using running = await givenInformer({ labelSelector: 'keep=yes', prepared })
    await running.configMaps.patch('a', { type: 'merge', body: { metadata: { labels: { keep: 'no' } } } })
    await toldAll(running.told, ['added a=', 'deleted a='])
  })

  it('caches only what its transform keeps', async () => {
    const transform = (object: ConfigMap) => {
      const { data: _, ...rest } = withoutManagedFields(object)
      return rest
    }
    await using running = await givenInformer({ transform, prepared: [configMap('a', { value: 'large' })] })
    const [cached] = running.informer.list()
    assert.equal(cached?.data, undefined)
    assert.equal(cached?.metadata.managedFields, undefined)
    assert.ok(cached?.metadata.resourceVersion)
  })

  it('repeats what it has to a late subscriber, and everything at each resync', async () => {
    const prepared = [configMap('a'), configMap('b')]
    await using running = await givenInformer({ prepared, resyncMs: 300 })
    const late: string[] = []
    running.informer.subscribe(event => late.push(describeEvent(event)))
    await waitUntil(async () => late.length >= 6, {
      timeoutMs: 60_000,
      failure: () => new Error('no resync'),
    })
    assert.deepEqual(late.slice(0, 4), ['added a=', 'added b=', 'resynced a=', 'resynced b='])
  })

  it('goes on when a handler throws', async () => {
    await using running = await givenInformer({ prepared: [configMap('a')] })
    const { informer, configMaps, told } = running
    informer.subscribe(() => {
      throw new Error('a broken handler')
    })
    const after: string[] = []
    informer.subscribe(event => after.push(describeEvent(event)))
    await configMaps.create(configMap('b'))
    await toldAll(told, ['added a=', 'added b='])
    assert.deepEqual(after, ['added a=', 'added b='])
  })

  it('gives up waiting for the first list when its signal aborts', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using refused = await createKubeClient({ config, retry: { attempts: 1 } })
    const missing = { ...ConfigMapKind, plural: 'nosuchkinds' }
    const informer = new Informer('missing', refused.resource(missing, 'default'), { ports })
    const stop = new AbortController()
    const ended = informer.run(stop.signal)
    await waitUntil(async () => informer.lastError !== undefined, {
      timeoutMs: 60_000,
      failure: () => new Error('no error was noted'),
    })
    await assert.rejects(informer.synced(AbortSignal.timeout(10)), { name: 'TimeoutError' })
    assert.equal(informer.hasSynced, false)
    stop.abort()
    await ended
  })

  it('tells of a deletion and a change it could not watch, after a killed API server and a compaction', async () => {
    const prepared = ['a', 'b', 'c'].map(name => configMap(name, { value: '1' }))
    await using running = await givenInformer({ prepared })
    const { namespace, configMaps, informer, told } = running
    await given.cluster.kill('kube-apiserver')
    await deleteFromEtcd(given.cluster.etcd, `/registry/configmaps/${namespace}/b`)
    await compactEtcd(given.cluster.etcd)
    await given.cluster.start('kube-apiserver')
    await configMaps.patch('c', { type: 'merge', body: { data: { value: '2' } } })
    const failure = () => new Error(`told only: ${told.join(', ')}`)
    await waitUntil(async () => told.length >= 5, { timeoutMs: 60_000, failure })
    assert.deepEqual(told.slice(0, 3), ['added a=1', 'added b=1', 'added c=1'])
    assert.deepEqual(new Set(told.slice(3)), new Set(['deleted b=1', 'updated c=2']))
    await sameAsFreshList(informer, namespace)
  })

  it('ends with the content of a fresh list when the API server is killed while objects change', async () => {
    await using running = await givenInformer()
    const { namespace, configMaps, informer, told } = running
    const present = new Set<string>()
    informer.subscribe(({ type, object }) => {
      if (type === 'deleted') present.delete(keyOf(object))
      else present.add(keyOf(object))
    })
    const changing = changeUntilTold(configMaps)
    await waitUntil(async () => told.length > 30, {
      timeoutMs: 60_000,
      failure: () => new Error('nothing changed'),
    })
    await given.cluster.kill('kube-apiserver')
    await given.cluster.start('kube-apiserver')
    const before = told.length
    await waitUntil(async () => told.length > before + 30, {
      timeoutMs: 60_000,
      failure: () => new Error('the informer saw nothing after the restart'),
    })
    await changing.stop()
    await sameAsFreshList(informer, namespace)
    assert.deepEqual(present, new Set(informer.list().map(keyOf)))
  })

  /** Creates, changes and deletes over and over; a killed server may fail any of it. */
  function changeUntilTold(configMaps: ReturnType<typeof client.resource<ConfigMap>>) {
    let going = true
    const change = async () => {
      for (let i = 0; going; i++) {
        const name = `churn-${i % 20}`
        await configMaps.create(configMap(name, { value: `${i}` })).catch(() => {})
        await configMaps.patch(name, { type: 'merge', body: { data: { value: `${i}-2` } } }).catch(() => {})
        if (i % 3 === 0) await configMaps.delete(name).catch(() => {})
      }
    }
    const changing = change()
    return {
      stop: () => {
        going = false
        return changing
      },
    }
  }

  async function sameAsFreshList(informer: Informer<ConfigMap>, namespace: string): Promise<void> {
    const versions = (objects: readonly ConfigMap[]) =>
      Object.fromEntries(objects.map(object => [keyOf(object), object.metadata.resourceVersion]))
    const fieldSelector = 'metadata.name!=kube-root-ca.crt'
    const fresh = versions(await client.resource(ConfigMapKind, namespace).list({ fieldSelector }).toArray())
    await waitUntil(
      async () => {
        const cached = versions(informer.list())
        return JSON.stringify(sorted(cached)) === JSON.stringify(sorted(fresh))
      },
      {
        timeoutMs: 60_000,
        failure: () => new assert.AssertionError({ actual: versions(informer.list()), expected: fresh }),
      },
    )
  }
})

function sorted(versions: Record<string, string | undefined>): [string, string | undefined][] {
  return Object.entries(versions).sort(([a], [b]) => (a < b ? -1 : 1))
}
