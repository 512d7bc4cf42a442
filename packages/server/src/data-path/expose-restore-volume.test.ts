import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataDownload } from '@lateen/api'
import { intermediateClaim } from './expose-restore-volume.ts'
import type { Claim } from './intermediate-claim.ts'

const owner: DataDownload = {
  apiVersion: 'velero.io/v2alpha1',
  kind: 'DataDownload',
  metadata: { name: 'again-1', namespace: 'velero', uid: 'u-1' },
  spec: {
    targetVolume: { namespace: 'shop', pvc: 'data', pv: '' },
    backupStorageLocation: 'default',
    snapshotID: 'k1',
    sourceNamespace: 'shop',
    operationTimeout: '10m0s',
  },
}

const target: Claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name: 'data',
    namespace: 'shop',
    labels: { app: 'shop' },
    annotations: {
      'driver.example.com/tier': 'fast',
      'volume.kubernetes.io/selected-node': 'old',
      'volume.beta.kubernetes.io/storage-provisioner': 'driver.example.com',
      'pv.kubernetes.io/bind-completed': 'yes',
    },
  },
  spec: {
    accessModes: ['ReadWriteMany'],
    storageClassName: '',
    volumeMode: 'Block',
    resources: { requests: { storage: '3Gi' } },
    selector: { matchLabels: { 'velero.io/dynamic-pv-restore': 'shop.data.x' } },
  },
}

describe('the claim by which a volume is filled', () => {
  it('asks for a volume like that of the claim that is restored, which anybody may provision', () => {
    const { metadata, spec } = intermediateClaim(owner, { target, node: undefined })
    assert.deepEqual(spec, {
      accessModes: ['ReadWriteMany'],
      storageClassName: '',
      volumeMode: 'Block',
      resources: { requests: { storage: '3Gi' } },
    })
    assert.deepEqual([metadata.namespace, metadata.name], ['velero', 'again-1'])
    assert.deepEqual(metadata.labels, { app: 'shop', 'velero.io/exclude-from-backup': 'true' })
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]),
      [['DataDownload', 'u-1']],
    )
  })

  it('has what drivers read on claims, and nothing of a binding but the node that was chosen', () => {
    const annotationsFor = (node: string | undefined) =>
      intermediateClaim(owner, { target, node }).metadata.annotations
    assert.deepEqual(annotationsFor(undefined), { 'driver.example.com/tier': 'fast' })
    assert.deepEqual(annotationsFor('node-1'), {
      'driver.example.com/tier': 'fast',
      'volume.kubernetes.io/selected-node': 'node-1',
    })
  })
})
