import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataUpload } from '@lateen/api'
import type { VolumeSnapshot, VolumeSnapshotContent } from '../csi/snapshot-kinds.ts'
import { claimToRead } from './expose-snapshot.ts'
import { newContent } from './snapshot-to-read.ts'

const upload: DataUpload = {
  apiVersion: 'velero.io/v2alpha1',
  kind: 'DataUpload',
  metadata: { name: 'daily-x1', namespace: 'velero', uid: 'upload-uid' },
  spec: {
    snapshotType: 'CSI',
    csiSnapshot: { volumeSnapshot: 'snap', storageClass: 'fast' },
    ...{ sourcePVC: 'data', sourceNamespace: 'shop', backupStorageLocation: 'default' },
    operationTimeout: '10m0s',
  },
}

const snapshot: VolumeSnapshot = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: { name: 'snap', namespace: 'shop', uid: 'snap-uid' },
  spec: { source: { persistentVolumeClaimName: 'data' } },
  status: { readyToUse: true, restoreSize: '3Gi' },
}

const content: VolumeSnapshotContent = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotContent',
  metadata: {
    name: 'snapcontent-snap-uid',
    labels: { 'snapshot.storage.kubernetes.io/managed-by': 'node-one', other: 'yes' },
    annotations: {
      'snapshot.storage.kubernetes.io/deletion-secret-name': 'secret',
      'snapshot.storage.kubernetes.io/volumesnapshot-being-created': 'yes',
    },
  },
  spec: {
    deletionPolicy: 'Retain',
    driver: 'csi.example',
    source: { volumeHandle: 'volume' },
    sourceVolumeMode: 'Block',
    volumeSnapshotClassName: 'snaps',
    volumeSnapshotRef: { namespace: 'shop', name: 'snap', uid: 'snap-uid' },
  },
  status: { snapshotHandle: 'handle', readyToUse: true },
}

describe('newContent', () => {
  const made = newContent(upload, { snapshot, content })

  it('stands for the same snapshot, and deletes it whatever the first one would have done', () => {
    assert.deepEqual(made.spec, {
      deletionPolicy: 'Delete',
      driver: 'csi.example',
      source: { snapshotHandle: 'handle' },
      sourceVolumeMode: 'Block',
      volumeSnapshotClassName: 'snaps',
      volumeSnapshotRef: {
        ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
        ...{ namespace: 'velero', name: 'daily-x1' },
      },
    })
  })

  it('cannot go before the snapshotter has seen it', () => {
    assert.equal(made.metadata.finalizers?.length, 1)
  })

  it('keeps what deleting needs, and nothing that is true of the first one alone', () => {
    assert.equal(made.metadata.annotations?.['snapshot.storage.kubernetes.io/deletion-secret-name'], 'secret')
    assert.equal(
      made.metadata.annotations?.['snapshot.storage.kubernetes.io/volumesnapshot-being-created'],
      undefined,
    )
    assert.deepEqual(made.metadata.labels, {
      'snapshot.storage.kubernetes.io/managed-by': 'node-one',
      'velero.io/data-upload': 'daily-x1',
      'velero.io/exclude-from-backup': 'true',
    })
  })

  it('tells whose it is, and what it came from', () => {
    assert.equal(made.metadata.annotations?.['lateen.dev/data-upload-uid'], 'upload-uid')
    assert.equal(made.metadata.annotations?.['lateen.dev/snapshot-uid'], 'snap-uid')
  })
})

describe('claimToRead', () => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '2Gi' } } },
  } as const
  const source = { claim, os: 'linux', topology: undefined } as const
  const facts = { snapshot, content, settings: {}, source }

  it('is as large as the snapshot says, of the class and mode of what was snapshot', () => {
    const { spec } = claimToRead(upload, facts)
    assert.deepEqual(spec, {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      volumeMode: 'Block',
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'daily-x1' },
      resources: { requests: { storage: '3Gi' } },
    })
  })

  it('is as large as the claim where the snapshot tells no size', () => {
    const unknown = { ...snapshot, status: { readyToUse: true, restoreSize: '0' } }
    const { spec } = claimToRead(upload, { ...facts, snapshot: unknown })
    assert.deepEqual(spec?.resources, { requests: { storage: '2Gi' } })
  })

  it('is of another class, read only and with annotations where the settings say so', () => {
    const settings = { storageClass: 'shallow', readOnly: true, annotations: { fast: 'clone' } }
    const { spec, metadata } = claimToRead(upload, { ...facts, settings })
    assert.deepEqual([spec?.storageClassName, spec?.accessModes], ['shallow', ['ReadOnlyMany']])
    assert.deepEqual(metadata.annotations, { fast: 'clone' })
  })

  it('goes with its DataUpload', () => {
    const [owner] = claimToRead(upload, facts).metadata.ownerReferences ?? []
    assert.deepEqual([owner?.kind, owner?.uid], ['DataUpload', 'upload-uid'])
  })
})
