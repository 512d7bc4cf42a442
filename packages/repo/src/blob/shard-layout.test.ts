import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  layoutInUse,
  layoutOf,
  parseShardLayout,
  type ShardLayout,
  serializeShardLayout,
  shardedName,
} from './shard-layout.ts'
import { blobId } from './storage.ts'

const pack = blobId('qf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66')

function pathOf(layout: ShardLayout, id: string): string {
  const { folders, file } = shardedName(layout, blobId(id))
  return [...folders, file].join('/')
}

describe('the layout of a filesystem repository', () => {
  it('is written as Kopia writes it', () => {
    assert.equal(serializeShardLayout(layoutOf([1, 3])), '{"default":[1,3],"maxNonShardedLength":20}\n')
    assert.equal(
      serializeShardLayout({ ...layoutOf([]), overrides: [{ prefix: 'x', shards: [2] }] }),
      '{"default":[],"maxNonShardedLength":20,"overrides":[{"prefix":"x","shards":[2]}]}\n',
    )
  })

  it('survives being written and read', () => {
    for (const layout of [
      layoutOf([1, 3]),
      layoutOf([]),
      { ...layoutOf([3, 3]), overrides: [{ prefix: 'x', shards: [2] }] },
    ]) {
      assert.deepEqual(parseShardLayout(serializeShardLayout(layout), '.shards'), layout)
    }
  })

  it('takes what Go takes: missing and null lists are empty', () => {
    const flat = { shards: [], maxNonShardedLength: 0, overrides: [] }
    assert.deepEqual(parseShardLayout('{}', '.shards'), flat)
    assert.deepEqual(parseShardLayout('{"default":null,"overrides":null,"more":1}', '.shards'), flat)
  })

  it('is refused by name when it makes no sense', () => {
    const bad = [
      '',
      'x',
      '[]',
      'null',
      '{"default":3}',
      '{"default":["1"]}',
      '{"default":[-1]}',
      '{"default":[1.5]}',
    ]
    const worse = [
      '{"maxNonShardedLength":"20"}',
      '{"overrides":{}}',
      '{"overrides":[3]}',
      '{"overrides":[{"prefix":1}]}',
    ]
    for (const text of [...bad, ...worse]) {
      assert.throws(
        () => parseShardLayout(text, '/repo/.shards'),
        { code: 'CORRUPT', message: /\/repo\/\.shards/ },
        text,
      )
    }
  })

  it('puts long ids into folders and short ones into the root', () => {
    const layout = layoutOf([1, 3])
    assert.equal(pathOf(layout, pack), 'q/f27/455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f')
    assert.equal(pathOf(layout, 'kopia.repository'), 'kopia.repository.f')
    assert.equal(pathOf(layout, 'xw1794728032'), 'xw1794728032.f')
    assert.equal(pathOf(layout, 'a23456789012345678901'), 'a/234/56789012345678901.f')
    assert.equal(pathOf(layout, 'a2345678901234567890'), 'a2345678901234567890.f')
    assert.equal(pathOf(layoutOf([3, 3]), pack), 'qf2/745/5c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f')
    assert.equal(pathOf(layoutOf([]), pack), `${pack}.f`)
  })

  it('stops where the id is used up, and passes over empty shards', () => {
    const layout = { shards: [3, 0, 100, 2], maxNonShardedLength: 5, overrides: [] }
    assert.equal(pathOf(layout, 'abcdefgh'), 'abc/defgh.f')
    assert.equal(pathOf({ ...layout, maxNonShardedLength: 0 }, 'abc'), 'abc.f')
  })

  it('follows the first override that fits', () => {
    const overrides = [
      { prefix: 'qf', shards: [2] },
      { prefix: 'q', shards: [4] },
    ]
    assert.equal(pathOf({ ...layoutOf([1, 3]), overrides }, pack), `qf/${pack.slice(2)}.f`)
    assert.equal(pathOf({ ...layoutOf([1, 3]), overrides }, `qe${pack.slice(2)}`), `qe27/${pack.slice(4)}.f`)
  })

  it('never makes a folder that leads elsewhere', () => {
    const layout = { shards: [1, 2], maxNonShardedLength: 0, overrides: [] }
    assert.throws(() => pathOf(layout, 'a..bcd'), { code: 'INVALID_ARGUMENT' })
    assert.throws(() => pathOf({ ...layout, shards: [1, 1] }, 'a.bcd'), { code: 'INVALID_ARGUMENT' })
    assert.throws(() => pathOf(layout, 'a...'), { code: 'INVALID_ARGUMENT' })
  })

  it('can be told from blobs that are there', () => {
    const ids = [pack, 'kopia.repository', 'xn0_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c1'].map(
      blobId,
    )
    for (const shards of [[1, 3], [3, 3], [], [2]]) {
      const layout = layoutOf(shards)
      assert.deepEqual(layoutInUse(ids.map(id => shardedName(layout, id))), layout)
    }
    assert.equal(layoutInUse([shardedName(layoutOf([1, 3]), blobId('kopia.repository'))]), undefined)
    assert.equal(layoutInUse([]), undefined)
    assert.equal(
      layoutInUse([shardedName(layoutOf([1, 3]), pack), shardedName(layoutOf([3, 3]), pack)]),
      'mixed',
    )
    assert.equal(layoutInUse([{ folders: ['k'], file: 'opia.f' }]), 'mixed')
  })
})
