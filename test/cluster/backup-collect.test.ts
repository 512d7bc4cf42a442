import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  createKubeClient,
  type KubeClient,
  type Logger,
  loadKubeConfig,
  type Unstructured,
} from '@lateen/kube'
import { collectItems } from '../../packages/server/src/backup/collect/collect-items.ts'
import { resolveScope, type ScopeFacts } from '../../packages/server/src/backup/scope/resolve-scope.ts'
import { type CollectedItems, groupResource, itemKey } from '../../packages/server/src/item/item.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'

const given = await givenCluster({ own: true })

const shop = ['shop-a', 'shop-a-1', 'shop-b', 'shop-c', 'shop-d', 'shop-e']
/** Sorts before the crowd. */
const early = 'a-stall'
const crowded = 'crowded'
const leaving = 'leaving'
const strangers = 1500
const group = 'collect.example.com'

interface Line {
  level: 'warn' | 'error'
  fields: Record<string, unknown>
  message: string
}

/** Remembers what a backup would report. */
function recordingLog(): Logger & { lines: Line[] } {
  const lines: Line[] = []
  const note = (level: Line['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  const log: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: note('warn'),
    error: note('error'),
    child: () => log,
  }
  return { ...log, lines }
}

const configMap = (namespace: string, name: string, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name, ...metadata },
  data: { text: `${namespace} "${name}" é \\ ]}` },
})

function definition(plural: string, kind: string, scope: 'Namespaced' | 'Cluster') {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, singular: kind.toLowerCase() },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v1beta1', served: true, storage: false, schema },
      ],
    },
  }
}

const custom = (kind: string, name: string, namespace?: string) => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
})

describe('The collector', { skip: given.skip }, () => {
  let client: KubeClient
  let scratch: string

  async function apply(...objects: object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(list) })
  }

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    scratch = await mkdtemp(path.join(tmpdir(), 'lateen-collect-'))
    const namespaces = [...shop, early, crowded, leaving, 'empty', 'labelled']
    await apply(
      ...namespaces.map(name => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, ...(name === 'labelled' && { labels: { app: 'web' } }) },
      })),
      definition('widgets', 'Widget', 'Namespaced'),
      definition('gadgets', 'Gadget', 'Cluster'),
    )
    await untilEstablished(given.cluster, `widgets.${group}`, `gadgets.${group}`)
    await apply(
      ...shop.flatMap(namespace =>
        ['b', 'a'].map(name => configMap(namespace, name, { labels: { app: 'web', part: name } })),
      ),
      configMap('shop-b', 'left-out', { labels: { 'velero.io/exclude-from-backup': 'true' } }),
      configMap(early, 'first'),
      configMap(leaving, 'held', { finalizers: ['example.com/hold'] }),
      custom('Widget', 'small', 'shop-a'),
      custom('Gadget', 'lone'),
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'A:odd name é' },
        rules: [],
      },
    )
    await given.cluster.kubectl(['delete', 'namespace', leaving, '--wait=false'])
    while ((await client.resource(configMapType, leaving).list().toArray()).length > 1);
    const maps = client.resource(configMapType, crowded)
    await Promise.all(
      Array.from({ length: strangers }, (_, at) => maps.create(configMap(crowded, `m-${at}`))),
    )
  })

  after(async () => {
    const none = { type: 'merge', body: { metadata: { finalizers: null } } } as const
    await client.resource(configMapType, leaving).patch('held', none)
    await client[Symbol.asyncDispose]()
    await rm(scratch, { recursive: true })
  })

  const configMapType = {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
  }
  const configMaps = groupResource(configMapType)

  interface Collecting {
    features?: ReadonlySet<string>
    client?: KubeClient
    pageSize?: number
    log?: Logger
  }

  async function collect(
    spec: ScopeFacts['backup']['spec'],
    options: Collecting = {},
  ): Promise<CollectedItems> {
    await client.discovery.refresh()
    const namespaces = await client
      .resource(await client.discovery.require('namespaces'))
      .list()
      .toArray()
    const scope = resolveScope({
      backup: { spec },
      discovery: await client.discovery.preferred(),
      namespaces: namespaces.map(({ metadata: { name = '', labels }, status }) => ({
        name,
        labels,
        phase: (status as { phase?: string }).phase,
      })),
    })
    const log = recordingLog()
    return collectItems({ client, scope, scratch, log, ...options }, new AbortController().signal)
  }

  const keysOf = (items: CollectedItems) => [...items].map(itemKey)
  const mapKeys = (items: CollectedItems) => keysOf(items).filter(key => key.startsWith('configmaps/'))

  it('brings every object of the cluster once, with the body that the API server has', async () => {
    await using items = await collect({})
    assert.equal(new Set(keysOf(items)).size, items.count)
    const types = Map.groupBy(items, ({ groupResource: name }) => name)
    for (const name of [
      'configmaps',
      'clusterroles.rbac.authorization.k8s.io',
      `widgets.${group}`,
      `gadgets.${group}`,
    ]) {
      const type = await client.discovery.require(name)
      const listed = await client.resource(type).list().toArray()
      const collected = types.get(groupResource(type)) ?? []
      const bodies = await Promise.all(
        collected.map(
          async item => JSON.parse(Buffer.from(await items.load(item)).toString()) as Unstructured,
        ),
      )
      assert.deepEqual(
        bodies.map(({ metadata }) => metadata.uid),
        listed.map(({ metadata }) => metadata.uid),
        name,
      )
      assert.deepEqual(bodies[0], listed[0])
      assert.equal(bodies[0]?.kind, type.kind)
    }
  })

  it('puts types in order: pods, claims, volumes, the core group, then the others', async () => {
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'volume' },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/none' } },
    })
    await using items = await collect({})
    const types = [...new Set([...items].map(({ groupResource: name }) => name as string))]
    assert.equal(types[0], 'persistentvolumes')
    const core = types.findIndex(name => name.includes('.'))
    assert.ok(types.slice(core).every(name => name.includes('.')))
    assert.ok(types.indexOf('configmaps') < core)
  })

  it('brings the same from many namespaces as from each of them, sorted, and stops looking through a crowd', async () => {
    const asked: (string | undefined)[] = []
    const watched: KubeClient = {
      ...client,
      resource: (type, namespace) => {
        if (type.plural === 'configmaps') asked.push(namespace)
        return client.resource(type, namespace)
      },
    }
    await using items = await collect(
      { includedNamespaces: [early, ...shop], includedResources: ['configmaps'] },
      { client: watched },
    )
    const wanted: string[] = []
    for (const namespace of [early, ...shop]) {
      for (const { metadata } of await client.resource(configMapType, namespace).list().toArray()) {
        wanted.push(`configmaps/${namespace}/${metadata.name}`)
      }
    }
    assert.deepEqual(mapKeys(items), wanted)
    assert.deepEqual(
      asked,
      [undefined, ...shop],
      'the crowd is too large to be looked through; what came before it is not asked for again',
    )
  })

  it('looks through the whole cluster once where few others are in the way', async () => {
    const asked: (string | undefined)[] = []
    const watched: KubeClient = {
      ...client,
      resource: (type, namespace) => {
        asked.push(namespace)
        return client.resource(type, namespace)
      },
    }
    const spec = { includedNamespaces: shop, includedResources: ['serviceaccounts', `widgets.${group}`] }
    await using items = await collect(spec, { client: watched })
    assert.deepEqual(asked, [undefined, undefined])
    const accounts = keysOf(items).filter(key => key.startsWith('serviceaccounts/'))
    assert.deepEqual(
      accounts,
      shop.map(namespace => `serviceaccounts/${namespace}/default`),
    )
    assert.ok(keysOf(items).includes(`widgets.${group}/shop-a/small`))
  })

  it('lists namespaces one by one where the whole cluster may not be listed', async () => {
    const subject = { kind: 'User', name: 'shopkeeper', apiGroup: 'rbac.authorization.k8s.io' }
    const bindings = shop.map(namespace => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { namespace, name: 'shopkeeper' },
      roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
      subjects: [subject],
    }))
    await apply(...bindings)
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using shopkeeper = await createKubeClient({
      config: {
        ...config,
        async credentials() {
          const known = await config.credentials()
          return { ...known, headers: { ...known.headers, 'impersonate-user': 'shopkeeper' } }
        },
      },
    })
    const log = recordingLog()
    const spec = { includedNamespaces: shop, includedResources: ['configmaps'] }
    // The roles of a new binding take a moment to count.
    while (!JSON.parse(await canList(shopkeeper)).status.allowed) await new Promise(setImmediate)
    await using items = await collect(spec, { client: shopkeeper, log })
    assert.equal(mapKeys(items).length, shop.length * 3 + 1)
    assert.deepEqual(log.lines, [])
  })

  async function canList(user: KubeClient): Promise<string> {
    const review = await user.discovery.require('selfsubjectaccessreviews')
    const answers = await Promise.all(
      shop.map(namespace =>
        user.resource(review).create({
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          metadata: {},
          spec: { resourceAttributes: { namespace, verb: 'list', resource: 'configmaps' } },
        }),
      ),
    )
    const denied = answers.find(({ status }) => !(status as { allowed: boolean }).allowed)
    return JSON.stringify(denied ?? answers[0])
  }

  it('takes what any of several selectors names, once', async () => {
    const orLabelSelectors = [{ matchLabels: { app: 'web' } }, { matchLabels: { part: 'a' } }]
    await using items = await collect({ orLabelSelectors, includedResources: ['configmaps', 'namespaces'] })
    assert.equal(mapKeys(items).length, shop.length * 2)
    const namespaces = keysOf(items).filter(key => key.startsWith('namespaces/'))
    assert.deepEqual(new Set(namespaces), new Set([...shop, 'labelled'].map(name => `namespaces//${name}`)))
  })

  it('takes the namespaces that are included, and those of objects that a selector names', async () => {
    const labelSelector = { matchLabels: { part: 'a' } }
    await using selected = await collect({ labelSelector })
    const found = keysOf(selected).filter(key => key.startsWith('namespaces/'))
    assert.deepEqual(
      found,
      shop.toSorted().map(name => `namespaces//${name}`),
    )
    await using named = await collect({ includedNamespaces: ['empty', 'shop-b'] })
    const included = keysOf(named).filter(key => key.startsWith('namespaces/'))
    assert.deepEqual(included, ['namespaces//empty', 'namespaces//shop-b'])
  })

  it('says which included namespace does not exist', async () => {
    const log = recordingLog()
    await using items = await collect({ includedNamespaces: ['shop-a', 'gone'] }, { log })
    assert.ok(items.count > 0)
    assert.deepEqual(log.lines, [
      {
        level: 'error',
        fields: { namespace: 'gone' },
        message: 'A namespace that the backup includes does not exist',
      },
    ])
  })

  it('notes what is being deleted and what carries the label that keeps it out', async () => {
    await using items = await collect({ includedResources: ['configmaps', 'namespaces'] })
    const at = (namespace: string, name: string) => items.find({ groupResource: configMaps, namespace, name })
    assert.deepEqual([at(leaving, 'held')?.terminating, at(leaving, 'held')?.excludedByLabel], [true, false])
    assert.deepEqual(
      [at('shop-b', 'left-out')?.terminating, at('shop-b', 'left-out')?.excludedByLabel],
      [false, true],
    )
    const space = items.find({
      groupResource: groupResource({ group: '', plural: 'namespaces' }),
      namespace: '',
      name: leaving,
    })
    assert.equal(space?.terminating, true, 'objects in it were collected, so that its item is too')
  })

  it('puts ordered resources first, and warns of one that is not there', async () => {
    const log = recordingLog()
    const spec = {
      includedNamespaces: ['shop-a', 'shop-b'],
      orderedResources: { configmaps: 'shop-b/b,shop-a/gone,shop-a/b' },
    }
    await using items = await collect(spec, { log })
    const maps = [...items].filter(({ groupResource: name }) => name === configMaps)
    const first = maps.slice(0, 3).map(({ namespace, name, ordered }) => `${namespace}/${name} ${ordered}`)
    assert.deepEqual(first, ['shop-b/b true', 'shop-a/b true', 'shop-a/a false'])
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [level, fields.name]),
      [['warn', 'shop-a/gone']],
    )
    assert.equal(new Set(maps.map(itemKey)).size, maps.length)
  })

  it('collects every version where that is asked for, and finds them together', async () => {
    const features = new Set(['EnableAPIGroupVersions'])
    const spec = { includedResources: [`widgets.${group}`] }
    await using items = await collect(spec, { features })
    const widget = {
      groupResource: groupResource({ group, plural: 'widgets' }),
      namespace: 'shop-a',
      name: 'small',
    }
    const versions = items.versionsOf(widget)
    assert.deepEqual(
      versions.map(({ type, preferred }) => [type.version, preferred]),
      [
        ['v1', true],
        ['v1beta1', false],
      ],
    )
    const bodies = await Promise.all(
      versions.map(async item => JSON.parse(Buffer.from(await items.load(item)).toString())),
    )
    assert.deepEqual(
      bodies.map(({ apiVersion }) => apiVersion),
      [`${group}/v1`, `${group}/v1beta1`],
    )
  })

  it('brings the same with pages of any size', async () => {
    await using large = await collect({ includedNamespaces: [crowded] }, { pageSize: 0 })
    await using small = await collect({ includedNamespaces: [crowded] }, { pageSize: 70 })
    assert.deepEqual(keysOf(small), keysOf(large))
    assert.equal(mapKeys(small).length, strangers + 1)
  })

  it('leaves nothing in scratch, also when it is stopped in the middle', async () => {
    {
      await using items = await collect({})
      assert.ok(items.count > strangers)
      assert.deepEqual(await readdir(scratch), ['items'])
    }
    assert.deepEqual(await readdir(scratch), [])
    const stop = new AbortController()
    const reason = new Error('stopped')
    const scope = resolveScope({
      backup: { spec: {} },
      discovery: await client.discovery.preferred(),
      namespaces: [],
    })
    const stopping: KubeClient = {
      ...client,
      resource: (type, namespace) => {
        if (type.plural === 'configmaps') setImmediate(() => stop.abort(reason))
        return client.resource(type, namespace)
      },
    }
    const collecting = collectItems({ client: stopping, scope, scratch, log: recordingLog() }, stop.signal)
    await assert.rejects(collecting, reason)
    assert.deepEqual(await readdir(scratch), [])
  })

  it('goes on without a type whose definition was deleted in the middle, and says so', async () => {
    await apply(definition('passings', 'Passing', 'Namespaced'))
    await untilEstablished(given.cluster, `passings.${group}`)
    const isServed = async () => {
      await client.discovery.refresh()
      return (await client.discovery.all()).some(({ plural }) => plural === 'passings')
    }
    while (!(await isServed()));
    const discovery = await client.discovery.preferred()
    const scope = resolveScope({
      backup: { spec: { includedNamespaces: ['shop-a'] } },
      discovery,
      namespaces: ['shop-a', 'shop-b'].map(name => ({ name, phase: 'Active' })),
    })
    await given.cluster.kubectl(['delete', 'crd', `passings.${group}`])
    const passings = { group, version: 'v1', kind: 'Passing', plural: 'passings', namespaced: true }
    while (
      await client
        .resource(passings, 'shop-a')
        .list()
        .toArray()
        .then(
          () => true,
          () => false,
        )
    );
    const log = recordingLog()
    await using items = await collectItems({ client, scope, scratch, log }, new AbortController().signal)
    assert.ok(mapKeys(items).length > 0)
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [
        level,
        fields.resource,
        fields.namespace,
        (fields.error as { code: string }).code,
      ]),
      [['error', `passings.${group}`, 'shop-a', 'NotFound']],
    )
  })

  it('names an API group that does not answer, and collects the others', async () => {
    await apply({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.down.example.com' },
      spec: {
        group: 'down.example.com',
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'nobody' },
      },
    })
    const isDown = async () => {
      await client.discovery.refresh()
      return (await client.discovery.failures()).some(failure => failure.group === 'down.example.com')
    }
    while (!(await isDown()));
    const log = recordingLog()
    await using items = await collect({}, { log })
    assert.ok(mapKeys(items).length > strangers)
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [level, fields.apiGroup]),
      [['error', 'down.example.com/v1']],
    )
    const named = recordingLog()
    await using maps = await collect({ includedResources: ['configmaps'] }, { log: named })
    assert.ok(maps.count > 0)
    assert.deepEqual(
      named.lines.map(({ level }) => level),
      ['warn'],
    )
    await given.cluster.kubectl(['delete', 'apiservice', 'v1.down.example.com'])
  })
})
