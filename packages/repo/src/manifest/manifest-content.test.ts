import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { isRepoError } from '../errors/repo-error.ts'
import {
  type ManifestEntry,
  mergeManifests,
  parseManifestContent,
  serializeManifestContent,
} from './manifest-content.ts'

const put: ManifestEntry = {
  id: '0a'.repeat(16),
  labels: { type: 'snapshot', path: '/a<b' },
  modified: 1_700_000_000_123_456_789n,
  deleted: false,
  payload: '{"n":9223372036854775807,"s":"x"}',
}
const end: ManifestEntry = {
  ...put,
  labels: null,
  modified: put.modified + 1n,
  deleted: true,
  payload: 'null',
}

describe('a manifest content', () => {
  it('is gzip of the JSON that Kopia writes', () => {
    const text = gunzipSync(serializeManifestContent([put, end])).toString()
    assert.equal(
      text,
      `{"entries":[{"id":"${put.id}","labels":{"path":"/a\\u003cb","type":"snapshot"},` +
        `"modified":"2023-11-14T22:13:20.123456789Z","data":{"n":9223372036854775807,"s":"x"}},` +
        `{"id":"${put.id}","labels":null,"modified":"2023-11-14T22:13:20.12345679Z","deleted":true,"data":null}]}\n`,
    )
  })

  it('keeps numbers that JavaScript cannot hold, and fields nobody knows', () => {
    const payload = '{"big":9223372036854775807,"list":[1,{"unknown":-9223372036854775808}],"text":"\\u003c"}'
    const [read] = parseManifestContent(serializeManifestContent([{ ...put, payload }]))
    assert.equal(read?.payload, payload)
  })

  it('reads as it was written', () => {
    assert.deepEqual(parseManifestContent(serializeManifestContent([put, end])), [put, end])
  })

  for (const [fault, bytes] of [
    ['not gzip', Buffer.from('{}')],
    ['no JSON inside', gzipSync('{"entries":[')],
    ['an entry without an id', gzipSync('{"entries":[{"modified":"2023-11-14T22:13:20Z"}]}')],
  ] as const) {
    it(`that has ${fault} is corrupt`, () => {
      assert.throws(
        () => parseManifestContent(bytes),
        error => isRepoError(error, 'CORRUPT'),
      )
    })
  }
})

describe('entries of one manifest', () => {
  it('count by their time, whatever their order', () => {
    const later = { ...put, modified: put.modified + 5n, payload: '2' }
    for (const entries of [
      [put, later],
      [later, put],
    ]) {
      assert.deepEqual([...mergeManifests(entries).values()], [later])
    }
  })

  it('of the same time end the manifest when one of them does', () => {
    const same = { ...end, modified: put.modified }
    for (const entries of [
      [put, same],
      [same, put],
    ]) {
      assert.deepEqual([...mergeManifests(entries).values()], [same])
    }
  })
})
