import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  createKubeClient,
  type KubeClient,
  type KubeObject,
  loadKubeConfig,
  type ResourceClient,
} from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type ConfigMap, ConfigMapKind } from './core-kinds.ts'

const namespaces = ['kube-client-list', 'kube-client-list-0']
const count = 3000
const given = await givenCluster()

const nameOf = (number: number) => `map-${String(number).padStart(4, '0')}`
const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { test: 'kube-client-list' } },
  data: { text: `${name} é "quoted" \\ ]} ` },
})

describe('Lists and watches of the client', { skip: given.skip }, () => {
  let client: KubeClient
  let maps: ResourceClient<ConfigMap>

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    const spaces = client.resource(await client.discovery.require('ns'))
    for (const name of namespaces)
      await spaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    maps = client.resource(ConfigMapKind, namespaces[0])
    await Promise.all(Array.from({ length: count }, (_, number) => maps.create(configMap(nameOf(number)))))
    const others = client.resource(ConfigMapKind, namespaces[1])
    await Promise.all(['a', 'b', 'c'].map(name => others.create(configMap(name))))
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'ns', ...namespaces, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  const mine = { labelSelector: 'test=kube-client-list' }

  it('list thousands of objects page by page, each once and as the server has it', async () => {
    for (const limit of [77, 500, 10_000]) {
      const listed = await maps.list({ ...mine, limit }).toArray()
      assert.deepEqual(
        listed.map(({ metadata }) => metadata.name),
        Array.from({ length: count }, (_, number) => nameOf(number)),
      )
      assert.deepEqual(listed[1234], await maps.get(nameOf(1234)))
    }
  })

  it('list across namespaces in the order by which a list that broke off goes on', async () => {
    const keys: string[] = []
    for await (const { metadata } of client.resource(ConfigMapKind).list({ limit: 100 })) {
      keys.push(`${metadata.namespace}/${metadata.name}`)
    }
    assert.ok(keys.length > count)
    assert.ok(keys.every((key, index) => index === 0 || (keys[index - 1] ?? '') < key))
  })

  it('list kinds without namespaces', async () => {
    // Those of the cluster itself: other test files make and remove roles meanwhile.
    const labelSelector = 'kubernetes.io/bootstrapping=rbac-defaults'
    const roles = client.resource(await client.discovery.require('clusterroles'))
    const listed = (await roles.list({ labelSelector, limit: 10 }).toArray()).map(
      ({ metadata }) => metadata.name,
    )
    const { items } = JSON.parse(
      await given.cluster.kubectl(['get', 'clusterroles', '-l', labelSelector, '-o', 'json']),
    ) as { items: KubeObject[] }
    assert.ok(items.length > 10)
    assert.deepEqual(new Set(listed), new Set(items.map(({ metadata }) => metadata.name)))
    assert.equal(listed.length, items.length)
  })

  it('watch from the version of a list, and miss nothing in between', async () => {
    const listing = maps.list({ fieldSelector: 'metadata.name=watched' })
    assert.deepEqual(await listing.toArray(), [])
    await maps.create(configMap('watched'))
    await maps.patch('watched', { type: 'merge', body: { data: { step: '2' } } })
    await maps.delete('watched')
    const seen: string[] = []
    const { resourceVersion } = listing
    for await (const event of maps.watch({ resourceVersion, fieldSelector: 'metadata.name=watched' })) {
      if (event.type === 'BOOKMARK') continue
      seen.push(`${event.type} ${event.object.data?.step ?? '1'}`)
      if (event.type === 'DELETED') break
    }
    assert.deepEqual(seen, ['ADDED 1', 'MODIFIED 2', 'DELETED 2'])
  })

  it('keep many watches open without keeping calls from being sent', async () => {
    const abort = new AbortController()
    await using small = await createKubeClient({
      config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }),
      connections: 2,
    })
    const smallMaps = small.resource(ConfigMapKind, namespaces[1])
    const firstEvents = Array.from({ length: 20 }, async () => {
      for await (const event of smallMaps.watch({ signal: abort.signal })) return event.type
      return undefined
    })
    // Watches without a version begin at an unknown moment, so changes are made until all have seen one.
    const all = Promise.all(firstEvents)
    let done = false
    void all.finally(() => {
      done = true
    })
    for (let step = 0; !done; step++) {
      await smallMaps.patch('a', { type: 'merge', body: { data: { step: String(step) } } })
    }
    assert.deepEqual(
      await all,
      Array.from({ length: 20 }, () => 'MODIFIED'),
    )
    abort.abort()
  })
})
