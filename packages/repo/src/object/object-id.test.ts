import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRepoError } from '../errors/repo-error.ts'
import { objectId, parseObjectId } from './object-id.ts'

const hash = '556c0123456789abcdef0123456789ab'

describe('an object id', () => {
  it('of a content has no level of index', () => {
    assert.deepEqual(parseObjectId(`k${hash}`), { indirection: 0, compressed: false, contentId: `k${hash}` })
  })

  it('of an index object has one I per level', () => {
    assert.deepEqual(parseObjectId(`IIx${hash}`), {
      indirection: 2,
      compressed: false,
      contentId: `x${hash}`,
    })
  })

  it('says by Z that the content is compressed inside', () => {
    assert.deepEqual(parseObjectId(`Z${hash}`), { indirection: 0, compressed: true, contentId: hash })
  })

  it('may carry the D of old versions, which means nothing', () => {
    assert.equal(parseObjectId(`D${hash}`).contentId, hash)
  })

  for (const text of [
    '',
    'I',
    'k',
    `IZ${hash}`,
    `ZI${hash}`,
    `a${hash}`,
    hash.toUpperCase(),
    `${hash} `,
    '../x',
  ]) {
    it(`is not "${text}"`, () => {
      assert.throws(
        () => objectId(text),
        error => isRepoError(error, 'INVALID_ARGUMENT'),
      )
    })
  }
})
