import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isBound, keepBinding } from './keep-binding.ts'

const completed = {
  'pv.kubernetes.io/bind-completed': 'yes',
  'volume.kubernetes.io/storage-provisioner': 'disks',
}

function volume(claimRef: object | undefined, annotations?: Record<string, string>) {
  const metadata = { name: 'disk', ...(annotations && { annotations }) }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata, spec: { ...(claimRef && { claimRef }) } }
}

function claim(volumeName: string, annotations?: Record<string, string>) {
  const metadata = { name: 'data', namespace: 'shop', ...(annotations && { annotations }) }
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: { volumeName } }
}

describe('An update of a bound volume', () => {
  const live = volume({ namespace: 'shop', name: 'data', uid: 'u' })

  it('keeps the claim that it is bound to', () => {
    assert.deepEqual(keepBinding(volume({ namespace: 'shop', name: 'data' }, { a: 'b' }), live), {
      ...live,
      metadata: { name: 'disk', annotations: { a: 'b' } },
    })
  })

  it('is not to be when it would give the volume to another claim, or to none', () => {
    assert.equal(keepBinding(volume({ namespace: 'copy', name: 'data' }), live), undefined)
    assert.equal(keepBinding(volume(undefined), live), undefined)
  })
})

describe('An update of a bound claim', () => {
  it('keeps what says that it is bound', () => {
    const live = claim('disk', { ...completed, other: 'x' })
    assert.deepEqual(keepBinding(claim('disk', { a: 'b' }), live), claim('disk', { a: 'b', ...completed }))
    assert.deepEqual(keepBinding(claim('disk'), live), claim('disk', completed))
  })

  it('is as it is wanted when another volume is wanted', () => {
    assert.deepEqual(keepBinding(claim('other'), claim('disk', completed)), claim('other'))
  })
})

describe('Bound', () => {
  it('are volumes and claims with that phase, and nothing else', () => {
    assert.equal(isBound({ ...claim('disk'), status: { phase: 'Bound' } }), true)
    assert.equal(isBound({ ...volume(undefined), status: { phase: 'Released' } }), false)
    assert.equal(isBound({ ...claim('disk'), kind: 'Other', status: { phase: 'Bound' } }), false)
  })
})
