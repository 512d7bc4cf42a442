import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { builtInKind, type ResourceType, type Unstructured } from '@lateen/kube'
import { groupResource, type ItemRef } from '../../item/item.ts'
import { ItemRecord } from './item-record.ts'

const podType = builtInKind<Unstructured>('Pod')
const scaler = (version: string): ResourceType<Unstructured> => ({
  group: 'autoscaling',
  version,
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
})

const ref = (name: string, type = podType): ItemRef => ({
  type,
  groupResource: groupResource(type),
  namespace: 'shop',
  name,
})

describe('the record of items', () => {
  it('lets an item be begun once, also by a description of its type that is another object', () => {
    const record = new ItemRecord(1)
    assert.equal(record.begin({ ref: ref('a'), collected: true }), true)
    assert.equal(record.begin({ ref: ref('a', { ...podType }), collected: false }), false)
    assert.equal(record.hasBegun(ref('a')), true)
    assert.equal(record.hasBegun(ref('b')), false)
  })

  it('keeps versions of an object apart', () => {
    const record = new ItemRecord(2)
    assert.equal(record.begin({ ref: ref('a', scaler('v1')), collected: true }), true)
    assert.equal(record.begin({ ref: ref('a', scaler('v2')), collected: true }), true)
  })

  it('lets an item be in one block', () => {
    const record = new ItemRecord(1)
    assert.deepEqual(
      [record.claim(ref('a')), record.claim(ref('a')), record.hasBegun(ref('a'))],
      [true, false, false],
    )
  })

  it('counts what was collected and brought along, less what was left out', () => {
    const record = new ItemRecord(3)
    const a = { ref: ref('a'), collected: true }
    const b = { ref: ref('b'), collected: true }
    const c = { ref: ref('c'), collected: true }
    const extra = { ref: ref('x'), collected: false }
    record.leaveOut({ ref: ref('never-counted'), collected: false })
    assert.deepEqual(record.progress, { itemsBackedUp: 0, totalItems: 3 })
    record.begin(extra)
    record.store(extra.ref)
    assert.deepEqual(record.progress, { itemsBackedUp: 1, totalItems: 4 })
    record.leaveOut(a)
    record.leaveOut(a)
    assert.deepEqual(record.progress, { itemsBackedUp: 1, totalItems: 3 })
    record.begin(b)
    record.leaveOut(b)
    record.begin(c)
    record.fail(c.ref)
    assert.deepEqual(record.progress, { itemsBackedUp: 1, totalItems: 2 })
    assert.deepEqual(record.result, { itemsBackedUp: 1, totalItems: 2 })
  })

  it('counts an item again that was left out before an action insisted on it', () => {
    const record = new ItemRecord(1)
    const a = { ref: ref('a'), collected: true }
    record.leaveOut(a)
    record.begin(a)
    record.store(a.ref)
    assert.deepEqual(record.progress, { itemsBackedUp: 1, totalItems: 1 })
  })

  it('lists what was stored, and the types of that', () => {
    const record = new ItemRecord(3)
    for (const name of ['a', 'b']) {
      record.begin({ ref: ref(name), collected: true })
      record.store(ref(name))
    }
    const failed = ref('c', scaler('v2'))
    record.begin({ ref: failed, collected: true })
    record.fail(failed)
    assert.deepEqual([...record.storedTypes()], ['pods'])
    assert.deepEqual(
      [...record.storedItems()],
      [
        { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'a' },
        { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'b' },
      ],
    )
  })
})
