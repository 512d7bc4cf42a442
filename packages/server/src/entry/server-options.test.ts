import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { controllersOff, featuresOf, parseListenAddress } from './server-options.ts'

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

describe('controllersOff', () => {
  it('are those that are disabled, and with restore only all that make, finish or delete backups', () => {
    const off = (restoreOnly: boolean) =>
      controllersOff({ restoreOnly, disabledControllers: ['restore', 'gc'] })
    assert.deepEqual(off(false), new Set(['restore', 'gc']))
    const ofBackups = ['backup-queue', 'backup', 'backup-operations', 'backup-finalizer', 'backup-deletion']
    assert.deepEqual(off(true), new Set(['restore', 'gc', 'schedule', 'left-snapshots', ...ofBackups]))
  })
})

describe('featuresOf', () => {
  it('has CSI among the features unless it is switched off, whether or not it is named', () => {
    assert.deepEqual(featuresOf({ features: [], csiSnapshots: true }), ['EnableCSI'])
    assert.deepEqual(featuresOf({ features: ['EnableCSI', 'Other'], csiSnapshots: true }), [
      'Other',
      'EnableCSI',
    ])
    assert.deepEqual(featuresOf({ features: ['EnableCSI', 'Other'], csiSnapshots: false }), ['Other'])
  })
})
