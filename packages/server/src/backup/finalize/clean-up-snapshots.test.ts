import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { silentLogger, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../../tools/test/object-server.ts'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import { claimSnapshotName } from '../../csi/claim-snapshot-name.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { type CleanUpPorts, cleanUpSnapshots, removeSnapshots } from './clean-up-snapshots.ts'

const backup: Backup = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup', spec: {}, status: { phase: 'Completed' } },
  metadata: { namespace: 'velero', name: 'nightly', uid: 'b' },
}
const name = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'data' })
const apiVersion = 'snapshot.storage.k8s.io/v1'
const snapshot = {
  ...{ apiVersion, kind: 'VolumeSnapshot' },
  metadata: { namespace: 'shop', name, uid: 'u', labels: { 'velero.io/backup-uid': 'b' } },
  spec: { source: { persistentVolumeClaimName: 'data' } },
}
const content = {
  ...{ apiVersion, kind: 'VolumeSnapshotContent' },
  metadata: { name: 'snapcontent-u', uid: 'c' },
  spec: {
    ...{ deletionPolicy: 'Retain', driver: 'disk.example', source: { volumeHandle: 'v' } },
    volumeSnapshotRef: { namespace: 'shop', name, uid: 'u' },
  },
}

/** What is left when the bucket says that of the contents of the archive, and what policy the content has last. */
async function removed(resourceList: object | undefined) {
  const policies: string[] = []
  await using server = await startObjectServer({
    kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind],
    before(_request, objects) {
      const now = objects.get('volumesnapshotcontents//snapcontent-u') as typeof content | undefined
      if (now !== undefined) policies.push(now.spec.deletionPolicy)
    },
  })
  server.objects.set(`volumesnapshots/shop/${name}`, snapshot)
  server.objects.set('volumesnapshotcontents//snapcontent-u', content)
  const store = { getJson: async () => resourceList } as unknown as BackupStore
  const { signal } = new AbortController()
  const ports = { client: server.client, clock: systemClock }
  const left = await removeSnapshots({ backup, store }, ports, signal)
  return { there: [...server.objects.keys()].map(key => key.split('/')[0]), policy: policies.at(-1), left }
}

describe('the objects of snapshots when a backup is over', () => {
  it('go without the snapshot in the storage where the archive has it, and with it where it has not', async () => {
    const has = await removed({ 'snapshot.storage.k8s.io/v1/VolumeSnapshot': [`shop/${name}`] })
    assert.deepEqual(has, { there: [], policy: 'Retain', left: [] })
    const hasNot = await removed({ 'v1/Pod': ['shop/web'] })
    assert.deepEqual(hasNot, { there: ['volumesnapshotcontents'], policy: 'Delete', left: [] })
  })

  it('stay when the bucket does not know the backup, as after its location was pointed to another', async () => {
    const { there, policy, left } = await removed(undefined)
    assert.deepEqual(there, ['volumesnapshots', 'volumesnapshotcontents'])
    assert.equal(policy, 'Retain')
    assert.match(String(left[0]?.error), /nobody knows whether the backup needs the snapshot/)
  })

  it('go as well when somebody deleted the VolumeSnapshot while the backup ended, whose content keeps what is in the storage', async () => {
    const ending: Backup = { ...backup, status: { phase: 'Finalizing', csiVolumeSnapshotsAttempted: 1 } }
    for (const has of [true, false]) {
      const policies: string[] = []
      await using server = await startObjectServer({
        kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind],
        before(_request, objects) {
          const now = objects.get('volumesnapshotcontents//snapcontent-u') as typeof content | undefined
          if (now !== undefined) policies.push(now.spec.deletionPolicy)
        },
      })
      server.objects.set('volumesnapshotcontents//snapcontent-u', content)
      const list = { 'snapshot.storage.k8s.io/v1/VolumeSnapshot': has ? [`shop/${name}`] : [] }
      const store = { getJson: async () => list } as unknown as BackupStore
      const ports = { client: server.client, clock: systemClock, log: silentLogger } as CleanUpPorts
      assert.deepEqual(
        await cleanUpSnapshots({ backup: ending, store }, ports, new AbortController().signal),
        {},
      )
      assert.deepEqual([...server.objects.keys()], [])
      assert.equal(policies.at(-1), has ? 'Retain' : 'Delete')
    }
  })
})
