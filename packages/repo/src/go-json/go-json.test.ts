import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareUtf8, encodeGoJson, goMap, parseGoJson } from './go-json.ts'

describe('Go JSON text', () => {
  it('keeps the order of properties, leaves undefined out and writes no spaces', () => {
    assert.equal(encodeGoJson({ b: 1, a: [true, null, 'x'], c: undefined }), '{"b":1,"a":[true,null,"x"]}')
  })

  it('sorts maps by the UTF-8 bytes of their keys', () => {
    const text = encodeGoJson(goMap({ '\u{1f600}': 1, '\uffee': 2, a: 3 }))
    assert.equal(text, '{"a":3,"\uffee":2,"\u{1f600}":1}')
    assert.equal(
      encodeGoJson(
        new Map([
          ['b', 1],
          ['a', 2],
        ]),
      ),
      '{"a":2,"b":1}',
    )
  })

  it('escapes as Go does', () => {
    assert.equal(encodeGoJson('<a>&\u2028\u2029'), '"\\u003ca\\u003e\\u0026\\u2028\\u2029"')
    assert.equal(
      encodeGoJson('"\\\b\f\n\r\t\u0000\u001f\u007fé😀'),
      '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\u007fé😀"',
    )
  })

  it('writes six characters for every byte that is not UTF-8, which a lone surrogate stands for', () => {
    assert.equal(encodeGoJson('a\udc80\udcff<\ufffd'), '"a\\ufffd\\ufffd\\u003c\ufffd"')
  })

  it('writes bytes as base64 and big integers as numbers', () => {
    assert.equal(
      encodeGoJson({ b: Uint8Array.of(1, 2, 3, 4), n: 9223372036854775807n }),
      '{"b":"AQIDBA==","n":9223372036854775807}',
    )
  })

  it('indents as Go does and ends in a line feed when asked', () => {
    const text = encodeGoJson({ a: { b: [1, 2], c: {} }, d: [] }, { indent: 2, newline: true })
    assert.equal(
      text,
      '{\n  "a": {\n    "b": [\n      1,\n      2\n    ],\n    "c": {}\n  },\n  "d": []\n}\n',
    )
  })

  it('refuses what JSON cannot say', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, () => 1, undefined]) {
      assert.throws(() => encodeGoJson(value), { code: 'INVALID_ARGUMENT' })
    }
  })

  it('is the same again after parsing, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = encodeGoJson(value)
        assert.equal(encodeGoJson(parseGoJson(text)), text)
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('parsing Go JSON', () => {
  it('keeps integers beyond 2^53 exactly', () => {
    const text = '{"a":9223372036854775807,"b":[-9223372036854775808, 1],"c":9007199254740991,"d":1.5}'
    assert.deepEqual(parseGoJson(text), {
      a: 9223372036854775807n,
      b: [-9223372036854775808n, 1],
      c: 9007199254740991,
      d: 1.5,
    })
  })

  it('keeps a single big integer and does not touch digits in strings', () => {
    assert.deepEqual(parseGoJson('{"o":":12345678901234567890"}'), { o: ':12345678901234567890' })
    assert.equal(parseGoJson('12345678901234567890'), 12345678901234567890n)
  })

  it('refuses text that is not JSON', () => {
    for (const text of ['', '{', '{"a":}', 'nul']) assert.throws(() => parseGoJson(text), { code: 'CORRUPT' })
  })
})

describe('the order of UTF-8 bytes', () => {
  it('is the order of the encoded bytes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.equal(Math.sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
  })
})
