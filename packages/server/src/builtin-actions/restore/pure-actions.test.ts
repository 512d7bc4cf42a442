import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore } from '@lateen/api'
import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { apiServiceAction } from './api-service-action.ts'
import { changedImage, parseImageChange } from './change-image-name-action.ts'
import { claimAction } from './claim-action.ts'
import { jobAction } from './job-action.ts'
import { claimsOfPodAction, podAction } from './pod-action.ts'
import { preserveFieldsAction } from './preserve-fields-action.ts'
import { clusterRoleBindingsAction, roleBindingsAction } from './role-bindings-action.ts'
import { serviceAccountAction } from './service-account-action.ts'
import { webhookConfigurationAction } from './webhook-configuration-action.ts'

function execute(action: RestoreItemAction, item: ActionItem, spec: Restore['spec'] = {}) {
  const restore: Restore = { apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'r' }, spec }
  const itemFromBackup = structuredClone(item)
  delete item.status
  return action.execute({ item, itemFromBackup, restore })
}

function object(kind: string, fields: object, metadata: object = {}): ActionItem {
  return { apiVersion: 'v1', kind, metadata: { name: 'a', namespace: 'shop', ...metadata }, ...fields }
}

describe('the action velero.io/job', () => {
  it('removes the labels with the UID of the job that was', async () => {
    const labels = () => ({ 'controller-uid': 'u', 'batch.kubernetes.io/controller-uid': 'u', app: 'x' })
    const spec = { selector: { matchLabels: labels() }, template: { metadata: { labels: labels() } } }
    const { item } = await execute(jobAction, object('Job', { spec }))
    assert.deepEqual(item.spec, {
      selector: { matchLabels: { app: 'x' } },
      template: { metadata: { labels: { app: 'x' } } },
    })
  })

  it('leaves a selector that anything matches where there was nothing else in it', async () => {
    const spec = { selector: { matchLabels: { 'controller-uid': 'u' } }, template: {} }
    assert.deepEqual((await execute(jobAction, object('Job', { spec }))).item.spec, {
      selector: {},
      template: {},
    })
    assert.deepEqual((await execute(jobAction, object('Job', {}))).item.spec, undefined)
  })
})

describe('the action velero.io/pod', () => {
  it('takes node, priority and tokens of the service account away', async () => {
    const volumes = [{ name: 'web-token-abc' }, { name: 'kube-api-access-x' }, { name: 'data' }]
    const container = (...names: string[]) => ({ name: 'c', volumeMounts: names.map(name => ({ name })) })
    const { item, additionalItems } = await execute(
      podAction,
      object('Pod', {
        spec: {
          serviceAccountName: 'web',
          nodeName: 'n1',
          priority: 100,
          priorityClassName: 'high',
          volumes,
          containers: [container('web-token-abc', 'data'), container('web-token-abc'), { name: 'bare' }],
          initContainers: [container('data', 'web-token-abc')],
        },
      }),
    )
    assert.deepEqual(item.spec, {
      serviceAccountName: 'web',
      priorityClassName: 'high',
      volumes: [{ name: 'kube-api-access-x' }, { name: 'data' }],
      containers: [container('data'), { name: 'c' }, { name: 'bare' }],
      initContainers: [container('data')],
    })
    assert.deepEqual(additionalItems, [
      { group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name: 'high' },
    ])
  })
})

describe('the action velero.io/add-pvc-from-pod', () => {
  it('names the claims of a pod', async () => {
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'b', emptyDir: {} },
    ]
    const { additionalItems } = await execute(claimsOfPodAction, object('Pod', { spec: { volumes } }))
    assert.deepEqual(additionalItems, [
      { group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'data' },
    ])
  })
})

describe('the action velero.io/service-account', () => {
  it('removes references to token secrets', async () => {
    const secrets = [{ name: 'a-token-1' }, { name: 'pull' }, { name: 'a-token-2' }, { name: 'b-token-1' }]
    const { item } = await execute(serviceAccountAction, object('ServiceAccount', { secrets }))
    assert.deepEqual(item.secrets, [{ name: 'pull' }, { name: 'b-token-1' }])
  })
})

describe('the actions velero.io/role-bindings and velero.io/cluster-role-bindings', () => {
  it('map the namespaces of subjects, and nothing else', async () => {
    const subjects = () => [
      { kind: 'ServiceAccount', name: 'x', namespace: 'shop' },
      { kind: 'ServiceAccount', name: 'x', namespace: 'other' },
      { kind: 'Group', name: 'system:serviceaccounts:shop' },
      { kind: 'ServiceAccount', name: 'x', namespace: 'constructor' },
    ]
    for (const action of [roleBindingsAction, clusterRoleBindingsAction]) {
      const item = object('RoleBinding', { subjects: subjects() })
      const result = await execute(action, item, { namespaceMapping: { shop: 'shop-copy' } })
      const [first, ...others] = subjects()
      assert.deepEqual(result.item.subjects, [{ ...first, namespace: 'shop-copy' }, ...others])
      assert.deepEqual(
        (await execute(action, object('RoleBinding', { subjects: subjects() }))).item.subjects,
        subjects(),
      )
    }
  })
})

describe('the action velero.io/crd-preserve-fields', () => {
  const versions = () => [{ name: 'v1', schema: { openAPIV3Schema: { type: 'object' } } }, { name: 'v2' }]
  const definition = (version: string, spec: object) => ({
    ...object('CustomResourceDefinition', { spec }),
    apiVersion: `apiextensions.k8s.io/${version}`,
  })

  it('moves the wish to keep unknown fields into the schemas', async () => {
    const { item } = await execute(
      preserveFieldsAction,
      definition('v1', { preserveUnknownFields: true, versions: versions() }),
    )
    const marked = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    assert.deepEqual(item.spec, {
      versions: [{ name: 'v1', schema: { openAPIV3Schema: marked } }, { name: 'v2' }],
    })
  })

  it('leaves other definitions alone', async () => {
    const old = { preserveUnknownFields: true, versions: versions() }
    assert.deepEqual((await execute(preserveFieldsAction, definition('v1beta1', old))).item.spec, old)
    const plain = { versions: versions() }
    assert.deepEqual((await execute(preserveFieldsAction, definition('v1', plain))).item.spec, {
      versions: versions(),
    })
  })
})

describe('the action velero.io/pvc', () => {
  it('removes what the claim was bound by, and brings its volume along', async () => {
    const annotations = {
      'pv.kubernetes.io/bind-completed': 'yes',
      'pv.kubernetes.io/bound-by-controller': 'yes',
      'volume.kubernetes.io/storage-provisioner': 'p',
      'volume.beta.kubernetes.io/storage-provisioner': 'p',
      'volume.kubernetes.io/selected-node': 'n1',
      'velero.io/volume-snapshot-name': 's',
      'velero.io/data-upload-name': 'd',
      mine: 'kept',
    }
    const item = object(
      'PersistentVolumeClaim',
      { spec: { volumeName: 'pv-1' }, status: { phase: 'Bound' } },
      { annotations },
    )
    const result = await execute(claimAction, item)
    assert.deepEqual(result.item.metadata.annotations, { mine: 'kept' })
    assert.deepEqual(result.additionalItems, [
      { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv-1' },
    ])
  })

  it('brings nothing along for a claim that was not bound', async () => {
    const item = object('PersistentVolumeClaim', {
      spec: { volumeName: 'pv-1' },
      status: { phase: 'Pending' },
    })
    assert.deepEqual((await execute(claimAction, item)).additionalItems, [])
  })
})

describe('the action velero.io/apiservice', () => {
  it('leaves out what the API server registers by itself', async () => {
    assert.equal(
      (await apiServiceAction.appliesTo()).labelSelector,
      'kube-aggregator.kubernetes.io/automanaged',
    )
    assert.equal((await execute(apiServiceAction, object('APIService', {}))).skip, true)
  })
})

describe('the action velero.io/admission-webhook-configuration', () => {
  const configuration = (version: string) => ({
    ...object('MutatingWebhookConfiguration', {
      webhooks: [
        { sideEffects: 'None' },
        { sideEffects: 'NoneOnDryRun' },
        { sideEffects: 'Some' },
        { name: 'x' },
      ],
    }),
    apiVersion: `admissionregistration.k8s.io/${version}`,
  })

  it('replaces side effects that v1 does not allow', async () => {
    const { item } = await execute(webhookConfigurationAction, configuration('v1'))
    const effects = (item.webhooks as { sideEffects: string }[]).map(({ sideEffects }) => sideEffects)
    assert.deepEqual(effects, ['None', 'NoneOnDryRun', 'None', 'None'])
    const old = configuration('v1beta1')
    assert.deepEqual((await execute(webhookConfigurationAction, structuredClone(old))).item, old)
  })
})

describe('the entries of velero.io/change-image-name', () => {
  it('replace a part of an image everywhere in it, and only the first that fits counts', () => {
    const changes = ['1.1.1.1:5000 , 2.2.2.2:3000', '5000,1', 'nonsense', ',x', 'y,'].flatMap(
      parseImageChange,
    )
    assert.deepEqual(changes, [
      { from: '1.1.1.1:5000', to: '2.2.2.2:3000' },
      { from: '5000', to: '1' },
    ])
    assert.equal(changedImage('1.1.1.1:5000/abc:test', changes), '2.2.2.2:3000/abc:test')
    assert.equal(changedImage('x:5000/y5000', changes), 'x:1/y1')
    assert.equal(changedImage('a/b', parseImageChange('a,$&')), '$&/b')
    assert.equal(changedImage('other', changes), 'other')
  })
})
