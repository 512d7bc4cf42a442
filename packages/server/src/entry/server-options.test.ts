import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseListenAddress } from './server-options.ts'

describe('parseListenAddress', () => {
  it('reads what Go reads', () => {
    assert.deepEqual(parseListenAddress(':8085'), { port: 8085 })
    assert.deepEqual(parseListenAddress('127.0.0.1:0'), { host: '127.0.0.1', port: 0 })
    assert.deepEqual(parseListenAddress('localhost:80'), { host: 'localhost', port: 80 })
    assert.deepEqual(parseListenAddress('[::1]:8085'), { host: '::1', port: 8085 })
  })

  it('takes an empty one for no server', () => {
    assert.equal(parseListenAddress(''), undefined)
  })

  it('refuses the rest and says how to write it', () => {
    for (const address of ['8085', ':', ':x', ':99999', '::1:80', 'http://a:1', 'a:-1']) {
      assert.throws(() => parseListenAddress(address), /is not host:port.*Write it like/)
    }
  })
})
