import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { waitingClock } from '../../../../tools/test/waiting-clock.ts'
import { discardSnapshot } from './release-snapshot.ts'
import {
  type DeletionPolicy,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

const apiVersion = 'snapshot.storage.k8s.io/v1'
const created = Date.parse('2026-01-01T00:00:00Z')

const snapshot: VolumeSnapshot = {
  ...{ apiVersion, kind: 'VolumeSnapshot' },
  metadata: { namespace: 'shop', name: 's', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { source: { persistentVolumeClaimName: 'data' } },
}

function contentWith(deletionPolicy: DeletionPolicy): VolumeSnapshotContent {
  return {
    ...{ apiVersion, kind: 'VolumeSnapshotContent' },
    metadata: { name: 'snapcontent-u', uid: 'c' },
    spec: {
      ...{ deletionPolicy, driver: 'disk.example', source: { volumeHandle: 'v' } },
      volumeSnapshotRef: { namespace: 'shop', name: 's', uid: 'u' },
    },
  }
}

/** Discards the snapshot at an age, while the snapshot controller does its work when the snapshot is older by `late`. Returns what is left. */
async function discardedAt(age: number, late = Number.POSITIVE_INFINITY) {
  const clock = waitingClock(created + age)
  await using server = await startObjectServer({
    kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind],
    before(_request, objects) {
      const isMade = objects.has('volumesnapshotcontents//snapcontent-u')
      if (clock.now() < created + age + late || isMade || !objects.has('volumesnapshots/shop/s')) return
      objects.set('volumesnapshotcontents//snapcontent-u', contentWith('Retain'))
    },
  })
  server.objects.set('volumesnapshots/shop/s', snapshot)
  const { signal } = new AbortController()
  await discardSnapshot(snapshot, { client: server.client, clock, signal })
  assert.equal(server.objects.has('volumesnapshots/shop/s'), false)
  const content = server.objects.get('volumesnapshotcontents//snapcontent-u') as
    | VolumeSnapshotContent
    | undefined
  return { waited: clock.now() > created + age, policy: content?.spec.deletionPolicy }
}

describe('a snapshot that is discarded', () => {
  it('right after it was created is not deleted before its content is there, which would be retained', async () => {
    assert.deepEqual(await discardedAt(300, 1_500), { waited: true, policy: 'Delete' })
  })

  it('takes its content along at once where that is there', async () => {
    assert.deepEqual(await discardedAt(300, 0), { waited: false, policy: 'Delete' })
  })

  it('is not waited for where nobody has made its content for long, or clocks disagree', async () => {
    assert.deepEqual(await discardedAt(60_000), { waited: false, policy: undefined })
    assert.deepEqual(await discardedAt(-3_600_000), { waited: false, policy: undefined })
  })

  it('is deleted in the end where no content comes', async () => {
    assert.deepEqual(await discardedAt(300), { waited: true, policy: undefined })
  })
})
