import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RestoreOperation } from '../../operations/restore-operation.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import { type ProvisioningFacts, provisionedClaims } from './provisioned-claims.ts'

function infoOf(name: string, more: Partial<VolumeInfo> = {}): VolumeInfo {
  return {
    pvcName: name,
    pvcNamespace: 'shop',
    pvName: `pv-${name}`,
    backupMethod: 'PodVolumeBackup',
    snapshotDataMoved: false,
    preserveLocalSnapshot: false,
    skipped: false,
    pvInfo: { reclaimPolicy: 'Retain', labels: null },
    ...more,
  }
}

function operationOf(name: string, phase: RestoreOperation['status']['phase']): RestoreOperation {
  return {
    spec: {
      restoreName: 'r',
      restoreUID: 'u',
      restoreItemAction: 'velero.io/csi-pvc-restorer',
      resourceIdentifier: { Group: '', Resource: 'persistentvolumeclaims', Namespace: 'new', Name: name },
      operationID: `du-${name}`,
    },
    status: { phase },
  }
}

const facts: ProvisioningFacts = {
  volumeInfo: [],
  namespaceMapping: { shop: 'new' },
  resourceList: {
    'v1/PersistentVolumeClaim': ['new/files(created)', 'new/moved(created)', 'new/there(skipped)'],
  },
  operations: [],
}

const names = (some: Partial<ProvisioningFacts>) =>
  provisionedClaims({ ...facts, ...some }).map(({ namespace, name }) => `${namespace}/${name}`)

describe('The claims whose new volumes get the properties of the old ones', () => {
  it('are those that the restore created, where they are now', () => {
    const volumeInfo = [infoOf('files'), infoOf('there'), infoOf('elsewhere')]
    assert.deepEqual(names({ volumeInfo }), ['new/files'])
    const namespaceMapping = {}
    const resourceList = { 'v1/PersistentVolumeClaim': ['shop/files(created)'] }
    assert.deepEqual(names({ volumeInfo, namespaceMapping, resourceList }), ['shop/files'])
    assert.deepEqual(names({ volumeInfo, resourceList: {} }), [])
  })

  it('have their data in files or in CSI snapshots, and their volume in the volume info', () => {
    const { pvInfo: _, ...without } = infoOf('files')
    assert.deepEqual(names({ volumeInfo: [infoOf('files', { backupMethod: 'NativeSnapshot' })] }), [])
    assert.deepEqual(names({ volumeInfo: [infoOf('files', { backupMethod: 'CSISnapshot' })] }), ['new/files'])
    assert.deepEqual(names({ volumeInfo: [without] }), [])
  })

  it('know the operation that has not filled them', () => {
    const volumeInfo = [infoOf('files'), infoOf('moved')]
    const operations = [operationOf('files', 'Completed'), operationOf('moved', 'Failed')]
    assert.deepEqual(
      provisionedClaims({ ...facts, volumeInfo, operations }).map(({ unfilled }) => unfilled),
      [undefined, { operation: 'du-moved', phase: 'Failed' }],
    )
  })
})
