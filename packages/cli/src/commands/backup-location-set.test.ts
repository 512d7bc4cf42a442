import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changedSpec } from './backup-location-set.ts'

describe('changedSpec', () => {
  it('holds only what changes', () => {
    assert.deepEqual(changedSpec({}), {})
    assert.deepEqual(changedSpec({ default: false }), { default: false })
    assert.deepEqual(changedSpec({ credential: { name: 's', key: 'k' } }), {
      credential: { name: 's', key: 'k' },
    })
  })

  it('replaces a reference to certificates by the certificates', () => {
    assert.deepEqual(changedSpec({ caCert: new TextEncoder().encode('pem') }), {
      objectStorage: { caCert: 'cGVt', caCertRef: null },
    })
  })

  it('removes certificates when there are none in the file name', () => {
    assert.deepEqual(changedSpec({ caCert: new Uint8Array() }), { objectStorage: { caCert: null } })
  })
})
