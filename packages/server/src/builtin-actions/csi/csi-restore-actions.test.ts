import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore, RestoreSpec } from '@lateen/api'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { asContent, asSnapshot } from '../../csi/backed-up-snapshot.ts'
import type { RestorableClasses } from '../../csi/restorable-class.ts'
import { grownSize } from './claim-restore-action.ts'
import { classRestoreAction } from './class-restore-action.ts'
import { contentRestoreAction } from './content-restore-action.ts'
import { withoutPast } from './snapshot-restore-action.ts'

const restoreOf = (spec: RestoreSpec = {}): Restore => ({
  ...{ apiVersion: 'velero.io/v1', kind: 'Restore' },
  metadata: { name: 'again', namespace: 'velero', uid: 'restore-uid' },
  spec: { backupName: 'nightly', ...spec },
})

const snapshot: ActionItem = {
  ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
  metadata: {
    ...{ name: 'velero-data-1', namespace: 'shop', uid: 'snapshot-uid' },
    labels: { 'velero.io/backup-name': 'nightly' },
  },
  spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: 'fast' },
  status: { boundVolumeSnapshotContentName: 'content-1', restoreSize: '2Gi' },
}

const content: ActionItem = {
  ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotContent' },
  metadata: {
    name: 'content-1',
    labels: { 'velero.io/backup-uid': 'backup-uid', mine: 'yes' },
    annotations: {
      'csi.storage.k8s.io/snapshotter-secret-name': 'key',
      'csi.storage.k8s.io/snapshotter-secret-namespace': 'storage',
    },
    finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
  },
  spec: {
    ...{ driver: 'disk.example.com', deletionPolicy: 'Delete', source: { volumeHandle: 'volume-1' } },
    ...{ sourceVolumeMode: 'Block', volumeSnapshotClassName: 'fast' },
    volumeSnapshotRef: {
      ...{ kind: 'VolumeSnapshot', namespace: 'shop', name: 'velero-data-1' },
      ...{ uid: 'snapshot-uid', resourceVersion: '7' },
    },
  },
  status: { snapshotHandle: 'handle-1', readyToUse: true, restoreSize: 3 * 2 ** 30 },
}

const backup = (...objects: ActionItem[]): BackedUpObjects => ({
  read: async ({ name }) => objects.find(({ metadata }) => metadata.name === name),
  async *list() {
    yield* objects.filter(({ kind }) => kind === 'VolumeSnapshot')
  },
})

const keepsClass: RestorableClasses = async ({ name }) => ({ name })
// Of sha256 over "restore-uid/snapshot-uid", by sha256sum.
const restoredName = 'vsc-5666835b4a4d7cc6d4a1fb9b4b8dde0c941b52f02f9aaacb390b1d3acf2537dd'

describe('velero.io/csi-volumesnapshotcontent-restorer', () => {
  const act = (spec: RestoreSpec = {}, backedUp = backup(snapshot, content), classes = keepsClass) => {
    const { status: _, ...item } = structuredClone(content)
    const input = { item: item as ActionItem, itemFromBackup: content, restore: restoreOf(spec), backedUp }
    return contentRestoreAction(classes).execute(input)
  }

  it('makes a content that stands for the snapshot in the storage, and never deletes it', async () => {
    const { item, additionalItems } = await act({ namespaceMapping: { shop: 'copy' } })
    assert.deepEqual(item.spec, {
      ...{ driver: 'disk.example.com', deletionPolicy: 'Retain', source: { snapshotHandle: 'handle-1' } },
      ...{ sourceVolumeMode: 'Block', volumeSnapshotClassName: 'fast' },
      volumeSnapshotRef: {
        ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
        ...{ namespace: 'copy', name: restoredName },
      },
    })
    assert.equal(item.metadata.name, restoredName)
    assert.equal(item.metadata.finalizers, undefined)
    assert.deepEqual(additionalItems, [{ group: '', resource: 'secrets', namespace: 'storage', name: 'key' }])
  })

  it('marks what the backup took with its restore, and takes the mark of the backup away', async () => {
    const { item } = await act()
    assert.deepEqual(item.metadata.labels, {
      ...{ mine: 'yes', 'velero.io/restore-uid': 'restore-uid', 'velero.io/exclude-from-backup': 'true' },
    })
    assert.equal(item.metadata.annotations?.['lateen.dev/restored-by'], 'velero/again')
  })

  it('does not mark what a user took', async () => {
    const own = { ...snapshot, metadata: { ...snapshot.metadata, labels: {} } }
    const { item } = await act({}, backup(own, content))
    assert.deepEqual(item.metadata.labels, { mine: 'yes' })
    assert.equal(item.metadata.annotations?.['lateen.dev/restored-by'], undefined)
  })

  it('goes without a class where there is none', async () => {
    const { item } = await act({}, undefined, async () => ({ name: undefined }))
    assert.ok(!('volumeSnapshotClassName' in (item.spec as object)))
  })

  it('is left out when no volumes are wanted, and when the backup has no snapshot of it', async () => {
    assert.equal((await act({ restorePVs: false })).skip, true)
    assert.equal((await act({}, backup(content))).skip, true)
  })
})

describe('velero.io/csi-volumesnapshotclass-restorer', () => {
  it('takes along the secret for lists', async () => {
    const item: ActionItem = {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotClass', driver: 'd' },
      metadata: {
        name: 'fast',
        annotations: {
          'csi.storage.k8s.io/snapshotter-list-secret-name': 'lists',
          'csi.storage.k8s.io/snapshotter-list-secret-namespace': 'storage',
        },
      },
    }
    const input = { item, itemFromBackup: item, restore: restoreOf() }
    const { additionalItems } = await classRestoreAction.execute(input)
    assert.deepEqual(additionalItems, [
      { group: '', resource: 'secrets', namespace: 'storage', name: 'lists' },
    ])
  })
})

describe('the size of a claim that is made from a snapshot', () => {
  const sized = (size: { of?: string; note?: string; bytes?: number }) => ({
    snapshot: asSnapshot({
      ...snapshot,
      metadata: {
        ...snapshot.metadata,
        annotations: size.note ? { 'velero.io/csi-volumesnapshot-restore-size': size.note } : {},
      },
      status: { ...(size.of && { restoreSize: size.of }) },
    }),
    content: asContent({ ...content, status: { ...(size.bytes && { restoreSize: size.bytes }) } }),
  })

  it('grows to what the snapshot needs, wherever the backup says it', () => {
    assert.equal(grownSize('1Gi', sized({ of: '2Gi' })), '2Gi')
    assert.equal(grownSize('1Gi', sized({ note: '1025Mi' })), '1025Mi')
    assert.equal(grownSize('1Gi', sized({ bytes: 2 ** 31 })), '2147483648')
    assert.equal(grownSize(undefined, sized({ of: '2Gi' })), '2Gi')
  })

  it('stays when it is enough, or when nobody knows', () => {
    assert.equal(grownSize('2048Mi', sized({ of: '2Gi' })), '2048Mi')
    assert.equal(grownSize('3Gi', sized({ of: '2Gi' })), '3Gi')
    assert.equal(grownSize('1Gi', sized({})), '1Gi')
  })
})

describe('the metadata of a restored snapshot', () => {
  it('is without what controllers were doing about the old one', () => {
    const past = {
      name: 'x',
      finalizers: ['f'],
      labels: { 'velero.io/backup-uid': 'u', kept: 'yes' },
      annotations: { 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted': 'yes', kept: 'yes' },
    }
    assert.deepEqual(withoutPast(past), { name: 'x', labels: { kept: 'yes' }, annotations: { kept: 'yes' } })
  })
})
