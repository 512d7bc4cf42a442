import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Claim, nextClaimStep, type Volume } from './next-claim-step.ts'
import type { ProvisionedClaim } from './provisioned-claims.ts'

const wanted: ProvisionedClaim = {
  namespace: 'shop',
  name: 'data',
  oldVolume: 'pv-old',
  reclaimPolicy: 'Retain',
  labels: { tier: 'gold' },
}

const claim: Claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'shop', name: 'data' },
  spec: { volumeName: 'pv-new', storageClassName: 'fast' },
  status: { phase: 'Bound' },
}

const volume: Volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv-new', labels: { zone: 'a' } },
  spec: { claimRef: { namespace: 'shop', name: 'data' }, persistentVolumeReclaimPolicy: 'Delete' },
  status: { phase: 'Bound' },
}

const pending: Claim = { ...claim, spec: { storageClassName: 'fast' }, status: { phase: 'Pending' } }

function storageClass(volumeBindingMode: string) {
  const metadata = { name: 'fast' }
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, volumeBindingMode }
}

describe('The new volume of a claim', () => {
  it('gets the reclaim policy and exactly the labels of the old one', () => {
    assert.deepEqual(nextClaimStep(wanted, { claim, volume }), {
      type: 'patch',
      volume: 'pv-new',
      body: {
        metadata: { labels: { tier: 'gold', zone: null } },
        spec: { persistentVolumeReclaimPolicy: 'Retain' },
      },
    })
  })

  it('is left alone when it has both, whatever other labels it has', () => {
    const alike: Volume = {
      ...volume,
      metadata: { name: 'pv-new', labels: { tier: 'gold', zone: 'a' } },
      spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Retain' },
    }
    assert.deepEqual(nextClaimStep(wanted, { claim, volume: alike }), { type: 'done' })
  })

  it('is waited for until claim and volume are bound', () => {
    const unbound = { ...volume, status: { phase: 'Available' } }
    for (const seen of [
      { claim: undefined },
      { claim: pending, storageClass: storageClass('Immediate') },
      { claim: { ...claim, status: { phase: 'Lost' } } },
      { claim },
      { claim, volume: unbound },
      { claim, volume: { ...volume, spec: {} } },
    ]) {
      assert.equal(nextClaimStep(wanted, seen).type, 'wait')
    }
  })

  it('is not waited for when that would take until a pod comes', () => {
    const step = nextClaimStep(wanted, { claim: pending, storageClass: storageClass('WaitForFirstConsumer') })
    assert.equal(step.type, 'skip')
    assert.equal(nextClaimStep(wanted, { claim, volume, storageClass: undefined }).type, 'patch')
  })

  it('is not touched while nothing has filled it', () => {
    const unfilled = { ...wanted, unfilled: { operation: 'du-1', phase: 'Failed' } }
    const step = nextClaimStep(unfilled, { claim, volume })
    assert.deepEqual(step, { type: 'skip', reason: 'the operation du-1 that fills it is Failed' })
  })

  it('is refused when it belongs to another claim', () => {
    const other = { ...volume, spec: { claimRef: { namespace: 'shop', name: 'other' } } }
    const step = nextClaimStep(wanted, { claim, volume: other })
    assert.deepEqual(step, {
      type: 'refuse',
      reason: 'the volume pv-new is bound to another claim, shop/other',
    })
  })
})
