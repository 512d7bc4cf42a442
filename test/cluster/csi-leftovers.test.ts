import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Belongings, type LeftObject, leftoversAmong, ownLabel } from './csi-leftovers.ts'

const belongings: Belongings = {
  installation: 'lateen',
  isNamespace: name => name === 'lateen' || name === 'lateen-shop',
  isHandle: handle => handle === 'ours',
}

const named = (
  kind: string,
  metadata: LeftObject['metadata'],
  more: Partial<LeftObject> = {},
): LeftObject => ({
  apiVersion: 'v1',
  kind,
  ...more,
  metadata: { uid: `${kind}-${metadata.name}`, ...metadata },
})
const shop = { name: 'it', namespace: 'lateen-shop' }
const beside = { name: 'it', namespace: 'lateen' }
const own = { labels: { [ownLabel]: 'yes' } }
const snapshotOf = (namespace: string, uid?: string) => ({
  volumeSnapshotRef: { namespace, name: 'it', ...(uid && { uid }) },
})
const volume = (claimRef?: object, policy = 'Delete') => ({
  ...(claimRef && { claimRef }),
  csi: { driver: 'csi', volumeHandle: 'ours' },
  persistentVolumeReclaimPolicy: policy,
})
const claim = named('PersistentVolumeClaim', shop)
const claimRef = { namespace: 'lateen-shop', name: 'it', uid: 'PersistentVolumeClaim-it' }

describe('what is left behind', () => {
  const left: Record<string, LeftObject[]> = {
    'a snapshot in a namespace of the file': [named('VolumeSnapshot', shop)],
    'a group of snapshots there': [named('VolumeGroupSnapshot', shop)],
    'a content for such a snapshot': [
      named('VolumeSnapshotContent', { name: 'it' }, { spec: snapshotOf('lateen-shop') }),
    ],
    'a content for no snapshot, by the handle': [
      named(
        'VolumeSnapshotContent',
        { name: 'it' },
        { spec: { ...snapshotOf('ns-1'), source: { snapshotHandle: 'ours' } } },
      ),
    ],
    'a claim beside the installation': [named('PersistentVolumeClaim', beside)],
    'a volume whose claim is gone': [named('PersistentVolume', { name: 'it' }, { spec: volume(claimRef) })],
    'a volume for nobody': [named('PersistentVolume', { name: 'it' }, { spec: volume() })],
    'a volume that would stay': [
      claim,
      named('PersistentVolume', { name: 'it' }, { spec: volume(claimRef, 'Retain') }),
    ],
    'the pod of a mover': [named('Pod', beside)],
    'the result of a move': [
      named('ConfigMap', { ...beside, labels: { 'velero.io/resource-usage': 'DataUpload' } }),
    ],
    'a move that goes on': [named('DataUpload', beside, { status: { phase: 'Accepted' } })],
    'a move that is held': [
      named('DataDownload', { ...beside, finalizers: ['f'] }, { status: { phase: 'Failed' } }),
    ],
  }
  for (const [what, objects] of Object.entries(left)) {
    it(`is ${what}`, () => assert.equal(leftoversAmong(objects, belongings).length, 1))
  }

  const kept: Record<string, LeftObject[]> = {
    'a snapshot of the test, with its content': [
      named('VolumeSnapshot', { ...shop, ...own }),
      named(
        'VolumeSnapshotContent',
        { name: 'it' },
        { spec: snapshotOf('lateen-shop', 'VolumeSnapshot-it') },
      ),
    ],
    'a snapshot of another file': [named('VolumeSnapshot', { name: 'it', namespace: 'other' })],
    'a claim of a user with its volume, and a pod': [
      claim,
      named('PersistentVolume', { name: 'it' }, { spec: volume(claimRef) }),
      named('Pod', shop),
    ],
    'the pod of the server': [
      named('Pod', {
        ...beside,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r' }],
      }),
    ],
    'a move that is over': [named('DataUpload', beside, { status: { phase: 'Completed' } })],
  }
  for (const [what, objects] of Object.entries(kept)) {
    it(`is not ${what}`, () => assert.deepEqual(leftoversAmong(objects, belongings), []))
  }
})
