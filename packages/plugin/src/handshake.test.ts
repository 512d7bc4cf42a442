import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseHandshake, serializeHandshake } from './handshake.ts'
import { isPluginError } from './plugin-error.ts'

describe('a handshake', () => {
  it('is read as it was written', () => {
    for (const handshake of [
      { network: 'unix', address: '/tmp/plugin1' },
      { network: 'tcp', address: '127.0.0.1:10000' },
    ] as const) {
      assert.deepEqual(parseHandshake(serializeHandshake(handshake)), handshake)
    }
  })

  it('is the line that programs in Go print', () => {
    assert.equal(serializeHandshake({ network: 'unix', address: '/tmp/p' }), '1|2|unix|/tmp/p|grpc|\n')
    for (const line of ['1|2|unix|/tmp/p|grpc', '1|2|unix|/tmp/p|grpc||true', ' 1|2|unix|/tmp/p|grpc|\r\n']) {
      assert.deepEqual(parseHandshake(line), { network: 'unix', address: '/tmp/p' })
    }
  })

  for (const [line, reason] of [
    ['', /expected to print where it listens/],
    ['starting up...', /"starting up\.\.\.".*Check that the program is a plugin/],
    ['2|2|unix|/tmp/p|grpc|', /version 2 of go-plugin's protocol is not 1/],
    ['1|1|unix|/tmp/p|grpc|', /version 1 of the plugin protocol is not 2/],
    ['1|3|unix|/tmp/p|grpc|', /version 3 of the plugin protocol is not 2/],
    ['x|2|unix|/tmp/p|grpc|', /version x of go-plugin's protocol/],
    ['1|2|udp|/tmp/p|grpc|', /a network of type udp/],
    ['1|2|unix||grpc|', /does not say where/],
    ['1|2|unix|/tmp/p', /netrpc/],
    ['1|2|unix|/tmp/p|netrpc|', /netrpc/],
    ['1|2|unix|/tmp/p|grpc|MIIB', /wants TLS/],
  ] as const) {
    it(`is refused when it is ${JSON.stringify(line)}`, () => {
      assert.throws(
        () => parseHandshake(line),
        error => isPluginError(error, 'BAD_HANDSHAKE') && reason.test(error.message),
      )
    })
  }

  it('is shown in part when it is endless', () => {
    assert.throws(
      () => parseHandshake('x'.repeat(1_000_000)),
      error => error instanceof Error && error.message.length < 500,
    )
  })
})
