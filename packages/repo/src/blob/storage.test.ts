import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { blobId, isBlobId, maxBlobIdLength } from './storage.ts'

describe('blob ids', () => {
  it('are what Kopia names its blobs', () => {
    for (const text of [
      'kopia.repository',
      'xe0',
      'xn0_0a--c1',
      '_log_2026',
      'p0a-s1',
      'a'.repeat(maxBlobIdLength),
    ]) {
      assert.equal(blobId(text), text)
    }
  })

  it('hold nothing that could lead elsewhere', () => {
    const refused = [
      '',
      '.',
      '..',
      '../x',
      'a/b',
      'a\\b',
      '/a',
      '.shards',
      '.storageconfig',
      'a b',
      'a\0',
      'a\n',
      'ä',
    ]
    for (const text of [...refused, 'a'.repeat(maxBlobIdLength + 1)]) {
      assert.equal(isBlobId(text), false, text)
      assert.throws(() => blobId(text), { code: 'INVALID_ARGUMENT' })
    }
  })
})
