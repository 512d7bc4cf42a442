import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ItemBlockAction } from '@lateen/plugin'
import { type BlockUnit, buildBlocks } from './build-blocks.ts'
import { createMemoryRun, identifierOf, type MemoryObject, pathOf } from './testing/memory-run.ts'

const signal = new AbortController().signal

/** Relates objects as a table says. */
function related(table: Record<string, readonly string[]>): ItemBlockAction {
  return {
    appliesTo: async () => ({ includedResources: ['pods', 'persistentvolumeclaims', 'widgets'] }),
    async getRelatedItems({ item }) {
      const { namespace = '', name = '' } = item.metadata
      return (table[`${item.kind}/${namespace}/${name}`] ?? []).map(identifierOf)
    },
  }
}

async function unitsOf(
  objects: readonly MemoryObject[],
  table: Record<string, readonly string[]> = {},
): Promise<{ units: string[][]; warnings: string[] }> {
  const warnings: string[] = []
  const { run, collected } = await createMemoryRun({
    objects,
    blockActions: [{ name: 'test/related', action: related(table) }],
    onLine: (level, message) => level === 'warn' && warnings.push(message),
  })
  const units: string[][] = []
  for await (const unit of buildBlocks({ run, collected, signal })) units.push(membersOf(unit))
  return { units, warnings }
}

function membersOf(unit: BlockUnit): string[] {
  return unit.kind === 'plain' ? unit.items.map(ref => pathOf({ ref })) : unit.block.items.map(pathOf)
}

const objects = (...paths: string[]): MemoryObject[] => paths.map(path => ({ path }))

describe('blocks', () => {
  it('hold an item and everything related to it, through any number of others', async () => {
    const { units } = await unitsOf(
      objects(
        'pods/a/one',
        'pods/a/two',
        'pods/a/three',
        'persistentvolumeclaims/a/shared',
        'persistentvolumes//pv',
      ),
      {
        'pods/a/one': ['persistentvolumeclaims/a/shared'],
        'persistentvolumeclaims/a/shared': ['persistentvolumes//pv', 'pods/a/three', 'pods/a/one'],
      },
    )
    assert.deepEqual(units, [
      ['pods/a/one', 'persistentvolumeclaims/a/shared', 'persistentvolumes//pv', 'pods/a/three'],
      ['pods/a/two'],
    ])
  })

  it('hold items that exist and were not collected, and warn of those that do not exist', async () => {
    const { units, warnings } = await unitsOf(
      [{ path: 'pods/a/one' }, { path: 'persistentvolumes//pv', uncollected: true }],
      { 'pods/a/one': ['persistentvolumes//pv', 'persistentvolumes//none', 'persistentvolumes//none'] },
    )
    assert.deepEqual(units, [['pods/a/one', 'persistentvolumes//pv']])
    assert.deepEqual(warnings, ['An item that is related to pods a/one does not exist'])
  })

  it('come first and one by one for ordered items', async () => {
    const { units } = await unitsOf([
      { path: 'configmaps/a/x' },
      { path: 'secrets/a/second', ordered: true },
      { path: 'secrets/a/third', ordered: true },
      { path: 'pods/a/last', ordered: true },
    ])
    assert.deepEqual(units, [['secrets/a/second'], ['secrets/a/third'], ['pods/a/last'], ['configmaps/a/x']])
  })

  it('are not made for items that need no more than copying: many of them are one unit, in order', async () => {
    const maps = Array.from({ length: 100 }, (_, index) => `configmaps/a/m-${index}`)
    const { units } = await unitsOf(objects(...maps, 'pods/a/one', 'secrets/a/s'))
    assert.deepEqual(
      units.map(({ length }) => length),
      [64, 36, 1, 1],
    )
    assert.deepEqual(units.flat(), [...maps, 'pods/a/one', 'secrets/a/s'])
  })

  it('are built only as they are asked for', async () => {
    const asked: string[] = []
    const action: ItemBlockAction = {
      appliesTo: async () => ({ includedResources: ['pods'] }),
      async getRelatedItems({ item }) {
        asked.push(item.metadata.name ?? '')
        return []
      },
    }
    const { run, collected } = await createMemoryRun({
      objects: objects('pods/a/one', 'pods/a/two', 'pods/a/three'),
      blockActions: [{ name: 'test/ask', action }],
    })
    const blocks = buildBlocks({ run, collected, signal })
    await blocks.next()
    assert.deepEqual(asked, ['one'])
    await blocks.next()
    assert.deepEqual(asked, ['one', 'two'])
  })

  it('are built without what an action that fails would have added, and the failure is an error', async () => {
    const errors: string[] = []
    const action: ItemBlockAction = {
      appliesTo: async () => ({}),
      getRelatedItems: () => Promise.reject(new Error('plugin exited')),
    }
    const { run, collected } = await createMemoryRun({
      objects: objects('pods/a/one'),
      blockActions: [{ name: 'test/fail', action }],
      onLine: (level, _message, fields) =>
        level === 'error' && errors.push(String(Object.values(fields).at(-1))),
    })
    const units = await Array.fromAsync(buildBlocks({ run, collected, signal }), membersOf)
    assert.deepEqual(units, [['pods/a/one']])
    assert.match(errors.join(), /test\/fail.*plugin exited/)
  })
})
