import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'

import { archiveOf, configMap, handsOn, restoreArchive, type Stored, stored } from './restore-harness.ts'

const given = await givenCluster()
const namespaces = [
  ...[
    'restore-same',
    'restore-update',
    'restore-again',
    'restore-fresh',
    'restore-ports',
    'restore-few-secrets',
  ],
  ...['restore-bound', 'restore-bound-copy'],
]

describe('Objects that exist when they are restored', { skip: given.skip }, () => {
  let client: KubeClient
  const { create, get, untilRefused } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'ns', '--ignore-not-found', '--wait=false', ...namespaces])

    await client[Symbol.asyncDispose]()
  })

  it('leaves what is the same, and warns of what differs, under none', async () => {
    const objects = Array.from({ length: 40 }, (_, index) =>
      configMap({ namespace: 'restore-same', name: `cm-${index}` }, { n: `${index}` }),
    )
    const archive = archiveOf(...objects.map(stored))
    await restoreArchive({ client, archive })
    await given.cluster.kubectl([
      'patch',
      'cm',
      'cm-7',
      '-n',
      'restore-same',
      '-p',
      '{"data":{"n":"changed"}}',
    ])
    const { outcome, items } = await restoreArchive({ client, archive, name: 'second', workers: 8 })
    const actions = [...items.values()].map(({ action }) => action)
    assert.equal(actions.filter(action => action === 'skipped').length, 39)
    assert.equal(items.get('configmaps restore-same/cm-7')?.action, 'failed')
    assert.deepEqual(outcome.results.warnings.namespaces, {
      'restore-same': [
        'could not restore, ConfigMap:cm-7 already exists. Warning: the in-cluster version is different than the backed-up version',
      ],
    })
    assert.equal(
      (await get('cm', 'cm-3', 'restore-same')).metadata.labels?.['velero.io/restore-name'],
      'again',
    )
  })

  it('changes what differs and marks the rest under update', async () => {
    const objects = Array.from({ length: 30 }, (_, index) =>
      configMap({ namespace: 'restore-update', name: `cm-${index}` }, { n: `${index}` }),
    )
    const archive = archiveOf(...objects.map(stored))
    await restoreArchive({ client, archive })
    await given.cluster.kubectl([
      'patch',
      'cm',
      'cm-7',
      '-n',
      'restore-update',
      '-p',
      '{"data":{"n":"x","m":"y"}}',
    ])
    const spec = { existingResourcePolicy: 'update' }
    const { outcome, items } = await restoreArchive({ client, archive, name: 'second', spec, workers: 8 })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    assert.equal(items.get('configmaps restore-update/cm-7')?.action, 'updated')
    assert.equal(items.get('configmaps restore-update/cm-8')?.action, 'skipped')
    assert.deepEqual((await get('cm', 'cm-7', 'restore-update')).data, { n: '7' })
    for (const name of ['cm-7', 'cm-8', 'cm-29']) {
      const { labels } = (await get('cm', name, 'restore-update')).metadata
      assert.equal(labels?.['velero.io/restore-name'], 'second', name)
    }
  })

  it('replaces what differs under recreate, also where a field cannot be changed', async () => {
    const secret = (value: string): Stored => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'restore-again', name: 'fixed' },
      immutable: true,
      data: { v: Buffer.from(value).toString('base64') },
    })
    const archive = archiveOf(stored(secret('backup')))
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restore-again' } }, secret('live'))
    const update = await restoreArchive({ client, archive, spec: { existingResourcePolicy: 'update' } })
    assert.match(
      update.outcome.results.warnings.namespaces?.['restore-again']?.[0] ?? '',
      /immutable.*recreate/s,
    )
    const annotations = { 'lateen.dev/existing-resource-policy': 'recreate' }
    const { outcome, items } = await restoreArchive({ client, archive, annotations })
    assert.equal(outcome.errors + outcome.warnings, 0, JSON.stringify(outcome.results))
    assert.equal(items.get('secrets restore-again/fixed')?.reason, 'it was different and was replaced')
    assert.deepEqual((await get('secret', 'fixed', 'restore-again')).data, secret('backup').data)
  })

  it('adds to service accounts that the cluster made', async () => {
    const archive = archiveOf(
      stored({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { namespace: 'restore-fresh', name: 'sailor', annotations: { from: 'backup' } },
        imagePullSecrets: [{ name: 'pull' }],
      }),
    )
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restore-fresh' } },
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'sailor', namespace: 'restore-fresh' },
        imagePullSecrets: [{ name: 'mine' }],
      },
    )
    const { items } = await restoreArchive({ client, archive })
    assert.equal(items.get('serviceaccounts restore-fresh/sailor')?.action, 'updated')
    const account = await get('serviceaccount', 'sailor', 'restore-fresh')
    assert.deepEqual(account.imagePullSecrets, [{ name: 'mine' }, { name: 'pull' }])
    assert.equal(account.metadata.annotations?.from, 'backup')
  })

  it('takes a service for existing whose node port is taken by itself', async () => {
    const namespace = 'restore-ports'
    const service: Stored = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name: 'web' },
      spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, nodePort: 31789 }] },
    }
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, service)
    const archive = archiveOf(stored(service))
    const { outcome } = await restoreArchive({ client, archive, spec: { preserveNodePorts: true } })
    assert.deepEqual(outcome.results.errors, {})
    assert.match(outcome.results.warnings.namespaces?.[namespace]?.join() ?? '', /Service:web already exists/)
  })

  it('uses up no quota by what is there already', async () => {
    const namespace = 'restore-few-secrets'
    const secrets = Array.from({ length: 20 }, (_, index) =>
      stored({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: `secret-${index}` } }),
    )
    await restoreArchive({ client, archive: archiveOf(...secrets.slice(0, 17)) })
    const hard = { 'count/secrets': '20', 'count/services': '0' }
    await create({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { namespace, name: 'few' },
      spec: { hard },
    })
    const counted = '--for=jsonpath={.status.used.count/secrets}=17'
    await given.cluster.kubectl(['wait', 'resourcequota/few', '-n', namespace, counted, '--timeout=300s'])
    // An API server that has seen the quota and not yet its status refuses everything that is counted.
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: 'refused' } }
    await untilRefused({ ...service, spec: { ports: [{ port: 80 }] } }, 'exceeded quota')
    const { outcome } = await restoreArchive({ client, archive: archiveOf(...secrets), workers: 8 })
    assert.deepEqual(outcome.results.errors, {})
    assert.ok(await get('secret', 'secret-19', namespace))
  })

  it('takes no volume away from the claim that uses it, under update', async () => {
    const namespace = 'restore-bound'
    const spec = {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'restore-bound',
      persistentVolumeReclaimPolicy: 'Retain',
      capacity: { storage: '1Gi' },
      hostPath: { path: '/tmp/restore-bound' },
      claimRef: { namespace, name: 'data' },
    }
    const volume: Stored = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: namespace }, spec }
    const claim: Stored = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'restore-bound',
        volumeName: namespace,
        resources: { requests: { storage: '1Gi' } },
      },
    }
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, volume, claim)
    const bound = '--for=jsonpath={.status.phase}=Bound'
    await given.cluster.kubectl(['wait', `pv/${namespace}`, bound, '--timeout=60s'])
    await given.cluster.kubectl(['wait', 'pvc/data', '-n', namespace, bound, '--timeout=60s'])
    const before = await get('pv', namespace)
    const archive = archiveOf(stored(before), stored(await get('pvc', 'data', namespace)))
    const update = { existingResourcePolicy: 'update' }
    const same = await restoreArchive({ client, archive, spec: update })
    assert.deepEqual(same.outcome.results, { warnings: {}, errors: {} })
    assert.deepEqual((await get('pv', namespace)).spec, before.spec)
    const namespaceMapping = { [namespace]: `${namespace}-copy` }
    const { outcome } = await restoreArchive({ client, archive, spec: { ...update, namespaceMapping } })
    assert.match(
      outcome.results.warnings.cluster?.join() ?? '',
      /PersistentVolume "restore-bound" already exists/,
    )
    assert.deepEqual((await get('pv', namespace)).spec, before.spec)
    assert.equal(((await get('pvc', 'data', namespace)).status as { phase?: string }).phase, 'Bound')
    await given.cluster.kubectl(['delete', 'pv', namespace, '--wait=false'])
  })
})
