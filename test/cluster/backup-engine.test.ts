import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { BackupItemAction, ItemBlockAction, ResourceIdentifier } from '@lateen/plugin'
import { builtInBackupActions } from '../../packages/server/src/builtin-actions/built-in-backup-actions.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { untilPodsMade } from '../../tools/cluster/until-pods-made.ts'
import { listedAs, takeBackup } from './backup-harness.ts'

const given = await givenCluster()
const namespace = 'backup-engine'
const other = 'backup-engine-other'

/** Larger than 2^53, so that a double cannot hold it. */
const hugeNumber = '9007199254740993'

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sails.engine.lateen.dev' },
  spec: {
    group: 'engine.lateen.dev',
    scope: 'Namespaced',
    names: { kind: 'Sail', plural: 'sails', singular: 'sail' },
    versions: ['v1', 'v1beta1'].map(name => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
}

const claim = (name: string, extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace, labels: { 'velero.io/restore-name': 'old', group: 'g1' } },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'by-hand',
    volumeName: `engine-${name}`,
    resources: { requests: { storage: '1Gi' } },
    ...extra,
  },
})

const volume = (name: string, extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `engine-${name}` },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    storageClassName: 'by-hand',
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: `/tmp/engine-${name}` },
    ...extra,
  },
})

const objects: object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } },
  definition,
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sailor', namespace } },
  volume('data'),
  volume('shared'),
  claim('data'),
  claim('shared'),
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'engine-high' },
    value: 10,
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'engine:sailor' },
    rules: [],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'engine:sailors' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'engine:sailor' },
    subjects: [{ kind: 'ServiceAccount', name: 'sailor', namespace }],
  },
  ...Array.from({ length: 150 }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `plain-${index}`, namespace },
    data: { index: String(index) },
  })),
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'hidden', namespace, labels: { 'velero.io/exclude-from-backup': 'true' } },
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ending', namespace, finalizers: ['lateen.dev/test'] },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'elsewhere', namespace: other } },
]

/** Made when all others are there. */
const web = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace },
  spec: {
    priorityClassName: 'engine-high',
    serviceAccountName: 'sailor',
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'none' }],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', emptyDir: {} },
      { name: 'missing', persistentVolumeClaim: { claimName: 'missing' } },
    ],
  },
}

const byText = (a: string, b: string) => (a < b ? -1 : 1)

describe('the backup engine', { skip: given.skip }, () => {
  let client: KubeClient

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    await given.cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(list) })
    await untilPodsMade(given.cluster, [web])
    await untilEstablished(given.cluster, 'sails.engine.lateen.dev')
    const sail = `{"apiVersion":"engine.lateen.dev/v1","kind":"Sail","metadata":{"name":"jib","namespace":"${namespace}"},"area":${hugeNumber}}`
    await given.cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: sail })
    await given.cluster.kubectl(['delete', 'configmap', 'ending', '-n', namespace, '--wait=false'])
    const bound = '--for=jsonpath={.status.phase}=Bound'
    await given.cluster.kubectl(['wait', bound, 'pvc/data', 'pvc/shared', '-n', namespace, '--timeout=120s'])
  })

  after(async () => {
    const patch = '{"metadata":{"finalizers":null}}'
    await given.cluster.kubectl([
      'patch',
      'configmap',
      'ending',
      '-n',
      namespace,
      '--type=merge',
      '-p',
      patch,
    ])
    const cluster = ['pv/engine-data', 'pv/engine-shared']
    const rights = [
      'priorityclass/engine-high',
      'clusterrole/engine:sailor',
      'clusterrolebinding/engine:sailors',
    ]
    await given.cluster.kubectl(['delete', 'namespace', namespace, other, '--wait=false'])
    await given.cluster.kubectl(['delete', ...cluster, ...rights, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  for (const workers of [1, 8]) {
    it(`stores a namespace with all that belongs to it, with ${workers} workers`, async () => {
      await takeBackup({ client, workers, spec: { includedNamespaces: [namespace] } }, async taken => {
        const { paths, outcome, read } = taken
        const at = (place: string) => {
          const [resource, ...rest] = place.split('/')
          const file = `${rest.join('/')}.json`
          return [`resources/${resource}/${file}`, `resources/${resource}/v1-preferredversion/${file}`]
        }
        const expected = [
          `pods/namespaces/${namespace}/web`,
          `persistentvolumeclaims/namespaces/${namespace}/data`,
          `persistentvolumeclaims/namespaces/${namespace}/shared`,
          'persistentvolumes/cluster/engine-data',
          'persistentvolumes/cluster/engine-shared',
          'priorityclasses.scheduling.k8s.io/cluster/engine-high',
          `serviceaccounts/namespaces/${namespace}/sailor`,
          'clusterroles.rbac.authorization.k8s.io/cluster/engine:sailor',
          'clusterrolebindings.rbac.authorization.k8s.io/cluster/engine:sailors',
          `sails.engine.lateen.dev/namespaces/${namespace}/jib`,
          'customresourcedefinitions.apiextensions.k8s.io/cluster/sails.engine.lateen.dev',
          `configmaps/namespaces/${namespace}/plain-149`,
          `namespaces/cluster/${namespace}`,
        ].flatMap(at)
        assert.deepEqual(
          expected.filter(path => !paths.includes(path)),
          [],
        )
        assert.equal(paths[0], 'metadata/version')
        assert.equal(new Set(paths).size, paths.length, 'no entry is there twice')
        assert.deepEqual(
          paths.filter(path => /hidden|ending|elsewhere/.test(path)),
          [],
        )
        assert.equal(outcome.progress.itemsBackedUp, (paths.length - 1) / 2)
        assert.equal(outcome.progress.totalItems, outcome.progress.itemsBackedUp)
        const listed = Object.values(outcome.resourceList).flat().length
        assert.equal(listed, outcome.progress.itemsBackedUp)
        assert.ok(listedAs('engine.lateen.dev/v1/Sail', outcome).includes(`${namespace}/jib`))
        const stored = await read(`resources/persistentvolumeclaims/namespaces/${namespace}/data.json`)
        assert.deepEqual(stored.metadata.labels, { group: 'g1' })
      })
    })
  }

  it('warns about a claim that a pod names and that does not exist, and stores the pod', async () => {
    await takeBackup({ client, spec: { includedNamespaces: [namespace] } }, async ({ results, paths }) => {
      assert.deepEqual(results.errors, {})
      assert.match(
        results.warnings.namespaces?.[namespace]?.[0] ?? '',
        /persistentvolumeclaims name: \/missing/,
      )
      assert.ok(paths.includes(`resources/pods/namespaces/${namespace}/web.json`))
    })
  })

  it('stores numbers as they are, also those that no double holds', async () => {
    await takeBackup({ client, spec: { includedNamespaces: [namespace] } }, async ({ outcome }) => {
      const entry = `resources/sails.engine.lateen.dev/namespaces/${namespace}/jib.json`
      const text = execFileSync('tar', ['-xzOf', outcome.archive.path, entry]).toString()
      assert.match(text, new RegExp(`"area":${hugeNumber}`))
    })
  })

  it('says why the data of volumes are not in the backup', async () => {
    await takeBackup({ client, spec: { includedNamespaces: [namespace] } }, async ({ outcome }) => {
      const [data] = outcome.volumeInfo
      assert.equal(data?.pvName, 'engine-data')
      assert.equal(data.pvcNamespace, namespace)
      assert.equal(data.skipped, true)
      assert.match(
        data.skippedReason ?? '',
        /podvolume: .*web.*;volumeSnapshot: volume snapshots are not available/,
      )
      assert.deepEqual(data.pvInfo, { reclaimPolicy: 'Retain', labels: null })
    })
    const spec = { includedNamespaces: [namespace], defaultVolumesToFsBackup: true, snapshotVolumes: false }
    await takeBackup({ client, spec }, async ({ outcome }) => {
      const reason = outcome.volumeInfo.find(({ pvName }) => pvName === 'engine-data')?.skippedReason ?? ''
      assert.match(reason, /podvolume: file system backup is not available/)
      assert.match(reason, /volumeSnapshot: snapshotVolumes is false/)
    })
  })

  it('leaves volumes out where cluster resources are excluded, whoever names them', async () => {
    const spec = { includedNamespaces: [namespace], includeClusterResources: false }
    await takeBackup({ client, spec }, async ({ paths }) => {
      assert.deepEqual(
        paths.filter(path => /persistentvolumes|clusterrole|customresourcedefinition/.test(path)),
        [],
      )
      assert.ok(paths.includes(`resources/persistentvolumeclaims/namespaces/${namespace}/data.json`))
    })
  })

  it('stores ordered resources first, in the order that is given', async () => {
    const order = ['plain-7', 'plain-140', 'plain-3']
    const spec = {
      includedNamespaces: [namespace],
      orderedResources: { configmaps: order.map(name => `${namespace}/${name}`).join(',') },
    }
    await takeBackup({ client, spec, workers: 8 }, async ({ paths }) => {
      const first = paths.filter(path => path.startsWith('resources/')).slice(0, 6)
      const names = first.map(path => path.split('/').at(-1)?.replace('.json', ''))
      assert.deepEqual(
        names,
        order.flatMap(name => [name, name]),
      )
    })
  })

  it('stores every version of an object where all versions are asked for, and else the preferred one', async () => {
    const spec = { includedNamespaces: [namespace], includedNamespaceScopedResources: ['sails'] }
    const jib = `namespaces/${namespace}/jib.json`
    const base = 'resources/sails.engine.lateen.dev'
    const preferred = [`${base}/${jib}`, `${base}/v1-preferredversion/${jib}`]
    const sails = (paths: string[]) => paths.filter(path => path.startsWith(base)).sort(byText)
    await takeBackup({ client, spec }, async ({ paths }) => {
      assert.deepEqual(sails(paths), preferred)
    })
    const features = new Set(['EnableAPIGroupVersions'])
    await takeBackup({ client, spec, features }, async ({ paths, read, outcome }) => {
      assert.deepEqual(sails(paths), [...preferred, `${base}/v1beta1/${jib}`])
      assert.equal((await read(`${base}/v1beta1/${jib}`)).apiVersion, 'engine.lateen.dev/v1beta1')
      assert.deepEqual(listedAs('engine.lateen.dev/v1beta1/Sail', outcome), [`${namespace}/jib`])
    })
  })

  describe('with actions of plugins', () => {
    const elsewhere: ResourceIdentifier = {
      group: '',
      resource: 'secrets',
      namespace: other,
      name: 'elsewhere',
    }

    async function withActions(
      actions: Record<string, BackupItemAction>,
      blocks: Record<string, ItemBlockAction> = {},
      resources = ['configmaps', 'sails'],
    ) {
      const builtIn = builtInBackupActions({ client })
      const registered = Object.entries(actions).map(([name, action]) => ({ name, action }))
      const registeredBlocks = Object.entries(blocks).map(([name, action]) => ({ name, action }))
      const ports = {
        backupItemActions: [...builtIn.backupItemActions, ...registered],
        itemBlockActions: [...builtIn.itemBlockActions, ...registeredBlocks],
      }
      const spec = { includedNamespaces: [namespace], includedNamespaceScopedResources: resources }
      return takeBackup({ client, ports, spec, workers: 4 }, async taken => taken)
    }

    const forConfigMaps = async () => ({ includedResources: ['cm'], includedNamespaces: ['backup-*'] })

    it('stores what an action insists on whatever the filters say, and only then', async () => {
      const naming = (mustInclude: string): BackupItemAction => ({
        appliesTo: forConfigMaps,
        async execute({ item }) {
          item.metadata.annotations = { 'backup.velero.io/must-include-additional-items': mustInclude }
          return { item, additionalItems: [elsewhere] }
        },
      })
      const path = `resources/secrets/namespaces/${other}/elsewhere.json`
      assert.ok((await withActions({ 'test/insist': naming('true') })).paths.includes(path))
      assert.ok(!(await withActions({ 'test/hint': naming('false') })).paths.includes(path))
    })

    it('leaves out, renames and records operations as actions say', async () => {
      const skipped = { 'velero.io/skip-from-backup': 'true' }
      const action: BackupItemAction = {
        appliesTo: async () => ({ includedResources: ['configmaps'] }),
        async execute({ item }) {
          switch (item.metadata.name) {
            case 'plain-1':
              return { item: undefined }
            case 'plain-2':
              return { item: { ...item, metadata: { ...item.metadata, annotations: skipped } } }
            case 'plain-3':
              return { item: { ...item, metadata: { ...item.metadata, name: 'renamed' } } }
            case 'plain-4':
              return { item, operationId: 'op-1', postOperationItems: [elsewhere] }
            default:
              return { item, unchanged: true }
          }
        },
      }
      const { paths, outcome } = await withActions({ 'test/change': action })
      const has = (name: string) =>
        paths.includes(`resources/configmaps/namespaces/${namespace}/${name}.json`)
      assert.deepEqual(['plain-1', 'plain-2', 'plain-3', 'renamed', 'plain-4'].map(has), [
        false,
        false,
        false,
        true,
        true,
      ])
      assert.equal(outcome.progress.totalItems, outcome.progress.itemsBackedUp)
      const [operation] = outcome.operations
      assert.deepEqual(operation?.spec, {
        backupName: 'test',
        backupUID: '00000000-0000-4000-8000-000000000001',
        backupItemAction: 'test/change',
        resourceIdentifier: { Group: '', Resource: 'configmaps', Namespace: namespace, Name: 'plain-4' },
        operationID: 'op-1',
        postOperationItems: [{ Group: '', Resource: 'secrets', Namespace: other, Name: 'elsewhere' }],
      })
      assert.equal(operation.status.phase, 'New')
    })

    it('goes on without an item whose action fails, and lists it as an error of its namespace', async () => {
      const action: BackupItemAction = {
        appliesTo: forConfigMaps,
        async execute({ item }) {
          if (item.metadata.name === 'plain-5') throw new Error('the plugin is tired')
          return { item, unchanged: true }
        },
      }
      const { paths, outcome, results } = await withActions({ 'test/fail': action })
      assert.ok(!paths.includes(`resources/configmaps/namespaces/${namespace}/plain-5.json`))
      assert.ok(paths.includes(`resources/configmaps/namespaces/${namespace}/plain-6.json`))
      assert.equal(results.errors.namespaces?.[namespace]?.length, 1)
      assert.match(results.errors.namespaces[namespace][0] ?? '', /plain-5.*test\/fail.*the plugin is tired/)
      assert.equal(outcome.progress.totalItems, outcome.progress.itemsBackedUp + 1)
      assert.ok(!listedAs('v1/ConfigMap', outcome).includes(`${namespace}/plain-5`))
    })

    it('comes to an end when items name each other, and stores each once', async () => {
      const partner = (name = '') => `plain-${Number(name.split('-')[1] ?? 0) ^ 1}`
      const action: BackupItemAction = {
        appliesTo: forConfigMaps,
        execute: async ({ item }) => ({
          item,
          additionalItems: [
            { group: '', resource: 'configmaps', namespace, name: partner(item.metadata.name) },
          ],
        }),
      }
      const { paths, outcome } = await withActions({ 'test/partner': action })
      const maps = paths.filter(path => path.startsWith('resources/configmaps/namespaces'))
      assert.equal(new Set(maps).size, maps.length)
      assert.equal(listedAs('v1/ConfigMap', outcome).filter(name => name.includes('plain-')).length, 150)
    })

    it('stores the members of a block although no item action names them', async () => {
      const block: ItemBlockAction = {
        appliesTo: async () => ({ includedResources: ['configmaps'], labelSelector: '!never' }),
        async getRelatedItems({ item }) {
          if (item.metadata.name !== 'plain-0') return []
          return ['engine-high', 'nobody'].map(name => ({
            group: 'scheduling.k8s.io',
            resource: 'priorityclasses',
            namespace: '',
            name,
          }))
        },
      }
      const { paths, results } = await withActions({}, { 'test/block': block })
      assert.ok(paths.includes('resources/priorityclasses.scheduling.k8s.io/cluster/engine-high.json'))
      assert.match(results.warnings.cluster?.[0] ?? '', /nobody/)
    })

    it('stores the definition of a custom resource that only an action brought along', async () => {
      const insist: BackupItemAction = {
        appliesTo: forConfigMaps,
        async execute({ item }) {
          item.metadata.annotations = { 'backup.velero.io/must-include-additional-items': 'true' }
          const jib = { group: 'engine.lateen.dev', resource: 'sails', namespace, name: 'jib' }
          return { item, additionalItems: [jib] }
        },
      }
      const { paths } = await withActions({ 'test/insist': insist }, {}, ['configmaps'])
      assert.ok(paths.includes(`resources/sails.engine.lateen.dev/namespaces/${namespace}/jib.json`))
      const definitions = 'resources/customresourcedefinitions.apiextensions.k8s.io'
      assert.ok(paths.includes(`${definitions}/cluster/sails.engine.lateen.dev.json`))
    })

    it('is no backup when an action does not tell what it is for', async () => {
      const action: BackupItemAction = {
        appliesTo: async () => ({ labelSelector: 'a in (' }),
        execute: async ({ item }) => ({ item }),
      }
      await assert.rejects(withActions({ 'test/broken': action }), /test\/broken/)
    })
  })

  it('stops when it is cancelled, and leaves the workers free', async () => {
    const cancel = new AbortController()
    const reason = new Error('enough')
    const action: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        cancel.abort(reason)
        return { item }
      },
    }
    const ports = { backupItemActions: [{ name: 'test/cancel', action }] }
    const taking = takeBackup(
      { client, ports, spec: { includedNamespaces: [namespace] }, workers: 2, signal: cancel.signal },
      async () => undefined,
    )
    await assert.rejects(taking, reason)
  })
})
