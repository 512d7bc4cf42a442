import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseItem, serializeItem } from './item-json.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('the JSON of an item', () => {
  it('keeps integers that a double cannot hold', () => {
    const text =
      '{"apiVersion":"v1","kind":"X","metadata":{},"a":9007199254740993,"b":[-9223372036854775808,18446744073709551615],"c":1.5}'
    assert.equal(textOf(serializeItem(parseItem(bytesOf(text)))), text)
  })

  it('lets other fields be changed around them', () => {
    const item = parseItem(
      bytesOf('{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"n":9007199254740993}'),
    )
    item.metadata.name = 'b'
    assert.equal(
      textOf(serializeItem(item)),
      '{"apiVersion":"v1","kind":"X","metadata":{"name":"b"},"n":9007199254740993}',
    )
  })

  it('leaves long numbers in strings, and safe integers, what they are', () => {
    const item = parseItem(
      bytesOf('{"kind":"X","a":":12345678901234567890","b":1234567890123456,"metadata":{}}'),
    )
    assert.equal(item.a, ':12345678901234567890')
    assert.equal(item.b, 1_234_567_890_123_456)
  })
})
