import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError } from '@lateen/kube'
import { refusalBehind, standInName } from './probe-create.ts'

describe('standInName', () => {
  it('is a valid name however long and dotted the own one is', () => {
    for (const name of ['web', 'a'.repeat(250), `${'a'.repeat(49)}.b`, `${'a'.repeat(49)}-`]) {
      assert.match(standInName(name), /^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$/)
    }
  })
})

describe('refusalBehind', () => {
  const names = { name: 'web', standIn: standInName('web') }
  const refused = (message: string) => new KubeError('Forbidden', { status: 403, message })

  it('speaks of the object by its own name', () => {
    const behind = refusalBehind(refused('configmaps "plan-web" is forbidden: no'), names)
    assert.equal(behind?.message, 'configmaps "web" is forbidden: no')
    assert.equal(behind?.status, 403)
  })

  it('says nothing when the refusal is about the stand-in, or about what the old object holds', () => {
    for (const message of [
      'exceeded quota: few',
      'metadata.name: Invalid value',
      'provided port is already allocated',
      'admission webhook "x" denied the request: host "a" and path "/" is already defined in ingress n/web',
    ])
      assert.equal(refusalBehind(refused(message), names), undefined)
    const away = new KubeError('Unreachable', { message: 'no answer', retryable: true })
    assert.equal(refusalBehind(away, names), undefined)
  })
})
