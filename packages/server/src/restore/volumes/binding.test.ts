import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { lastingOf, rebindClaim, resetBinding } from './binding.ts'

const bound = { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' }

function claimOf(volumeName?: string, annotations: Record<string, string> = bound): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop', annotations: { ...annotations } },
    spec: { ...(volumeName !== undefined && { volumeName }) },
  }
}

describe('rebindClaim', () => {
  const names = { provisioned: new Set(['pv-new']), renamed: new Map([['pv-old', 'velero-clone-1']]) }

  it('lets a claim wait for a new volume where its own is provisioned anew', () => {
    const claim = claimOf('pv-new')
    rebindClaim(claim, names)
    assert.deepEqual(claim.spec, {})
    assert.equal(claim.metadata.annotations, undefined)
  })

  it('names the new name of a volume', () => {
    const claim = claimOf('pv-old', { ...bound, mine: 'x' })
    rebindClaim(claim, names)
    assert.deepEqual(claim.spec, { volumeName: 'velero-clone-1' })
    assert.deepEqual(claim.metadata.annotations, { mine: 'x' })
  })

  it('keeps the name of any other volume, and a claim without one as it is', () => {
    const claim = claimOf('pv-same')
    rebindClaim(claim, names)
    assert.deepEqual(claim.spec, { volumeName: 'pv-same' })
    const unbound = claimOf()
    rebindClaim(unbound, names)
    assert.deepEqual(unbound.metadata.annotations, bound)
  })
})

describe('resetBinding', () => {
  it('keeps which claim a volume is for, and forgets which one of that name it was', () => {
    const volume = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv', annotations: { ...bound } },
      spec: { claimRef: { namespace: 'shop', name: 'data', uid: 'u', resourceVersion: '7' } },
    }
    resetBinding(volume)
    assert.deepEqual(volume.spec, { claimRef: { namespace: 'shop', name: 'data' } })
  })
})

describe('lastingOf', () => {
  const object = (fields: object = {}, metadata: object = {}): ActionItem => ({
    apiVersion: 'v1',
    kind: 'X',
    metadata: { name: 'x', ...metadata },
    ...fields,
  })
  const claimed = object({ spec: { claimRef: { namespace: 'shop', name: 'data' } } })
  const deleted = object({}, { deletionTimestamp: '2024-01-01T00:00:00Z' })
  const nothing = { volume: undefined, claim: undefined, namespace: undefined }

  it('tells volumes that are absent and those that stay', () => {
    assert.equal(lastingOf(nothing), 'absent')
    assert.equal(lastingOf({ ...nothing, volume: object() }), 'staying')
    assert.equal(lastingOf({ volume: claimed, claim: object(), namespace: object() }), 'staying')
  })

  it('tells volumes that leave, by themselves, with their claim or with its namespace', () => {
    const terminating = object({ status: { phase: 'Terminating' } })
    assert.equal(lastingOf({ ...nothing, volume: deleted }), 'leaving')
    assert.equal(lastingOf({ ...nothing, volume: object({ status: { phase: 'Released' } }) }), 'leaving')
    assert.equal(lastingOf({ ...nothing, volume: claimed }), 'leaving')
    assert.equal(lastingOf({ volume: claimed, claim: deleted, namespace: object() }), 'leaving')
    assert.equal(lastingOf({ volume: claimed, claim: object(), namespace: undefined }), 'leaving')
    assert.equal(lastingOf({ volume: claimed, claim: object(), namespace: terminating }), 'leaving')
  })
})
