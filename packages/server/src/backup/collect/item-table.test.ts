import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DiscoveredResource } from '@lateen/kube'
import fc from 'fast-check'
import { groupResource, itemKey } from '../../item/item.ts'
import type { CollectedType } from './choose-types.ts'
import { type FoundItem, ItemTable } from './item-table.ts'

function type(plural: string, version: string, preferred = true): CollectedType {
  const resource = { group: '', version, kind: plural, plural, namespaced: true }
  return { type: resource as DiscoveredResource, groupResource: groupResource(resource), preferred }
}

const types = [type('pods', 'v1'), type('jobs', 'v1'), type('jobs', 'v1beta1', false)]
const found = (item: Partial<FoundItem>): FoundItem => ({
  ...{ type: 0, namespace: 'n', name: 'x', file: 0, offset: 0, length: 0 },
  ...{ excludedByLabel: false, terminating: false },
  ...item,
})

describe('The table of collected items', () => {
  it('knows every item by its position and by its name, and repeated ones once', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '-'), maxLength: 3 })
    const items = fc.array(
      fc.record({
        type: fc.nat({ max: 2 }),
        namespace: name,
        name,
        file: fc.nat({ max: 5 }),
        offset: fc.maxSafeNat(),
        length: fc.nat(),
        excludedByLabel: fc.boolean(),
        terminating: fc.boolean(),
      }),
      { maxLength: 2000, size: 'max' },
    )
    fc.assert(
      fc.property(items, given => {
        const table = new ItemTable(types)
        table.arrange(given.map(item => table.add(item)))
        const keyOf = ({ type: at, namespace, name: own }: FoundItem) =>
          itemKey({ groupResource: types[at]!.groupResource, namespace, name: own })
        const once = new Map<string, FoundItem>()
        for (const item of given) {
          const key = `${item.type} ${keyOf(item)}`
          if (!once.has(key)) once.set(key, item)
        }
        assert.equal(table.count, once.size)
        const versions = Map.groupBy(once.values(), keyOf)
        for (const [index, item] of [...once.values()].entries()) {
          const { file, offset, length, ...rest } = item
          assert.deepEqual(table.placeOf(index), { file, offset, length })
          const at = table.at(index)
          const { type: _type, groupResource: _name, preferred, ordered, index: position, ...same } = at
          assert.deepEqual({ ...same, type: rest.type }, rest)
          assert.deepEqual([preferred, ordered, position], [item.type !== 2, false, index])
          assert.equal(at.type, types[item.type]!.type)
          assert.equal(table.versionsOf(at).length, versions.get(keyOf(item))?.length)
          assert.ok(table.versionsOf(at).some(version => version.index === index))
        }
      }),
      { numRuns: 10 },
    )
  })

  it('finds nothing that is not there', () => {
    const table = new ItemTable(types)
    const pods = groupResource({ group: '', plural: 'pods' })
    assert.deepEqual(table.versionsOf({ groupResource: pods, namespace: 'n', name: 'x' }), [])
    table.arrange([table.add(found({ name: 'x' }))])
    assert.equal(table.versionsOf({ groupResource: pods, namespace: 'n', name: 'x' }).length, 1)
    assert.deepEqual(table.versionsOf({ groupResource: pods, namespace: 'n', name: 'y' }), [])
    assert.deepEqual(table.versionsOf({ groupResource: pods, namespace: 'm', name: 'x' }), [])
    assert.deepEqual(
      table.versionsOf({
        groupResource: groupResource({ group: 'a', plural: 'b' }),
        namespace: 'n',
        name: 'x',
      }),
      [],
    )
    assert.throws(() => table.at(1), RangeError)
  })

  it('holds rows in the order that it is told, with those left out that are not named', () => {
    const table = new ItemTable(types)
    const rows = ['a', 'b', 'c'].map(name => table.add(found({ name })))
    table.markOrdered(rows[2]!)
    table.arrange([rows[2]!, rows[0]!])
    assert.deepEqual(
      [...table].map(({ name, ordered }) => [name, ordered]),
      [
        ['c', true],
        ['a', false],
      ],
    )
  })

  it('names versions of one object in the order they were collected', () => {
    const table = new ItemTable(types)
    table.arrange([1, 2].map(at => table.add(found({ type: at }))))
    const jobs = groupResource({ group: '', plural: 'jobs' })
    const versions = table.versionsOf({ groupResource: jobs, namespace: 'n', name: 'x' })
    assert.deepEqual(
      versions.map(version => [version.type.version, version.preferred]),
      [
        ['v1', true],
        ['v1beta1', false],
      ],
    )
  })
})
