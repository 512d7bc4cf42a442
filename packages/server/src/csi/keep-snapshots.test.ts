import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError, type KubeObject } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { keepSnapshots } from './keep-snapshots.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from './snapshot-kinds.ts'

const apiVersion = 'snapshot.storage.k8s.io/v1'
const { signal } = new AbortController()
const backup = { metadata: { name: 'nightly', uid: 'b' } }
const data = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'data' })
const logs = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'logs' })

function snapshotWithContent(name: string, claim: string): [string, KubeObject][] {
  const labels = { 'velero.io/backup-uid': 'b' }
  const snapshot = {
    ...{ apiVersion, kind: 'VolumeSnapshot' },
    metadata: { namespace: 'shop', name, uid: name, labels },
    spec: { source: { persistentVolumeClaimName: claim } },
  }
  const content = {
    ...{ apiVersion, kind: 'VolumeSnapshotContent' },
    metadata: { name: `snapcontent-${name}`, uid: `c-${name}` },
    spec: {
      ...{ deletionPolicy: 'Delete', driver: 'disk.example', source: {} },
      volumeSnapshotRef: { namespace: 'shop', name, uid: name },
    },
  }
  return [
    [`volumesnapshots/shop/${name}`, snapshot],
    [`volumesnapshotcontents//snapcontent-${name}`, content],
  ]
}

const idOf = (name: string) => ({
  ...{ group: 'snapshot.storage.k8s.io', resource: 'volumesnapshots' },
  ...{ namespace: 'shop', name },
})

async function given() {
  const server = await startObjectServer({ kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind] })
  const all = [
    ...snapshotWithContent(data, 'data'),
    ...snapshotWithContent(logs, 'logs'),
    ...snapshotWithContent('of-a-user', 'data'),
  ]
  for (const [key, object] of all) server.objects.set(key, object)
  const policyOf = (name: string) =>
    (
      server.objects.get(`volumesnapshotcontents//snapcontent-${name}`) as
        | { spec: { deletionPolicy: string } }
        | undefined
    )?.spec.deletionPolicy
  return { ...server, policyOf }
}

describe('snapshots that are about to be stored in the archive', () => {
  it('are kept by the storage whatever becomes of their objects, and no others', async () => {
    await using server = await given()
    const ids = [idOf(data), idOf('of-a-user'), { ...idOf(logs), resource: 'other' }]
    await keepSnapshots(backup, ids, { client: server.client, signal })
    assert.deepEqual([data, logs, 'of-a-user'].map(server.policyOf), ['Retain', 'Delete', 'Delete'])
  })

  it('are left as they are where somebody refuses, and tried again where that may help', async () => {
    await using server = await given()
    const keepWith = (code: string, retryable: boolean) => {
      const failure = new KubeError(code, { message: 'no', retryable })
      const client: typeof server.client = {
        ...server.client,
        resource: (...kind) => ({
          ...server.client.resource(...kind),
          patch: () => Promise.reject(failure),
        }),
      }
      return keepSnapshots(backup, [idOf(data)], { client, signal })
    }
    await keepWith('Forbidden', false)
    await keepWith('Invalid', false)
    await assert.rejects(keepWith('ServiceUnavailable', true), { code: 'ServiceUnavailable' })
    assert.equal(server.policyOf(data), 'Delete')
  })
})
