import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bytesFromName, compareNames, nameFromBytes, storedName } from './name.ts'

const anyBytes = fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes))

describe('a file name', () => {
  it('survives the way from bytes to text and back, whatever its bytes are', () => {
    fc.assert(
      fc.property(anyBytes, bytes => {
        assert.deepEqual(bytesFromName(nameFromBytes(bytes)), bytes)
      }),
    )
  })

  it('is plain text when its bytes are UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        assert.equal(nameFromBytes(Buffer.from(text)), text)
        assert.equal(storedName(text), text)
      }),
    )
  })

  it('has one replacement character per bad byte when it is stored', () => {
    assert.equal(
      storedName(nameFromBytes(Buffer.of(0x61, 0xff, 0xc3, 0x28, 0xe2, 0x82))),
      'a\ufffd\ufffd(\ufffd\ufffd',
    )
  })

  it('keeps a byte order mark', () => {
    assert.equal(nameFromBytes(Buffer.of(0xef, 0xbb, 0xbf, 0x61)), '\ufeffa')
  })

  it('sorts by its bytes, also where UTF-16 sorts differently', () => {
    fc.assert(
      fc.property(anyBytes, anyBytes, (a, b) => {
        const order = Math.sign(compareNames(nameFromBytes(a), nameFromBytes(b)))
        assert.equal(order, Buffer.compare(a, b))
      }),
    )
    assert.ok(compareNames('\uffee', '😀') < 0)
  })
})
