import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRepoError } from '../errors/repo-error.ts'
import { encodeGoJson, parseGoJson } from '../go-json/go-json.ts'
import { objectId } from '../object/object-id.ts'
import {
  emptyStats,
  parseSnapshotManifest,
  type SnapshotManifest,
  snapshotLabels,
  snapshotPayload,
} from './snapshot-manifest.ts'
import { parseSource, printSource, veleroSource } from './source.ts'

const manifest: SnapshotManifest = {
  id: 'abc',
  source: { host: 'h', userName: 'u', path: '/data' },
  description: 'd',
  startTime: 1_700_000_000_123_456_789n,
  endTime: 1_700_000_001_000_000_000n,
  stats: { ...emptyStats(), fileCount: 3 },
  incomplete: 'checkpoint',
  rootEntry: {
    name: 'data',
    type: 'd',
    mode: 0o755,
    size: 0,
    mtime: 5n,
    uid: 1,
    gid: 2,
    obj: objectId('k12'),
  },
  tags: { 'tag:b': '2', 'tag:a': '1' },
  pins: ['velero-pin'],
}

describe('a snapshot manifest', () => {
  it('reads back what was written, fields of other versions included', () => {
    const withUnknown = { ...manifest, unknown: { later: { big: 9223372036854775807n } } }
    const payload = parseGoJson(encodeGoJson(snapshotPayload(withUnknown)))
    assert.deepEqual(parseSnapshotManifest('abc', payload), withUnknown)
  })

  it('stores its fields in the order of the format, without its id', () => {
    assert.equal(
      encodeGoJson(snapshotPayload(manifest)),
      '{"id":"","source":{"host":"h","userName":"u","path":"/data"},"description":"d",' +
        '"startTime":"2023-11-14T22:13:20.123456789Z","endTime":"2023-11-14T22:13:21Z",' +
        '"stats":{"totalSize":0,"excludedTotalSize":0,"fileCount":3,"cachedFiles":0,"nonCachedFiles":0,"dirCount":0,' +
        '"excludedFileCount":0,"excludedDirCount":0,"ignoredErrorCount":0,"errorCount":0},"incomplete":"checkpoint",' +
        '"rootEntry":{"name":"data","type":"d","mode":"0755","mtime":"1970-01-01T00:00:00.000000005Z","uid":1,"gid":2,' +
        '"obj":"k12"},"tags":{"tag:a":"1","tag:b":"2"},"pins":["velero-pin"]}',
    )
  })

  it('carries its source and its tags as labels', () => {
    assert.deepEqual(snapshotLabels(manifest), {
      type: 'snapshot',
      hostname: 'h',
      username: 'u',
      path: '/data',
      'tag:a': '1',
      'tag:b': '2',
    })
  })

  it('is refused without a whole source and with a tag that hides a label', () => {
    const wrong = [
      { ...manifest, source: { host: '', userName: 'u', path: '/data' } },
      { ...manifest, source: { host: 'h', userName: 'u', path: '' } },
      { ...manifest, tags: { hostname: 'x' } },
    ]
    for (const one of wrong)
      assert.throws(
        () => snapshotLabels(one),
        error => isRepoError(error, 'INVALID_ARGUMENT'),
      )
  })

  it('is corrupt without a root', () => {
    const { rootEntry: _, ...payload } = snapshotPayload(manifest)
    assert.throws(
      () => parseSnapshotManifest('abc', payload),
      error => isRepoError(error, 'CORRUPT') && error.snapshotId === 'abc',
    )
  })
})

describe('a source', () => {
  const local = { host: 'here', userName: 'me' }

  it('is a local path, or a user, a host and a path', () => {
    assert.deepEqual(parseSource('/a/../b/', local), { ...local, path: '/b' })
    assert.deepEqual(parseSource('u@h:/x', local), { host: 'h', userName: 'u', path: '/x' })
    assert.deepEqual(parseSource('u@h', local), { host: 'h', userName: 'u', path: '' })
    assert.throws(
      () => parseSource('u@', local),
      error => isRepoError(error, 'INVALID_ARGUMENT'),
    )
  })

  it('prints as it is read', () => {
    for (const text of ['u@h:/x', 'u@h', '(global)'])
      assert.equal(printSource(parseSource(text, local)), text)
  })

  it("of a Velero volume has Velero's names", () => {
    assert.equal(
      printSource(veleroSource('snapshot-data-upload-download', 'ns/pvc')),
      'default@default:snapshot-data-upload-download/kopia/ns/pvc',
    )
  })
})
