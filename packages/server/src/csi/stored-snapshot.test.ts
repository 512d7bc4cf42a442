import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { VolumeSnapshotContent } from './snapshot-kinds.ts'
import {
  distinctSnapshots,
  isContentOfBackup,
  snapshotsInVolumeInfo,
  storedContent,
  storedGroups,
  storedSnapshotOf,
  withGroupMembers,
  withSecretOfClass,
} from './stored-snapshot.ts'

function content(more: {
  labels?: Record<string, string>
  annotations?: Record<string, string>
  source?: VolumeSnapshotContent['spec']['source']
  status?: VolumeSnapshotContent['status']
}): VolumeSnapshotContent {
  const { labels = {}, annotations = {}, source = { volumeHandle: 'vol-1' }, status } = more
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'snapcontent-1', uid: 'c-uid', labels, annotations },
    spec: {
      deletionPolicy: 'Retain',
      driver: 'disks.example.com',
      source,
      volumeSnapshotClassName: 'fast',
      volumeSnapshotRef: { namespace: 'shop', name: 'one' },
    },
    ...(status && { status }),
  }
}

describe('a snapshot in the storage', () => {
  it('is known by driver and handle, and with the Secret that its deletion needs', () => {
    const annotations = {
      'snapshot.storage.kubernetes.io/deletion-secret-name': 'key',
      'snapshot.storage.kubernetes.io/deletion-secret-namespace': 'storage',
    }
    assert.deepEqual(storedSnapshotOf(content({ annotations, status: { snapshotHandle: 'snap-1' } })), {
      driver: 'disks.example.com',
      handle: 'snap-1',
      contentUid: 'c-uid',
      className: 'fast',
      sourceVolumeMode: undefined,
      secret: { namespace: 'storage', name: 'key' },
      group: undefined,
    })
  })

  it('is deleted with the Secret of its class where its content named none', () => {
    const parameters = {
      'csi.storage.k8s.io/snapshotter-secret-name': 'key',
      'csi.storage.k8s.io/snapshotter-secret-namespace': 'storage',
    }
    const known = (driver: string, more: Record<string, string> = {}) => {
      const { apiVersion } = content({})
      const metadata = { name: 'fast' }
      const all = { ...parameters, ...more }
      const kind = 'VolumeSnapshotClass'
      return new Map([
        ['fast', { apiVersion, kind, metadata, driver, deletionPolicy: 'Delete', parameters: all } as const],
      ])
    }
    const bare = { driver: 'd', handle: 'h', contentUid: 'c', className: 'fast' }
    const secret = { namespace: 'storage', name: 'key' }
    assert.deepEqual(withSecretOfClass(bare, known('d')), { ...bare, secret })
    const named = { ...bare, secret: { namespace: 'mine', name: 'own' } }
    assert.equal(withSecretOfClass(named, known('d')), named)
    assert.equal(withSecretOfClass(bare, known('another')), bare)
    assert.equal(withSecretOfClass(bare, new Map()), bare)
    const open = {
      'csi.storage.k8s.io/snapshotter-secret-name': ['$', '{volumesnapshotcontent.name}'].join(''),
    }
    assert.equal(withSecretOfClass(bare, known('d', open)), bare)
  })

  it('is not known before there is a handle', () => {
    assert.equal(storedSnapshotOf(content({})), undefined)
  })

  it('is told once, by who tells most', () => {
    const one = { driver: 'd', handle: 'h', contentUid: 'c' }
    const other = { driver: 'd', handle: 'i', contentUid: '' }
    assert.deepEqual(distinctSnapshots([one, other, { ...one, contentUid: '' }]), [one, other])
  })

  it('is in the list of volumes unless its data were moved', () => {
    const info = { snapshotHandle: 'snap-1', driver: 'd' }
    assert.deepEqual(
      snapshotsInVolumeInfo([
        { snapshotDataMoved: false, csiSnapshotInfo: info },
        { snapshotDataMoved: true, csiSnapshotInfo: { snapshotHandle: 'unknown', driver: 'd' } },
        { snapshotDataMoved: false, csiSnapshotInfo: { snapshotHandle: '', driver: 'd' } },
        { snapshotDataMoved: false },
        null,
      ]),
      [{ driver: 'd', handle: 'snap-1', contentUid: '' }],
    )
    assert.deepEqual(snapshotsInVolumeInfo('nonsense'), [])
  })
})

describe('snapshots that were taken together', () => {
  const member = (handle: string, members: string[], group = 'g') => ({
    ...{ driver: 'd', handle, contentUid: '' },
    group: { handle: group, members },
  })

  it('go together, with those that are not in the backup', () => {
    const members = [member('one', ['one', 'two', 'left-out']), member('two', ['one', 'two', 'left-out'])]
    const alone = { driver: 'd', handle: 'three', contentUid: '' }
    const handles = ['one', 'two', 'left-out']
    assert.deepEqual(storedGroups([...members, alone]), [{ driver: 'd', handle: 'g', members, handles }])
  })

  it('bring those along that the backup has no use for', () => {
    const secret = { namespace: 'storage', name: 'key' }
    const one = { ...member('one', ['one', 'left-out']), secret }
    const leftOut = { driver: 'd', handle: 'left-out', contentUid: '', secret, group: one.group }
    assert.deepEqual(withGroupMembers(one), [one, leftOut])
    const alone = { driver: 'd', handle: 'three', contentUid: '' }
    assert.deepEqual(withGroupMembers(alone), [alone])
  })

  it('are those in the backup where nobody has noted all of them', () => {
    assert.deepEqual(storedGroups([member('one', []), member('two', [])])[0]?.handles, ['one', 'two'])
  })

  it('are told from those of another group, and are known by their contents', () => {
    const found = storedGroups([member('one', ['one'], 'a'), member('two', ['two'], 'b')])
    assert.deepEqual(
      found.map(({ handle }) => handle),
      ['a', 'b'],
    )
    const stored = storedSnapshotOf(
      content({
        annotations: { 'lateen.dev/group-snapshot-handles': 'snap-1,snap-2' },
        status: { snapshotHandle: 'snap-1', volumeGroupSnapshotHandle: 'g' },
      }),
    )
    assert.deepEqual(stored?.group, { handle: 'g', members: ['snap-1', 'snap-2'] })
  })
})

describe('a content', () => {
  const nightly = { 'velero.io/backup-name': 'nightly' }

  it('belongs to the backup that its label names', () => {
    assert.equal(isContentOfBackup(content({ labels: nightly }), 'nightly'), true)
    assert.equal(isContentOfBackup(content({ labels: nightly }), 'weekly'), false)
    assert.equal(isContentOfBackup(content({}), 'nightly'), false)
  })

  it('does not belong to the backup when a restore made it to read the snapshot', () => {
    const labels = { ...nightly, 'velero.io/restore-name': 'again' }
    assert.equal(
      isContentOfBackup(content({ labels, source: { snapshotHandle: 'snap-1' } }), 'nightly'),
      false,
    )
    assert.equal(isContentOfBackup(content({ labels }), 'nightly'), true)
  })

  it('is read from a file only if it looks like one', () => {
    const good = content({})
    assert.equal(storedContent(good), good)
    for (const bad of [undefined, null, 'x', {}, { metadata: {} }, { ...good, spec: {} }]) {
      assert.equal(storedContent(bad), undefined)
    }
  })
})
