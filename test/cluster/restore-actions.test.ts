import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Restore } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

const given = await givenCluster()
const namespace = 'restore-actions'
const restore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'again', namespace },
  spec: {},
}

describe('restore actions that ask the cluster', { skip: given.skip }, () => {
  let client: KubeClient

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await given.cluster.kubectl(['create', 'namespace', namespace])
    await apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'restore-actions-new' },
      provisioner: 'none',
    })
    await apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace } })
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'storageclass', 'restore-actions-new', '--ignore-not-found'])
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
    await client[Symbol.asyncDispose]()
  })

  async function apply(object: object): Promise<void> {
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) })
  }

  async function configure(name: string, action: string, data: Record<string, string>): Promise<void> {
    const labels = { 'velero.io/plugin-config': '', [action]: 'RestoreItemAction' }
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data })
  }

  async function run(name: string, item: ActionItem) {
    const found = builtInRestoreActions({ client, namespace }).find(each => each.name === name)
    assert.ok(found)
    return found.action.execute({ item, itemFromBackup: structuredClone(item), restore })
  }

  const claim = (storageClassName: string): ActionItem => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop' },
    spec: { storageClassName },
  })

  it('change nothing without a ConfigMap', async () => {
    assert.deepEqual((await run('velero.io/change-storage-class', claim('old'))).item, claim('old'))
  })

  it('give claims and the claims of StatefulSets another storage class, which must be there', async () => {
    await configure('classes', 'velero.io/change-storage-class', {
      old: 'restore-actions-new',
      bad: 'nowhere',
    })
    const action = 'velero.io/change-storage-class'
    assert.deepEqual((await run(action, claim('old'))).item, claim('restore-actions-new'))
    assert.deepEqual((await run(action, claim('other'))).item, claim('other'))
    const sets = (...classes: string[]): ActionItem => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'shop' },
      spec: { volumeClaimTemplates: classes.map(storageClassName => ({ spec: { storageClassName } })) },
    })
    assert.deepEqual((await run(action, sets('x', 'old'))).item, sets('x', 'restore-actions-new'))
    await assert.rejects(
      run(action, claim('bad')),
      /storage class nowhere, which takes the place of bad, cannot be read/,
    )
  })

  it('give images other names', async () => {
    await configure('images', 'velero.io/change-image-name', { a: 'old.example,new.example' })
    const pods = (image: string) => ({
      containers: [{ name: 'a', image }],
      initContainers: [{ name: 'b', image }],
    })
    const at = (kind: string, spec: object): ActionItem => ({
      apiVersion: 'v1',
      kind,
      metadata: { name: 'web', namespace: 'shop' },
      spec,
    })
    const cases = [
      (image: string) => at('Pod', pods(image)),
      (image: string) => at('Deployment', { template: { spec: pods(image) } }),
      (image: string) => at('CronJob', { jobTemplate: { spec: { template: { spec: pods(image) } } } }),
    ]
    for (const item of cases) {
      const { item: changed } = await run('velero.io/change-image-name', item('old.example/web:1'))
      assert.deepEqual(changed, item('new.example/web:1'))
    }
  })

  it('refuse two ConfigMaps for one action', async () => {
    await configure('images-too', 'velero.io/change-image-name', {})
    const pod: ActionItem = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop' } }
    await assert.rejects(
      run('velero.io/change-image-name', pod),
      /found more than one ConfigMap matching label selector .*: \[images images-too\]/,
    )
  })

  it('leave out tokens that the cluster makes for a service account, and empty other tokens', async () => {
    const token = (name: string, fields: object = {}, annotations: object = {}): ActionItem => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: {
        name,
        namespace,
        annotations: { 'kubernetes.io/service-account.name': 'builder', ...annotations },
      },
      ...fields,
    })
    assert.equal((await run('velero.io/secret', token('builder-token-abcde'))).skip, true)
    const own = token(
      'my-token',
      { data: { token: 'eA==', 'ca.crt': 'eA==', namespace: 'eA==' } },
      { 'kubernetes.io/service-account.uid': 'u' },
    )
    const { item, skip } = await run('velero.io/secret', own)
    assert.notEqual(skip, true)
    assert.deepEqual(item, token('my-token', { data: { namespace: 'eA==' } }))
    const opaque = { ...own, type: 'Opaque' }
    assert.deepEqual((await run('velero.io/secret', structuredClone(opaque))).item, opaque)
  })

  it('run in the order of their names', () => {
    const action = {
      appliesTo: async () => ({}),
      execute: async ({ item }: { item: ActionItem }) => ({ item }),
    }
    const names = builtInRestoreActions({
      client,
      namespace,
      others: [{ name: 'velero.io/init-restore-hook', action }],
    }).map(({ name }) => name)
    assert.deepEqual(
      names,
      names.toSorted((a, b) => (a < b ? -1 : 1)),
    )
    assert.equal(names.indexOf('velero.io/init-restore-hook') + 1, names.indexOf('velero.io/job'))
  })
})
