import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SettingSources, settingsOf } from './settings.ts'

const noFlags = {
  namespace: undefined,
  kubeconfig: undefined,
  kubecontext: undefined,
  colorized: undefined,
  features: [],
  'request-timeout': { nanoseconds: 30_000_000_000n, milliseconds: 30_000, text: '30s' },
}

function settings(sources: { flags?: object; config?: object; env?: Record<string, string> }) {
  return settingsOf({
    flags: { ...noFlags, ...sources.flags } as SettingSources['flags'],
    config: { ...sources.config },
    env: sources.env ?? {},
  })
}

describe('settingsOf', () => {
  it('takes the namespace from the flag, the configuration, the environment, and else velero', () => {
    const flags = { namespace: 'flag' }
    const config = { namespace: 'config' }
    const env = { VELERO_NAMESPACE: 'env' }
    assert.equal(settings({ flags, config, env }).namespace, 'flag')
    assert.equal(settings({ config, env }).namespace, 'config')
    assert.equal(settings({ env }).namespace, 'env')
    assert.equal(settings({}).namespace, 'velero')
  })

  it('passes over values of the configuration that are no text', () => {
    assert.equal(settings({ config: { namespace: 7, features: 7, colorized: 7 } }).namespace, 'velero')
  })

  it('takes the certificates of the object store from the configuration', () => {
    assert.equal(settings({ config: { cacert: '/ca.pem' } }).cacert, '/ca.pem')
    assert.equal(settings({ config: { cacert: '' } }).cacert, undefined)
  })

  it('adds features up without repeating them', () => {
    const { features } = settings({ flags: { features: ['B', 'C'] }, config: { features: 'A,B' } })
    assert.deepEqual(features, ['A', 'B', 'C'])
  })

  it('is colorized unless the configuration, or stronger the flag, says no', () => {
    assert.equal(settings({}).colorized, true)
    assert.equal(settings({ config: { colorized: 'false' } }).colorized, false)
    assert.equal(settings({ config: { colorized: 'false' }, flags: { colorized: 'true' } }).colorized, true)
    assert.throws(() => settings({ flags: { colorized: 'blue' } }), /--colorized must be true or false/)
  })
})
