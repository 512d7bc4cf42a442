import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  builtInKind,
  builtInKinds,
  createKubeClient,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeError,
  loadKubeConfig,
  type ResourceClient,
  type Unstructured,
} from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { type ConfigMap, ConfigMapKind } from './core-kinds.ts'
import { startHttpProxy, startSocksProxy } from './kube-client-proxies.ts'

const namespace = 'kube-client-verbs'
const group = 'kube-client-verbs.lateen.dev'
const given = await givenCluster()

const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
})

const gadgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `gadgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', shortNames: ['gdg'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['color'],
                properties: {
                  size: { type: 'integer', minimum: 1 },
                  color: { type: 'string', enum: ['red', 'blue'] },
                },
              },
              status: { type: 'object', properties: { phase: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
}

describe('The verbs of the client', { skip: given.skip }, () => {
  let client: KubeClient
  let maps: ResourceClient<ConfigMap>

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    const namespaces = client.resource(await client.discovery.require('namespaces'))
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    maps = client.resource(ConfigMapKind, namespace)
    // Of an earlier run; its own stays, see CONTRIBUTING.md.
    await given.cluster.kubectl(['delete', 'crd', `gadgets.${group}`, '--ignore-not-found'])
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'ns', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  it('knows where a real server has the built-in kinds', async () => {
    for (const kind of builtInKinds) {
      const { group, version, plural, namespaced } = builtInKind(kind)
      const found = await client.discovery.findKind({ kind, group })
      assert.deepEqual(
        found && [found.version, found.plural, found.namespaced],
        [version, plural, namespaced],
        kind,
      )
    }
  })

  it('create, read, replace and delete an object', async () => {
    const created = await maps.create(configMap('whole', { a: '1' }))
    assert.ok(created.metadata.uid)
    const read = await maps.get('whole')
    assert.deepEqual(read, created)
    const replaced = await maps.update({ ...read, data: { b: '2' } })
    assert.deepEqual(replaced.data, { b: '2' })
    assert.deepEqual((await maps.list({ fieldSelector: 'metadata.name=whole' }).toArray())[0], replaced)
    await maps.delete('whole')
    await assert.rejects(maps.get('whole'), isNotFound)
    await assert.rejects(maps.delete('whole'), isNotFound)
  })

  it('create in the namespace of the object when the client is bound to none', async () => {
    const anywhere = client.resource(ConfigMapKind)
    const object = configMap('elsewhere')
    const created = await anywhere.create({ ...object, metadata: { ...object.metadata, namespace } })
    assert.equal(created.metadata.namespace, namespace)
    await assert.rejects(anywhere.get('elsewhere'), { code: 'NamespaceRequired' })
  })

  it('refuse a second object of the same name', async () => {
    await maps.create(configMap('twice'))
    await assert.rejects(maps.create(configMap('twice')), isAlreadyExists)
  })

  it('refuse a replacement of a version that is no longer current', async () => {
    const first = await maps.create(configMap('raced'))
    await maps.update({ ...first, data: { winner: 'yes' } })
    await assert.rejects(maps.update({ ...first, data: { winner: 'no' } }), isConflict)
    assert.deepEqual((await maps.get('raced')).data, { winner: 'yes' })
  })

  it('delete only what the preconditions describe', async () => {
    const { metadata } = await maps.create(configMap('precious'))
    await assert.rejects(maps.delete('precious', { preconditions: { uid: 'another' } }), isConflict)
    await assert.rejects(maps.delete('precious', { preconditions: { resourceVersion: '1' } }), isConflict)
    await maps.delete('precious', {
      preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
    })
    await assert.rejects(maps.get('precious'), isNotFound)
  })

  it('patch in all four ways', async () => {
    await maps.create(configMap('patched', { a: '1', b: '2' }))
    const merged = await maps.patch('patched', { type: 'merge', body: { data: { a: null, c: '3' } } })
    assert.deepEqual(merged.data, { b: '2', c: '3' })
    const operations = [
      { op: 'test', path: '/data/b', value: '2' },
      { op: 'replace', path: '/data/b', value: '4' },
    ]
    assert.deepEqual((await maps.patch('patched', { type: 'json', body: operations })).data, {
      b: '4',
      c: '3',
    })
    await assert.rejects(maps.patch('patched', { type: 'json', body: operations }), isInvalid)
    const strategic = {
      type: 'strategic',
      body: { metadata: { finalizers: [], labels: { l: 'x' } } },
    } as const
    assert.deepEqual((await maps.patch('patched', strategic)).metadata.labels, { l: 'x' })
    const apply = { type: 'apply', body: { data: { d: '5' } }, fieldManager: 'tester' } as const
    assert.equal((await maps.patch('patched', apply)).data?.d, '5')
  })

  it('apply creates what is missing, and takes over fields of others only by force', async () => {
    const apply = (fieldManager: string, value: string, force = false) =>
      maps.patch('applied', { type: 'apply', body: { data: { key: value } }, fieldManager, force })
    assert.deepEqual((await apply('one', '1')).data, { key: '1' })
    await assert.rejects(apply('two', '2'), (error: KubeError) => {
      assert.ok(isConflict(error))
      return error.details?.causes?.some(({ field }) => field === '.data.key') ?? false
    })
    assert.deepEqual((await apply('two', '2', true)).data, { key: '2' })
  })

  it('leave objects that Go programs can change, whatever characters are in them', async () => {
    const revision = await client.discovery.require('controllerrevisions')
    const data = { command: 'a < b && c > d' }
    await client.resource(revision, namespace).create({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'kept' },
      data,
      revision: 1,
    })
    // The server compares the bytes of this immutable field with those that it writes itself.
    await given.cluster.kubectl(['label', 'controllerrevision', 'kept', 'a=b', '-n', namespace])
  })

  it('change nothing in a dry run', async () => {
    await maps.create(configMap('imagined'), { dryRun: true })
    await assert.rejects(maps.get('imagined'), isNotFound)
  })

  it('find the objects that match selectors', async () => {
    for (const [name, color] of [
      ['s1', 'red'],
      ['s2', 'blue'],
      ['s3', 'red'],
    ] as const) {
      const object = configMap(name)
      await maps.create({ ...object, metadata: { ...object.metadata, labels: { color } } })
    }
    const red = await maps.list({ labelSelector: 'color=red' }).toArray()
    assert.deepEqual(
      red.map(({ metadata }) => metadata.name),
      ['s1', 's3'],
    )
  })

  it('work on a kind that was defined after the client was made, and on its status', async () => {
    const definitions = client.resource(await client.discovery.require('crd'))
    await definitions.create(gadgetDefinition)
    await untilEstablished(given.cluster, `gadgets.${group}`)
    assert.equal(await client.discovery.find('gdg'), undefined, 'discovery is kept until it is refreshed')
    const kind = await findGadgets(client)
    const gadgets = client.resource<Unstructured>(kind, namespace)
    const made = await gadgets.create({ ...gadget('one', { color: 'red' }), status: { phase: 'New' } })
    assert.equal(made.status, undefined, 'the status is a subresource')
    const updated = await gadgets.update({ ...made, status: { phase: 'Ready' } }, { subresource: 'status' })
    assert.deepEqual(updated.status, { phase: 'Ready' })
    const patch = { type: 'merge', body: { status: { phase: 'Done' } } } as const
    assert.deepEqual((await gadgets.patch('one', patch, { subresource: 'status' })).status, { phase: 'Done' })
  })

  it('name the fields of an object that does not fit its schema', async () => {
    const gadgets = client.resource<Unstructured>(await findGadgets(client), namespace)
    await assert.rejects(gadgets.create(gadget('bad', { size: 0, color: 'green' })), (error: KubeError) => {
      assert.ok(isInvalid(error))
      const fields = error.details?.causes?.map(({ field }) => field)
      assert.deepEqual(fields?.toSorted(), ['spec.color', 'spec.size'])
      return /spec\.color/.test(error.message)
    })
  })

  it('say who may not do what, where, and how to check it', async () => {
    const config = await loadKubeConfig({ path: await given.cluster.kubeconfigFor('nobody-special') })
    await using stranger = await createKubeClient({ config })
    await assert.rejects(stranger.resource(ConfigMapKind, namespace).get('whole'), (error: KubeError) => {
      assert.ok(isForbidden(error))
      assert.match(error.message, /get configmaps "whole" in namespace "kube-client-verbs" at https:/)
      assert.match(error.message, /nobody-special/)
      return /auth can-i get configmaps --namespace kube-client-verbs/.test(error.hint ?? '')
    })
  })

  it('refuse a server whose certificate they cannot check, unless told to trust it', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using distrustful = await createKubeClient({
      config: { ...config, tls: { ...config.tls, ca: undefined } },
    })
    await assert.rejects(distrustful.getRaw('/version'), (error: KubeError) => {
      assert.match(error.hint ?? '', /certificate-authority/)
      return error.code === 'CertificateUntrusted'
    })
    const tls = { ...config.tls, ca: undefined, insecureSkipVerify: true }
    await using trusting = await createKubeClient({ config: { ...config, tls } })
    assert.match(await trusting.getRaw('/version'), /gitVersion/)
  })

  it('refuse a server that calls itself by another name, unless that name is expected', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    const named = (serverName: string) =>
      createKubeClient({ config: { ...config, tls: { ...config.tls, serverName } } })
    await using mistaken = await named('elsewhere.example.com')
    await assert.rejects(mistaken.getRaw('/version'), { code: 'CertificateNameMismatch' })
    await using right = await named('kubernetes.default.svc')
    assert.match(await right.getRaw('/version'), /gitVersion/)
  })

  it('reach the server through HTTP and SOCKS proxies', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    for (const startProxy of [startHttpProxy, startSocksProxy]) {
      await using proxy = await startProxy()
      await using proxied = await createKubeClient({ config: { ...config, proxyUrl: proxy.url } })
      assert.match(await proxied.getRaw('/version'), /gitVersion/)
      assert.deepEqual(proxy.targets, [new URL(config.server).host])
    }
  })
})

function gadget(name: string, spec: object): Unstructured {
  return { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name }, spec }
}

/** The aggregated document follows a new definition within moments. */
async function findGadgets(client: KubeClient) {
  for (;;) {
    const found = await client.discovery.find(`gadgets.${group}`)
    if (found !== undefined) return found
    await client.discovery.refresh()
  }
}
