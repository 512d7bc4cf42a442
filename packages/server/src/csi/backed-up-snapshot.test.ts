import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { asContent, handleOf, readBackedUpSnapshot, readSnapshotOf } from './backed-up-snapshot.ts'

function snapshot(name: string, status: object = { boundVolumeSnapshotContentName: `${name}-content` }) {
  return {
    ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
    metadata: { name, namespace: 'shop', uid: `${name}-uid` },
    ...{ spec: { source: { persistentVolumeClaimName: 'data' } }, status },
  }
}

function content(name: string, { ref = {}, source = {}, status = {} } = {}) {
  return {
    ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotContent', metadata: { name } },
    spec: { driver: 'd', deletionPolicy: 'Delete', source, volumeSnapshotRef: ref },
    status,
  }
}

/** A backup that holds these. */
function backupOf(...objects: ActionItem[]): BackedUpObjects {
  const pluralOf = ({ kind }: ActionItem) => `${kind.toLowerCase()}s`
  return {
    read: async ({ resource, namespace, name }) =>
      objects.find(
        each =>
          pluralOf(each) === resource &&
          each.metadata.name === name &&
          (each.metadata.namespace ?? '') === namespace,
      ),
    async *list({ resource }) {
      yield* objects.filter(each => pluralOf(each) === resource)
    },
  }
}

describe('a snapshot in a backup', () => {
  it('comes with its content and how the storage system calls it', async () => {
    const stored = content('one-content', { status: { snapshotHandle: 'handle-1' } })
    const found = await readBackedUpSnapshot(
      { namespace: 'shop', name: 'one' },
      backupOf(snapshot('one'), stored),
    )
    assert.equal(found.handle, 'handle-1')
    assert.equal(found.content?.metadata.name, 'one-content')
    assert.equal(found.driver, 'd')
    assert.equal(found.snapshot.metadata.uid, 'one-uid')
  })

  it('is of no use without its content, without a handle, or when it is not there', async () => {
    const read = (...objects: ActionItem[]) =>
      readBackedUpSnapshot({ namespace: 'shop', name: 'one' }, backupOf(...objects))
    await assert.rejects(read(), {
      code: 'SNAPSHOT_NOT_IN_BACKUP',
      message: /shop\/one is not in the backup/,
    })
    await assert.rejects(read(snapshot('one', {})), { message: "VS one doesn't have bound VSC" })
    await assert.rejects(read(snapshot('one')), {
      code: 'SNAPSHOT_WITHOUT_CONTENT',
      message: /one-content .* is not in the backup/,
    })
    await assert.rejects(read(snapshot('one'), content('one-content', { source: { volumeHandle: 'v' } })), {
      code: 'SNAPSHOT_WITHOUT_HANDLE',
      message: 'fail to get snapshot handle from VSC one-content status',
    })
  })

  it('is found without a status by the content that refers to it, or says itself what matters', async () => {
    const read = (...objects: ActionItem[]) =>
      readBackedUpSnapshot({ namespace: 'shop', name: 'one' }, backupOf(...objects))
    const ref = { namespace: 'shop', name: 'one' }
    const stored = content('any', { ref, status: { snapshotHandle: 'handle-3' } })
    assert.equal((await read(snapshot('one', {}), stored)).content?.metadata.name, 'any')
    const telling = snapshot('one', {})
    const annotations = {
      'velero.io/csi-driver-name': 'e',
      'velero.io/csi-volumesnapshot-handle': 'handle-4',
    }
    const told = { ...telling, metadata: { ...telling.metadata, annotations } }
    const { content: none, driver, handle } = await read(told)
    assert.deepEqual({ none, driver, handle }, { none: undefined, driver: 'e', handle: 'handle-4' })
  })

  it('has the handle that its content was made for, when the content has no status', () => {
    const made = content('old', { source: { snapshotHandle: 'handle-2' } })
    assert.equal(handleOf(asContent(made)), 'handle-2')
  })

  it('is found from its content by what that refers to, or else by what the snapshot was bound to', async () => {
    const ref = { namespace: 'shop', name: 'one' }
    const pseudo = { namespace: 'ns-1', name: 'name-1' }
    const backup = backupOf(snapshot('one'), snapshot('two'))
    const nameOf = async (each: ActionItem) => (await readSnapshotOf(asContent(each), backup))?.metadata.name
    assert.equal(await nameOf(content('whatever', { ref })), 'one')
    assert.equal(await nameOf(content('two-content', { ref: pseudo })), 'two')
    assert.equal(await nameOf(content('three-content', { ref: pseudo })), undefined)
  })
})
