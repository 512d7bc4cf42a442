import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { RestoreItemAction } from '@lateen/plugin'
import type { RestoredObject } from '../../packages/server/src/restore/items/restored-item.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

import { archiveOf, configMap, handsOn, restoreArchive, type Stored, stored } from './restore-harness.ts'

const given = await givenCluster()
const namespaces = ['restore-lost', 'restore-acts', 'restore-order-1', 'restore-order-2']

describe('Items of a restore', { skip: given.skip }, () => {
  let client: KubeClient
  const { get } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'ns', '--ignore-not-found', '--wait=false', ...namespaces])

    await client[Symbol.asyncDispose]()
  })

  it('restores what actions name first, once, also when two name each other', async () => {
    const order: string[] = []
    const pair: RestoreItemAction = {
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        const name = item.metadata.name ?? ''
        order.push(name)
        const other = { a: 'b', b: 'a', 'c-needs-z': 'z' }[name]
        const id = { group: '', resource: 'configmaps', namespace: 'restore-lost', name: other ?? '' }
        return { item, additionalItems: other === undefined ? [] : [id] }
      },
    }
    const names = ['a', 'b', 'c-needs-z', 'z']
    const archive = archiveOf(...names.map(name => stored(configMap({ namespace: 'restore-lost', name }))))
    for (const workers of [1, 4]) {
      order.length = 0
      const ports = { actions: [{ name: 'test/pair', action: pair }] }
      const { outcome } = await restoreArchive({ client, archive, ports, workers, name: `pair-${workers}` })
      assert.equal(outcome.errors, 0, JSON.stringify(outcome.results))
      assert.deepEqual(new Set(order), new Set(names))
      assert.equal(order.length, names.length)
      if (workers === 1) assert.deepEqual(order, ['a', 'b', 'c-needs-z', 'z'])
    }
    const versionOf = async (name: string) =>
      Number((await get('cm', name, 'restore-lost')).metadata.resourceVersion)
    assert.ok((await versionOf('z')) < (await versionOf('c-needs-z')))
  })

  it('does what actions say: other names and kinds, left out, long work, more than the filters take', async () => {
    const namespace = 'restore-acts'
    const waited: string[] = []
    const acts: RestoreItemAction = {
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        const { name, ...metadata } = item.metadata
        switch (name) {
          case 'generated':
            return { item: { ...item, metadata: { ...metadata, generateName: 'generated-' } } }
          case 'turned':
            return { item: { ...item, kind: 'Secret', data: {} }, operationId: 'op-1' }
          case 'left-out':
            return { item, skip: true }
          case 'greedy': {
            const annotations = { 'restore.velero.io/must-include-additional-items': 'true' }
            const ids = ['filtered', 'absent'].map(each => ({
              group: '',
              resource: 'secrets',
              namespace,
              name: each,
            }))
            return {
              item: { ...item, metadata: { ...item.metadata, annotations } },
              additionalItems: ids,
              waitForAdditionalItems: true,
            }
          }
          default:
            return { item }
        }
      },
      async areAdditionalItemsReady({ additionalItems }) {
        waited.push(...additionalItems.map(({ name }) => name))
        return waited.length > 1
      },
    }
    const names = ['generated', 'turned', 'left-out', 'greedy', 'broken', 'unreadable']
    const damaged = configMap({ namespace, name: 'unreadable' })
    const archive = archiveOf(
      ...names.slice(0, 5).map(name => stored(configMap({ namespace, name }))),
      { plural: 'configmaps', object: JSON.stringify(damaged), path: 'unreadable-too' },
      stored({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 'filtered' } }),
    )
    const { outcome, items } = await restoreArchive({
      client,
      archive,
      spec: { includedResources: ['configmaps'] },
      ports: {
        actions: [{ name: 'test/acts', action: acts }],
        modify: ({ item, namespace: before }) => ({
          item: { ...item, metadata: { ...item.metadata, labels: { from: before } } },
          errors: item.metadata.name === 'broken' ? [new Error('no such path')] : [],
        }),
      },
    })
    const { errors, warnings } = outcome.results
    assert.deepEqual(
      errors.namespaces?.[namespace]?.toSorted((a, b) => a.length - b.length),
      [
        'no such path',
        'error decoding "resources/configmaps/namespaces/restore-acts/unreadable-too.json": it is called "unreadable"',
      ],
    )
    assert.match(
      warnings.namespaces?.[namespace]?.join() ?? '',
      /secrets restore-acts\/absent: it is not in the backup/,
    )
    assert.deepEqual(waited, ['filtered', 'filtered'])
    const generated = [...items.values()].find(({ name }) => name.startsWith('generated-'))
    assert.equal(generated?.action, 'created')
    assert.equal((await get('cm', generated.name, namespace)).metadata.labels?.from, namespace)
    assert.equal((await get('secret', 'turned', namespace)).kind, 'Secret')
    assert.equal(items.get('configmaps restore-acts/left-out')?.reason, 'the action test/acts left it out')
    assert.equal((await get('cm', 'greedy', namespace)).metadata.annotations, undefined)
    assert.ok(items.has('secrets restore-acts/filtered'))
    assert.deepEqual(
      outcome.operations.map(({ spec }) => [
        spec.restoreItemAction,
        spec.operationID,
        spec.resourceIdentifier,
      ]),
      [['test/acts', 'op-1', { Group: '', Resource: 'configmaps', Namespace: namespace, Name: 'turned' }]],
    )
  })

  it('keeps the order of priorities, namespaces and names with one worker', async () => {
    const named = (kind: string, namespace: string, name: string): Stored => ({
      apiVersion: 'v1',
      kind,
      metadata: { namespace, name },
    })
    const archive = archiveOf(
      ...['b', 'a'].flatMap(name => [
        stored(named('ConfigMap', 'restore-order-2', name)),
        stored(named('Secret', 'restore-order-2', name)),
        stored(named('ConfigMap', 'restore-order-1', name)),
        stored(named('ServiceAccount', 'restore-order-2', name)),
      ]),
    )
    const told: string[] = []
    const onItem = ({ item }: RestoredObject) => {
      told.push(`${item.groupResource} ${item.namespace.slice(-1)}${item.name}`)
    }
    await restoreArchive({ client, archive, workers: 1, ports: { onItem } })
    assert.deepEqual(told, [
      'namespaces restore-order-2',
      'serviceaccounts 2a',
      'serviceaccounts 2b',
      'secrets 2a',
      'secrets 2b',
      'namespaces restore-order-1',
      'configmaps 1a',
      'configmaps 1b',
      'configmaps 2a',
      'configmaps 2b',
    ])
  })
})
