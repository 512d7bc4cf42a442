import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Restore } from '@lateen/api'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { asContent } from './backed-up-snapshot.ts'
import {
  VolumeGroupSnapshotClassKind,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContentKind,
} from './group-snapshot-kinds.ts'
import { ensureGroupStandIn } from './group-stand-in.ts'

const restore: Restore = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Restore', spec: { backupName: 'nightly' } },
  metadata: { name: 'again', namespace: 'velero', uid: 'r' },
}

/** As Velero stores it, which does not note the other members of the group. */
const member = (handle: string, group: string, driver = 'disk.example'): ActionItem => ({
  ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotContent' },
  metadata: { name: `content-${handle}` },
  spec: { deletionPolicy: 'Delete', driver, source: { volumeHandle: 'v' }, volumeSnapshotRef: {} },
  status: { snapshotHandle: handle, volumeGroupSnapshotHandle: group },
})

const contents = [
  ...['one', 'two', 'three'].map(handle => member(handle, 'orders')),
  member('four', 'others'),
  member('five', 'orders', 'other.example'),
]

const backedUp: BackedUpObjects = {
  read: async () => undefined,
  async *list() {
    yield* contents
  },
}

it('what stands for a group names all its members when it is made, for its handles cannot be changed', async () => {
  await using server = await startObjectServer({
    kinds: [VolumeGroupSnapshotContentKind, VolumeGroupSnapshotClassKind],
  })
  const { client, objects, requests } = server
  for (const handle of ['two', 'one', 'three']) {
    const content = asContent(member(handle, 'orders'))
    await ensureGroupStandIn({ restore, content, handle, namespace: 'shop', backedUp }, { client })
    // Where those that are created are found again.
    for (const [key, object] of objects) objects.set(key.replace(/contents\/(?=[^/])/, 'contents//'), object)
  }
  const made = requests.filter(each => each.startsWith('POST volumegroupsnapshotcontents'))
  assert.equal(made.length, 1)
  assert.deepEqual(
    requests.filter(each => each.startsWith('PATCH volumegroupsnapshotcontents')),
    [],
  )
  const [standIn] = objects.values()
  assert.deepEqual((standIn as VolumeGroupSnapshotContent).spec.source.groupSnapshotHandles, {
    volumeGroupSnapshotHandle: 'orders',
    volumeSnapshotHandles: ['one', 'two', 'three'],
  })
})
