import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupResource } from '../../item/item.ts'
import { type ItemResult, type RecordEntry, RestoreRecord } from './restore-record.ts'

const pods = groupResource({ group: '', plural: 'pods' })
const keyOf = (name: string, namespace = 'shop') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  groupResource: pods,
  namespace,
  name,
})
const created: ItemResult = { action: 'created', reason: 'it was not there', exists: true }

describe('The record of a restore', () => {
  it('lets only the first who asks restore an item', () => {
    const record = new RestoreRecord()
    const { entry, first } = record.begin(keyOf('web'))
    assert.ok(first)
    assert.deepEqual(record.begin(keyOf('web')), { entry, first: false })
    assert.ok(record.begin(keyOf('web', 'other')).first)
    assert.equal(record.count, 2)
    assert.equal(record.done, 0)
    record.end(entry, created)
    assert.equal(record.done, 1)
  })

  it('lets others wait until an item is done', async () => {
    const record = new RestoreRecord()
    const { entry } = record.begin(keyOf('needed'))
    const who = record.begin(keyOf('waiting')).entry
    const waiting = record.waitFor(entry, who)
    record.end(entry, created)
    assert.deepEqual(await waiting, created)
    assert.deepEqual(await record.waitFor(entry, who), created)
  })

  it('does not let items wait for each other in a circle, however long it is', async () => {
    const record = new RestoreRecord()
    const [a, b, c] = ['a', 'b', 'c'].map(name => record.begin(keyOf(name)).entry) as [
      RecordEntry,
      RecordEntry,
      RecordEntry,
    ]
    const aWaits = record.waitFor(b, a)
    const bWaits = record.waitFor(c, b)
    assert.equal(await record.waitFor(a, c), undefined)
    assert.equal(await record.waitFor(c, c), undefined)
    record.end(c, created)
    assert.deepEqual(await bWaits, created)
    record.end(b, { ...created, exists: false })
    assert.equal((await aWaits)?.exists, false)
  })

  it('lists items by type with what became of them, under the names that the server chose', () => {
    const record = new RestoreRecord()
    record.end(record.begin(keyOf('web')).entry, created)
    record.end(record.begin(keyOf('a')).entry, { ...created, action: 'failed', reason: 'no' })
    record.end(record.begin(keyOf('gen')).entry, { ...created, createdName: 'gen-x7z' })
    record.begin(keyOf('unfinished'))
    const namespace = { apiVersion: 'v1', kind: 'Namespace', namespace: '', name: 'shop' }
    const namespaces = groupResource({ group: '', plural: 'namespaces' })
    record.end(record.begin({ ...namespace, groupResource: namespaces }).entry, created)
    assert.deepEqual(Object.entries(record.resourceList()), [
      ['v1/Namespace', ['shop(created)']],
      ['v1/Pod', ['shop/a(failed)', 'shop/gen-x7z(created)', 'shop/web(created)']],
    ])
    assert.deepEqual(
      [...record.items()].map(({ kind, name, action }) => `${kind} ${name} ${action}`),
      ['Namespace shop created', 'Pod a failed', 'Pod gen-x7z created', 'Pod web created'],
    )
  })
})
