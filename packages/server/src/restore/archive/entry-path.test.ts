import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { GroupResource } from '../../item/item.ts'
import { itemPaths } from '../../item/item-paths.ts'
import { entryKey, parseItemPath } from './entry-path.ts'

const limits = { pathBytes: 100, pathDepth: 8 }

describe('entryKey', () => {
  it('leaves out what says nothing', () => {
    assert.equal(entryKey('resources/pods/a.json', limits), 'resources/pods/a.json')
    assert.equal(entryKey('./resources//pods/./a.json', limits), 'resources/pods/a.json')
    assert.equal(entryKey('a..b/...', limits), 'a..b/...')
  })

  const refused = {
    '../a': 'ARCHIVE_PATH',
    'a/../b': 'ARCHIVE_PATH',
    'a/..': 'ARCHIVE_PATH',
    '/etc/passwd': 'ARCHIVE_PATH',
    'a\0b': 'ARCHIVE_PATH',
    'a\ufffdb': 'ARCHIVE_PATH',
    [`a/${'b'.repeat(99)}`]: 'ARCHIVE_TOO_LARGE',
    'a/b/c/d/e/f/g/h/i': 'ARCHIVE_TOO_LARGE',
  }
  for (const [path, code] of Object.entries(refused)) {
    it(`refuses ${JSON.stringify(path.slice(0, 20))}`, () => {
      assert.throws(() => entryKey(path, limits), { name: 'ArchiveError', code })
    })
  }
})

describe('parseItemPath', () => {
  it('reads what is written for every object', () => {
    const segment = fc.string({ minLength: 1 }).filter(text => !text.includes('/'))
    const version = segment.filter(
      text => text !== 'cluster' && text !== 'namespaces' && !text.endsWith('-preferredversion'),
    )
    const item = fc.record({
      groupResource: segment.map(text => text as GroupResource),
      namespace: fc.oneof(fc.constant(''), fc.constantFrom('cluster', 'namespaces'), segment),
      name: segment,
      version,
      preferred: fc.boolean(),
    })
    fc.assert(
      fc.property(item, each => {
        const read = itemPaths(each).map(parseItemPath)
        const versioned = { ...each, preferred: each.preferred }
        const plain = { ...each, version: '', preferred: false }
        assert.deepEqual(read, each.preferred ? [plain, versioned] : [versioned])
      }),
    )
  })

  const noObjects = [
    'metadata/version',
    'resources',
    'resources/pods',
    'resources/pods/a.json',
    'resources/pods/cluster/a',
    'resources/pods/cluster/.json',
    'resources/pods/cluster/a/b.json',
    'resources/pods/namespaces/a.json',
    'resources/pods/namespaces/a/b/c.json',
    'resources/pods/v1/a.json',
    'resources/pods/-preferredversion/cluster/a.json',
    'other/pods/cluster/a.json',
  ]
  for (const path of noObjects) {
    it(`finds no object at ${path}`, () => assert.equal(parseItemPath(path), undefined))
  }
})
