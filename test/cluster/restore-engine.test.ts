import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { builtInKind, createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { listedAs, takeBackup } from './backup-harness.ts'
import { archiveOf, configMap, handsOn, restoreArchive, type Stored, stored } from './restore-harness.ts'

const given = await givenCluster()
const namespaces = [
  'restore-one',
  'restore-two',
  'restore-owners',
  'restore-crd',
  'restore-quota',
  'restore-pods',
  'restore-stuck',
  'restore-status',
]

const kubectl = { manager: 'kubectl-create', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }

describe('The restore engine', { skip: given.skip }, () => {
  let client: KubeClient
  const { create, createForPods, get, untilRefused } = handsOn({
    kubectl: (...args) => given.cluster.kubectl(...args),
  })

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    // Of an earlier run; its own stays, see CONTRIBUTING.md.
    await given.cluster.kubectl(['delete', 'crd', '--ignore-not-found', 'anchors.restore.lateen.dev'])
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'ns', '--ignore-not-found', '--wait=false', ...namespaces])
    await client[Symbol.asyncDispose]()
  })

  it('brings back what our own backup holds, into another namespace', async () => {
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restore-one', labels: { team: 'sails' } } },
      configMap({ namespace: 'restore-one', name: 'plain' }, { a: '1' }),
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'restore-one' },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: 'web' } },
          template: {
            metadata: { labels: { app: 'web' } },
            spec: { containers: [{ name: 'web', image: 'none' }] },
          },
        },
      },
    )
    await takeBackup(
      { client, spec: { includedNamespaces: ['restore-one'] } },
      async ({ outcome: backup }) => {
        const { outcome, items } = await restoreArchive({
          client,
          archive: backup.archive.path,
          spec: { namespaceMapping: { 'restore-one': 'restore-two' } },
        })
        assert.deepEqual(outcome.results.errors, {})
        assert.equal(items.get('namespaces restore-two')?.action, 'created')
        assert.equal(items.get('configmaps restore-two/plain')?.action, 'created')
        assert.equal(items.get('deployments.apps restore-two/web')?.action, 'created')
        assert.ok(listedAs('v1/ConfigMap', outcome).includes('restore-two/plain(created)'))
      },
    )
    const namespace = await get('ns', 'restore-two')
    assert.equal(namespace.metadata.labels?.team, 'sails')
    const restored = await get('configmap', 'plain', 'restore-two')
    assert.deepEqual(restored.data, { a: '1' })
    assert.deepEqual(restored.metadata.labels, {
      'velero.io/backup-name': 'test',
      'velero.io/restore-name': 'again',
    })
  })

  it('names the manager of a field without a second request, and writes owners where there are several', async () => {
    const owners = [
      { ...kubectl, time: '2024-01-01T00:00:00Z', fieldsV1: { 'f:data': { 'f:a': {} } } },
      { ...kubectl, manager: 'argocd', operation: 'Apply', fieldsV1: { 'f:data': { 'f:b': {} } } },
    ]
    const archive = archiveOf(
      stored(
        configMap({ namespace: 'restore-owners', name: 'single', managedFields: [owners[0]] }, { a: '1' }),
      ),
      stored(
        configMap(
          { namespace: 'restore-owners', name: 'several', managedFields: owners },
          { a: '1', b: '2' },
        ),
      ),
    )
    const { outcome } = await restoreArchive({ client, archive })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    const managers = async (name: string) => {
      const { metadata } = await get('configmap', name, 'restore-owners')
      return (metadata.managedFields as { manager: string; operation: string }[])
        .map(({ manager, operation }) => `${manager} ${operation}`)
        .sort((a, b) => (a < b ? -1 : 1))
    }
    assert.deepEqual(await managers('single'), ['kubectl-create Update'])
    assert.deepEqual(await managers('several'), ['argocd Apply', 'kubectl-create Update'])
  })

  it('links objects to the owners that they had, whichever comes first', async () => {
    const owner = (kind: string, name: string, uid: string) => ({ apiVersion: 'v1', kind, name, uid })
    const archive = archiveOf(
      // Secrets come before ConfigMaps, ServiceAccounts before both.
      stored(
        configMap({
          namespace: 'restore-owners',
          name: 'owned-later',
          uid: 'old-1',
          ownerReferences: [
            owner('ServiceAccount', 'root', 'old-root'),
            owner('ConfigMap', 'gone', 'old-gone'),
          ],
        }),
      ),
      stored({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          namespace: 'restore-owners',
          name: 'owned-first',
          ownerReferences: [{ ...owner('ConfigMap', 'owned-later', 'old-1'), controller: true }],
        },
      }),
      stored({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { namespace: 'restore-owners', name: 'root', uid: 'old-root' },
      }),
    )
    const { outcome } = await restoreArchive({ client, archive })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    const root = await get('serviceaccount', 'root', 'restore-owners')
    const later = await get('configmap', 'owned-later', 'restore-owners')
    const first = await get('secret', 'owned-first', 'restore-owners')
    assert.deepEqual(
      later.metadata.ownerReferences?.map(({ uid }) => uid),
      [root.metadata.uid],
    )
    assert.deepEqual(
      first.metadata.ownerReferences?.map(({ uid, controller }) => [uid, controller]),
      [[later.metadata.uid, true]],
    )
  })

  it('leaves objects without owners where the restore says so', async () => {
    const archive = archiveOf(
      stored(configMap({ namespace: 'restore-owners', name: 'parent', uid: 'old-parent' })),
      stored(
        configMap({
          namespace: 'restore-owners',
          name: 'child',
          ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid: 'old-parent' }],
        }),
      ),
    )
    await restoreArchive({ client, archive, annotations: { 'lateen.dev/relink-owners': 'false' } })
    assert.equal((await get('configmap', 'child', 'restore-owners')).metadata.ownerReferences, undefined)
  })

  it('waits for definitions to be served, then restores their objects, large integers included', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'anchors.restore.lateen.dev' },
      spec: {
        group: 'restore.lateen.dev',
        scope: 'Namespaced',
        names: { kind: 'Anchor', plural: 'anchors', singular: 'anchor', listKind: 'AnchorList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            subresources: { status: {} },
          },
        ],
      },
    }
    const anchor = (name: string, annotations = '{}') =>
      `{"apiVersion":"restore.lateen.dev/v1","kind":"Anchor","metadata":{"name":"${name}","namespace":"restore-crd","annotations":${annotations}},"spec":{"weight":9007199254740993},"status":{"holds":"${name}"}}`
    const archive = archiveOf(
      { plural: 'customresourcedefinitions', object: definition },
      { plural: 'anchors', object: anchor('heavy') },
      { plural: 'anchors', object: anchor('unsure', '{"velero.io/restore-status":"false"}') },
    )
    const { outcome, items } = await restoreArchive({
      client,
      archive,
      spec: { restoreStatus: { includedResources: ['anchors.restore.lateen.dev'] } },
    })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    assert.equal(items.get('anchors.restore.lateen.dev restore-crd/heavy')?.action, 'created')
    const text = await given.cluster.kubectl(['get', 'anchor', 'heavy', '-n', 'restore-crd', '-o', 'json'])
    assert.match(text, /9007199254740993/)
    assert.deepEqual(JSON.parse(text).status, { holds: 'heavy' })
    assert.equal((await get('anchor', 'unsure', 'restore-crd')).status, undefined)
  })

  it('keeps with a status what the cluster has given the object meanwhile', async () => {
    const namespace = 'restore-status'
    await ensureNamespace(given.cluster, namespace)
    const claim: Stored = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name: 'protected' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'restore-status',
      },
      status: { phase: 'Pending', allocatedResources: { storage: '1Gi' } },
    }
    const claims = client.resource(builtInKind('PersistentVolumeClaim'), namespace)
    const before = claims.list()
    await before.toArray()
    const { outcome } = await restoreArchive({
      client,
      archive: archiveOf(stored(claim)),
      spec: { restoreStatus: { includedResources: ['persistentvolumeclaims'] } },
    })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    await given.cluster.kubectl(['-n', namespace, 'annotate', 'pvc', 'protected', 'the-last=change'])
    const signal = AbortSignal.timeout(60_000)
    for await (const event of claims.watch({ resourceVersion: before.resourceVersion, signal })) {
      if (event.type === 'BOOKMARK') continue
      const { finalizers, annotations } = event.object.metadata
      assert.deepEqual(finalizers, ['kubernetes.io/pvc-protection'])
      if (annotations?.['the-last'] !== undefined) break
    }
    const { status } = (await get('pvc', 'protected', namespace)) as Stored & { status?: object }
    assert.deepEqual(status, { phase: 'Pending', allocatedResources: { storage: '1Gi' } })
  })

  it('says why the server refuses an object, and what to do', async () => {
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restore-quota' } },
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'none', namespace: 'restore-quota' },
        spec: { hard: { 'count/secrets': '0' } },
      },
    )
    const secret: Stored = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'restore-quota', name: 'refused' },
    }
    await untilRefused(secret, 'exceeded quota')
    const archive = archiveOf(
      stored(secret),
      stored({
        apiVersion: 'extensions/v1beta1',
        kind: 'Ingress',
        metadata: { namespace: 'restore-quota', name: 'removed' },
      }),
      stored(configMap({ namespace: 'restore-quota', name: 'taken' })),
    )
    const { outcome, items } = await restoreArchive({ client, archive })
    assert.equal(items.get('configmaps restore-quota/taken')?.action, 'created')
    const errors = outcome.results.errors.namespaces?.['restore-quota'] ?? []
    assert.equal(errors.length, 2)
    assert.ok(
      errors.some(text =>
        /^error restoring secrets\/restore-quota\/refused: .*exceeded quota.*ResourceQuota/.test(text),
      ),
    )
    assert.ok(errors.some(text => /does not serve Ingress in extensions\/v1beta1; .*removed/.test(text)))
  })

  it('neither restores completed pods and jobs nor pods that mirror files', async () => {
    const pod = (name: string, fields: object, annotations = {}): Stored => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'restore-pods', name, annotations },
      spec: { containers: [{ name: 'c', image: 'none' }] },
      ...fields,
    })
    const archive = archiveOf(
      stored(pod('done', { status: { phase: 'Succeeded' } })),
      stored(pod('mirror', {}, { 'kubernetes.io/config.mirror': 'x' })),
      stored(pod('runs', { status: { phase: 'Running' } })),
    )
    await createForPods({ name: 'restore-pods' })
    const told: string[] = []
    const hooks: string[] = []
    const { items } = await restoreArchive({
      client,
      archive,
      ports: {
        onItem: ({ item }) => told.push(`${item.name} ${item.action} ${item.reason}`),
        onPodRestored: ({ metadata }) => hooks.push(`${metadata.name} ${metadata.uid !== undefined}`),
      },
    })
    assert.deepEqual(
      told.filter(text => !text.startsWith('restore-pods')).toSorted((a, b) => (a < b ? -1 : 1)),
      ['done skipped it has completed', 'mirror skipped it is a mirror pod', 'runs created it was not there'],
    )
    assert.deepEqual(hooks, ['runs true'])
    assert.equal(items.has('pods restore-pods/done'), false)
  })

  it('waits for a namespace that is being deleted, and tells once if it stays', async () => {
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restore-stuck' } },
      configMap({ namespace: 'restore-stuck', name: 'held', finalizers: ['lateen.dev/held'] }),
    )
    await given.cluster.kubectl(['delete', 'ns', 'restore-stuck', '--wait=false'])
    const archive = archiveOf(
      stored(configMap({ namespace: 'restore-stuck', name: 'x' })),
      stored(configMap({ namespace: 'restore-stuck', name: 'y' })),
    )
    const timeouts = { resource: 1_000, terminating: 1_500 }
    const { outcome, items } = await restoreArchive({ client, archive, ports: { timeouts } })
    assert.equal(outcome.errors, 1)
    assert.match(
      outcome.results.errors.velero?.[0] ?? '',
      /timed out waiting for terminating namespace restore-stuck/,
    )
    assert.equal(items.get('configmaps restore-stuck/x')?.action, 'failed')
    // The cluster looks after a namespace that held something only some seconds later, and later still when it is busy.
    const patient = { resource: 20_000, terminating: 300_000 }
    const again = restoreArchive({ client, archive, ports: { timeouts: patient } })
    await given.cluster.kubectl([
      'patch',
      'cm',
      'held',
      '-n',
      'restore-stuck',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ])
    assert.equal((await again).outcome.errors, 0)
  })
})
