import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResourceSelector } from '@lateen/plugin'
import type { GroupResource } from './item.ts'
import { ActionSelectorError, resolveActions } from './resolve-actions.ts'

const known: Record<string, string> = { deploy: 'deployments.apps', pods: 'pods', crd: 'crds.example.com' }
const resolve = (name: string) =>
  known[name] === undefined ? undefined : { groupResource: known[name] as GroupResource, namespaced: true }

async function names(selector: ResourceSelector, groupResource: string, namespace: string): Promise<number> {
  const action = { appliesTo: async () => selector }
  const table = await resolveActions([{ name: 'a', action }], resolve)
  return table.forPlace(groupResource as GroupResource, namespace).length
}

describe('an action is for', () => {
  it('everything when it names nothing', async () => {
    assert.equal(await names({}, 'pods', 'shop'), 1)
    assert.equal(await names({ includedResources: [], includedNamespaces: [] }, 'nodes', ''), 1)
  })

  it('the resources it names, as users name them, without those it excludes', async () => {
    assert.equal(await names({ includedResources: ['deploy'] }, 'deployments.apps', 'shop'), 1)
    assert.equal(await names({ includedResources: ['deploy'] }, 'pods', 'shop'), 0)
    assert.equal(await names({ excludedResources: ['deploy'] }, 'deployments.apps', 'shop'), 0)
    assert.equal(await names({ includedResources: ['unknown.kind'] }, 'pods', 'shop'), 0)
  })

  it('the namespaces it names, and then not for objects without one', async () => {
    assert.equal(await names({ includedNamespaces: ['sh*'] }, 'pods', 'shop'), 1)
    assert.equal(await names({ includedNamespaces: ['sh*'] }, 'pods', 'other'), 0)
    assert.equal(await names({ includedNamespaces: ['sh*'] }, 'nodes', ''), 0)
    assert.equal(await names({ excludedNamespaces: ['shop'] }, 'nodes', ''), 0)
    assert.equal(await names({ includedNamespaces: ['*'] }, 'nodes', ''), 1)
  })

  it('the labels it selects', async () => {
    const action = { appliesTo: async () => ({ labelSelector: 'app in (web,db),!old' }) }
    const table = await resolveActions([{ name: 'a', action }], resolve)
    const [resolved] = table.forPlace('pods' as GroupResource, 'shop')
    assert.equal(resolved?.matches({ app: 'web' }), true)
    assert.equal(resolved.matches({ app: 'web', old: 'yes' }), false)
    assert.equal(resolved.matches(undefined), false)
  })
})

describe('actions', () => {
  it('keep the order in which they are registered', async () => {
    const action = { appliesTo: async () => ({}) }
    const registered = ['c', 'a', 'b'].map(name => ({ name, action }))
    const table = await resolveActions(registered, resolve)
    assert.deepEqual(
      table.forPlace('pods' as GroupResource, '').map(({ name }) => name),
      ['c', 'a', 'b'],
    )
  })

  it('that do not tell what they are for are named in the error', async () => {
    const action = { appliesTo: () => Promise.reject(new Error('plugin exited')) }
    await assert.rejects(
      resolveActions([{ name: 'example.com/broken', action }], resolve),
      (error: ActionSelectorError) =>
        error instanceof ActionSelectorError && /example.com\/broken.*plugin exited/.test(error.message),
    )
  })
})
