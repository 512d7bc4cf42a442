import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isRepoError } from '../errors/repo-error.ts'
import { parseIndirect, serializeIndirect } from './indirect.ts'
import { objectId } from './object-id.ts'

const first = objectId('5f3d0000000000000000000000000000')
const second = objectId('c75e0000000000000000000000000000')

describe('an index object', () => {
  it('has the bytes that Kopia writes', () => {
    const chunks = [
      { start: 0, length: 8388608, object: first },
      { start: 8388608, length: 8388608, object: second },
    ]
    assert.equal(
      Buffer.from(serializeIndirect(chunks)).toString(),
      `{"stream":"kopia:indirect","entries":[{"l":8388608,"o":"${first}"},{"s":8388608,"l":8388608,"o":"${second}"}]}\n`,
    )
  })

  it('holds the chunks it was made of, empty ones included', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), lengths => {
        let start = 0
        const chunks = lengths.map(length => {
          const chunk = { start, length, object: length % 2 === 0 ? first : second }
          start += length
          return chunk
        })
        assert.deepEqual(parseIndirect(serializeIndirect(chunks)), chunks)
      }),
    )
  })

  for (const [fault, text] of [
    ['no JSON', '{"stream":'],
    ['another stream', '{"stream":"kopia:directory","entries":[]}'],
    ['a gap', `{"stream":"kopia:indirect","entries":[{"s":1,"l":1,"o":"${first}"}]}`],
    ['a negative length', `{"stream":"kopia:indirect","entries":[{"l":-1,"o":"${first}"}]}`],
    ['no object', '{"stream":"kopia:indirect","entries":[{"l":1}]}'],
    ['null for an entry', '{"stream":"kopia:indirect","entries":[null]}'],
  ] as const) {
    it(`with ${fault} is corrupt`, () => {
      assert.throws(
        () => parseIndirect(Buffer.from(text)),
        error => isRepoError(error, 'CORRUPT'),
      )
    })
  }
})
