import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore, RestoreSpec } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { initRestoreHookAction } from './init-restore-hook-action.ts'

const { name, action } = initRestoreHookAction({ newUid: () => '0a1b2c3d-0000-4000-8000-000000000000' })

interface Options {
  annotations?: Record<string, string>
  own?: string[]
  spec?: RestoreSpec
}

async function initContainers({ annotations = {}, own, spec = {} }: Options): Promise<unknown> {
  const restore: Restore = { apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'r' }, spec }
  const item: ActionItem = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'db', namespace: 'shop', labels: { app: 'db' }, annotations },
    spec: { containers: [], ...(own && { initContainers: own.map(each => ({ name: each, image: 'old' })) }) },
  }
  const answer = await action.execute({ item, itemFromBackup: structuredClone(item), restore })
  return (answer.item.spec as { initContainers?: unknown }).initContainers
}

const container = (each: string) => ({ name: each, image: 'busybox', command: ['true'] })

const hooksFor = (scope: object, ...names: string[]): NonNullable<RestoreSpec['hooks']> => ({
  resources: [{ name: 'h', ...scope, postHooks: [{ init: { initContainers: names.map(container) } }] }],
})

describe('the action velero.io/init-restore-hook', () => {
  it('is for pods, under its name in Velero', async () => {
    assert.equal(name, 'velero.io/init-restore-hook')
    assert.deepEqual(await action.appliesTo(), { includedResources: ['pods'] })
  })

  it('puts the containers of the spec before those of the pod, and after the one that waits for volumes', async () => {
    const spec = { hooks: hooksFor({}, 'one', 'two') }
    const named = async (own: string[]) =>
      ((await initContainers({ own, spec })) as { name: string }[]).map(each => each.name)
    assert.deepEqual(await named(['mine']), ['one', 'two', 'mine'])
    assert.deepEqual(await named(['restore-wait', 'mine']), ['restore-wait', 'one', 'two', 'mine'])
    assert.deepEqual(await named(['mine', 'restore-wait']), ['one', 'two', 'mine', 'restore-wait'])
  })

  it('adds a container that is there from an earlier restore only once, as the hook has it now', async () => {
    const found = await initContainers({ own: ['mine', 'one'], spec: { hooks: hooksFor({}, 'one') } })
    assert.deepEqual(found, [container('one'), { name: 'mine', image: 'old' }])
  })

  it('chooses by the namespace that the pod is restored to, and by labels', async () => {
    const count = async (scope: object, namespaceMapping = {}) => {
      const spec = { hooks: hooksFor(scope, 'one'), namespaceMapping }
      return ((await initContainers({ spec })) as unknown[] | undefined)?.length ?? 0
    }
    assert.equal(await count({ includedNamespaces: ['shop'] }), 1)
    assert.equal(await count({ includedNamespaces: ['shop'] }, { shop: 'store' }), 0)
    assert.equal(await count({ includedNamespaces: ['sto*'] }, { shop: 'store' }), 1)
    assert.equal(await count({ labelSelector: { matchLabels: { app: 'web' } } }), 0)
  })

  it('takes the container of the annotations instead of those in the spec, with a name if it has none', async () => {
    const spec = { hooks: hooksFor({}, 'one') }
    const prefix = 'init.hook.restore.velero.io'
    const annotations = {
      [`${prefix}/container-image`]: 'alpine',
      [`${prefix}/container-name`]: 'mine',
      [`${prefix}/command`]: '["ls","-l"]',
    }
    assert.deepEqual(await initContainers({ annotations, spec }), [
      { name: 'mine', image: 'alpine', command: ['ls', '-l'] },
    ])
    assert.deepEqual(
      await initContainers({ annotations: { [`${prefix}/container-image`]: 'alpine' }, spec }),
      [{ name: 'velero-restore-init-0a1b2c3d', image: 'alpine' }],
    )
  })

  it('leaves the spec of the restore alone when later actions change the containers', async () => {
    const spec = { hooks: hooksFor({}, 'one') }
    const [added] = (await initContainers({ spec })) as { image: string }[]
    assert.ok(added)
    added.image = 'changed'
    assert.deepEqual(await initContainers({ spec }), [container('one')])
  })

  it('changes nothing in a pod without hooks', async () => {
    assert.equal(await initContainers({}), undefined)
    assert.deepEqual(await initContainers({ own: ['mine'] }), [{ name: 'mine', image: 'old' }])
  })
})
