import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resourcesOf } from './resources.ts'

const none = { cpuRequest: '0', memRequest: '0', cpuLimit: '0', memLimit: '0' }

describe('resourcesOf', () => {
  it('leaves out what is 0', () => {
    assert.deepEqual(resourcesOf(none, 'server'), {})
    assert.deepEqual(resourcesOf({ ...none, memRequest: '128Mi' }, 'server'), {
      requests: { memory: '128Mi' },
    })
  })

  it('writes whole cores without thousandths', () => {
    assert.deepEqual(resourcesOf({ ...none, cpuLimit: '2000m' }, 'server'), { limits: { cpu: '2' } })
  })

  it('compares quantities across units', () => {
    assert.deepEqual(resourcesOf({ ...none, cpuRequest: '900m', cpuLimit: '1' }, 'server'), {
      requests: { cpu: '900m' },
      limits: { cpu: '1' },
    })
    assert.throws(
      () => resourcesOf({ ...none, memRequest: '1Gi', memLimit: '1000M' }, 'server'),
      /memory of the server: the request 1Gi is above the limit 1000M/,
    )
  })

  for (const text of ['', 'lots', '5 Mi', '1mi']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => resourcesOf({ ...none, cpuRequest: text }, 'node agent'),
        /CPU of the node agent must be/,
      )
    })
  }
})
