import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupItemAction } from '../item-actions.ts'
import { isPluginError } from '../plugin-error.ts'
import { kindsKnownToHost } from '../plugin-kinds.ts'
import { createPluginLog } from './plugin-log.ts'
import { checkPlugins, listPlugins, PluginInstances } from './registered-plugins.ts'

const claim = { group: '', resource: 'persistentvolumeclaims', namespace: 'n', name: 'c' }
const action: BackupItemAction = {
  appliesTo: async () => ({ includedResources: ['pods'] }),
  execute: async ({ item }) => ({ item }),
  getAdditionalItems: async () => [claim],
}
const make = () => action
const context = { log: createPluginLog({ level: 'error', write: () => {} }), features: new Set<string>() }

describe('the plugins of a program', () => {
  it('are listed by kind and name', () => {
    const plugins = {
      BackupItemActionV2: { 'b.io/b': make, 'a.io/a': make },
      BackupItemAction: { 'c.io/c': make },
    }
    assert.deepEqual(listPlugins(plugins, kindsKnownToHost(undefined)), [
      { kind: 'BackupItemAction', name: 'c.io/c' },
      { kind: 'BackupItemActionV2', name: 'a.io/a' },
      { kind: 'BackupItemActionV2', name: 'b.io/b' },
    ])
  })

  it('of version 3 are shown to Velero as version 2 and as an item block action', async () => {
    const plugins = { BackupItemActionV3: { 'a.io/a': make } }
    assert.deepEqual(listPlugins(plugins, kindsKnownToHost(undefined)), [
      { kind: 'BackupItemActionV2', name: 'a.io/a' },
      { kind: 'ItemBlockAction', name: 'a.io/a' },
    ])
    assert.deepEqual(listPlugins(plugins, kindsKnownToHost('BackupItemActionV3')), [
      { kind: 'BackupItemActionV3', name: 'a.io/a' },
    ])
    const instances = new PluginInstances(plugins, context)
    assert.equal(await instances.get('BackupItemActionV2', 'a.io/a'), action)
    const block = await instances.get('ItemBlockAction', 'a.io/a')
    assert.deepEqual(await block.getRelatedItems({ item: {} as never, backup: {} as never }), [claim])
  })

  it('cannot have one name for two versions of an action, which hosts would run twice', () => {
    const twice = { BackupItemAction: { 'a.io/a': make }, BackupItemActionV3: { 'a.io/a': make } }
    assert.throws(
      () => checkPlugins(twice),
      error => isPluginError(error, 'BAD_NAME'),
    )
    checkPlugins({ BackupItemAction: { 'a.io/a': make }, BackupItemActionV2: { 'a.io/b': make } })
  })

  it('cannot have names that Velero refuses', () => {
    assert.throws(
      () => checkPlugins({ BackupItemAction: { pods: make } }),
      error => isPluginError(error, 'BAD_NAME'),
    )
  })

  it('are made once, and again where that failed', async () => {
    let made = 0
    const factory = async () => {
      made += 1
      if (made === 1) throw new Error('not yet')
      return action
    }
    const instances = new PluginInstances({ BackupItemAction: { 'a.io/a': factory } }, context)
    await assert.rejects(instances.get('BackupItemAction', 'a.io/a'), /not yet/)
    const [first, second] = await Promise.all([
      instances.get('BackupItemAction', 'a.io/a'),
      instances.get('BackupItemAction', 'a.io/a'),
    ])
    assert.equal(first, second)
    assert.equal(made, 2)
  })

  it('do not include what every object has', async () => {
    const instances = new PluginInstances({ BackupItemAction: { 'a.io/a': make } }, context)
    await assert.rejects(instances.get('BackupItemAction', 'constructor'), error =>
      isPluginError(error, 'NO_SUCH_PLUGIN'),
    )
  })
})
