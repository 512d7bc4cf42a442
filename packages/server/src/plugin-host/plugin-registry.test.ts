import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { silentLogger } from '@lateen/kube'
import { type BackupItemAction, isObjectStoreError, isPluginError, type ObjectStore } from '@lateen/plugin'
import { noBuiltInPlugins } from './built-in-plugins.ts'
import { createPluginRegistry } from './plugin-registry.ts'

const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const item = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'n' } }

/** A store of which only its end is asked. */
function storeWithEnd(onEnd: () => void): ObjectStore {
  return { [Symbol.asyncDispose]: async () => onEnd() } as unknown as ObjectStore
}

describe('The object stores of a registry', () => {
  const ended: string[] = []
  const { objectStores } = createPluginRegistry({
    builtIns: () => ({
      ...noBuiltInPlugins,
      objectStores: {
        'velero.io/aws': () => storeWithEnd(() => ended.push('velero.io/aws')),
        'example.com/aws': () => storeWithEnd(() => ended.push('example.com/aws')),
      },
    }),
  })

  it('are found by their names, where a bare word means one of velero.io', async () => {
    for (const provider of ['aws', 'velero.io/aws', 'example.com/aws']) {
      await objectStores.create(provider)[Symbol.asyncDispose]()
    }
    assert.deepEqual(ended, ['velero.io/aws', 'velero.io/aws', 'example.com/aws'])
    assert.deepEqual(objectStores.names, ['example.com/aws', 'velero.io/aws'])
  })

  it('are named to who asks for one that is not there', () => {
    for (const provider of ['azure', '', 'example.com/s3', '__proto__', 'constructor']) {
      assert.throws(
        () => objectStores.create(provider),
        (error: unknown) => {
          assert.ok(isObjectStoreError(error, 'INVALID_CONFIG'))
          assert.ok(error.message.includes(`"${provider}"`))
          assert.ok(error.message.includes('example.com/aws, velero.io/aws'))
          return true
        },
      )
    }
  })
})

describe('A session without programs', () => {
  it('has the built-in plugins, made anew', () => {
    let made = 0
    const registry = createPluginRegistry({
      builtIns: () => {
        made += 1
        return noBuiltInPlugins
      },
    })
    const before = made
    registry.open({ log: silentLogger })
    registry.open({ log: silentLogger })
    assert.equal(made - before, 2)
  })

  it('knows no other plugins', () => {
    const session = createPluginRegistry({ builtIns: () => noBuiltInPlugins }).open({ log: silentLogger })
    for (const ask of [
      () => session.backupItemAction('velero.io/pod'),
      () => session.restoreItemAction('velero.io/pod'),
      () => session.volumeSnapshotter('aws'),
    ]) {
      assert.throws(ask, error => isPluginError(error, 'NO_SUCH_PLUGIN'))
    }
  })

  it('asks backup item actions that name additional items for those of a block, too', async () => {
    const related = [{ group: '', resource: 'secrets', namespace: 'n', name: 's' }]
    const plain: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['pods'] }),
      execute: async ({ item }) => ({ item }),
    }
    const naming = { ...plain, getAdditionalItems: async () => related }
    const session = createPluginRegistry({
      builtIns: () => ({
        ...noBuiltInPlugins,
        backupItemActions: [
          { name: 'x/plain', action: plain },
          { name: 'x/naming', action: naming },
        ],
      }),
    }).open({ log: silentLogger })
    const actions = session.itemBlockActions()
    assert.deepEqual(
      actions.map(({ name }) => name),
      ['x/naming'],
    )
    assert.deepEqual(await actions[0]?.action.getRelatedItems({ item, backup }), related)
    assert.deepEqual(await actions[0]?.action.appliesTo(), { includedResources: ['pods'] })
  })
})
