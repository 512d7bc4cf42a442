import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DataUpload } from '@lateen/api'
import { KubeError, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from '../csi/snapshot-kinds.ts'
import { removeExposedSnapshot } from './remove-exposed-snapshot.ts'

const apiVersion = 'snapshot.storage.k8s.io/v1'
const upload: DataUpload = {
  ...{ apiVersion: 'velero.io/v2alpha1', kind: 'DataUpload' },
  metadata: { namespace: 'velero', name: 'up', uid: 'd' },
  spec: {
    ...{ backupStorageLocation: 'default', operationTimeout: '10m', snapshotType: 'CSI' },
    ...{ sourceNamespace: 'shop', sourcePVC: 'data' },
    csiSnapshot: { volumeSnapshot: 's', storageClass: 'csi', snapshotClass: 'csi' },
  },
  status: { phase: 'Failed' },
}

function snapshotIn(namespace: string, name: string, uid: string) {
  const annotations = { 'lateen.dev/data-upload-uid': 'd' }
  const metadata = { namespace, name, uid, annotations }
  return { ...{ apiVersion, kind: 'VolumeSnapshot' }, metadata, spec: { source: {} } }
}

function contentFor(name: string, volumeSnapshotRef: object, annotations: Record<string, string> = {}) {
  return {
    ...{ apiVersion, kind: 'VolumeSnapshotContent' },
    metadata: { name, uid: `c-${name}`, annotations },
    spec: { deletionPolicy: 'Delete', driver: 'disk.example', source: {}, volumeSnapshotRef },
  }
}

it('a snapshot that was half taken over goes although nobody may tell its first content to keep it', async () => {
  await using server = await startObjectServer({ kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind] })
  const { objects } = server
  objects.set('volumesnapshots/shop/s', snapshotIn('shop', 's', 'u'))
  objects.set('volumesnapshots/velero/up', snapshotIn('velero', 'up', 'u-2'))
  const first = contentFor('snapcontent-u', { namespace: 'shop', name: 's', uid: 'u' })
  const notes = { 'lateen.dev/data-upload-uid': 'd', 'lateen.dev/snapshot-uid': 'u' }
  const second = contentFor('up', { namespace: 'velero', name: 'up' }, notes)
  objects.set('volumesnapshotcontents//snapcontent-u', first)
  objects.set('volumesnapshotcontents//up', second)
  const refused = new KubeError('Invalid', { message: 'nothing is kept here', status: 422 })
  const client: typeof server.client = {
    ...server.client,
    resource: (...kind) => ({ ...server.client.resource(...kind), patch: () => Promise.reject(refused) }),
  }
  const { signal } = new AbortController()
  const ports = { client, clock: systemClock, signal }
  let isGone = false
  for (let looks = 0; looks < 10 && !isGone; looks += 1) isGone = await removeExposedSnapshot(upload, ports)
  assert.ok(isGone)
  assert.deepEqual([...objects.keys()], [])
})
