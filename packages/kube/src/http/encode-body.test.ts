import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeBody } from './encode-body.ts'

describe('encodeBody', () => {
  it("escapes what Go's encoder escapes", () => {
    const command = 'a < b && c > d\u2028\u2029 "é"'
    const text = encodeBody({ command: [command], n: 1 })
    assert.equal(text, '{"command":["a \\u003c b \\u0026\\u0026 c \\u003e d\\u2028\\u2029 \\"é\\""],"n":1}')
    assert.deepEqual(JSON.parse(text), { command: [command], n: 1 })
  })
})
