import type { Unpacked } from './backup-bucket.ts'
import { type ArchivedObject, archiveOf, type Stored } from './restore-harness.ts'

export interface Claim extends Stored {
  spec: { volumeName?: string; resources: { requests: { storage: string } } }
}

/** A VolumeSnapshot or the content of one. */
export interface SnapshotObject extends Stored {
  spec: {
    source: {
      persistentVolumeClaimName?: string
      volumeSnapshotContentName?: string
      snapshotHandle?: string
    }
    deletionPolicy?: string
    driver?: string
    volumeSnapshotClassName?: string
    volumeSnapshotRef?: { namespace?: string; name?: string; uid?: string; resourceVersion?: string }
  }
  status?: { snapshotHandle?: string; boundVolumeSnapshotContentName?: string }
}

/** A claim with its snapshot, as a backup has them. */
interface Copy {
  claim: Claim
  volume: Stored
  snapshot?: SnapshotObject
  content?: SnapshotObject
}

type Whole = Required<Copy>

/** What is odd about each copy of a claim, by its name. */
const oddities: Record<string, (copy: Whole) => Copy> = {
  small(copy) {
    copy.claim.spec.resources.requests.storage = '5Mi'
    return copy
  },
  /** As Velero 1.14 has made contents anew while it finished a backup. */
  old(copy) {
    const { content } = copy
    content.spec.source = { snapshotHandle: content.status?.snapshotHandle ?? '' }
    content.spec.volumeSnapshotRef = { namespace: 'ns-some-uid', name: 'name-some-uid' }
    content.status = {}
    return copy
  },
  /** As in backups from before Velero read snapshots again when they were ready, with a name of that time, and without cluster-scoped objects. */
  older({ claim, volume, snapshot }) {
    claim.spec.resources.requests.storage = '5Mi'
    snapshot.status = {}
    const { 'velero.io/csi-volumesnapshot-restore-size': size = '', ...annotations } =
      snapshot.metadata.annotations ?? {}
    snapshot.metadata.annotations = { ...annotations, 'velero.io/vsi-volumesnapshot-restore-size': size }
    return { claim, volume, snapshot }
  },
  'no-handle'(copy) {
    copy.content.status = {}
    return copy
  },
  'no-snapshot'({ claim, volume }) {
    claim.metadata.annotations = { 'velero.io/volume-snapshot-name': 'gone' }
    return { claim, volume }
  },
}

/** The archive of a backup of that name, with the claim `data` of another in several copies, each odd in its own way. */
export function oddCsiArchive(archive: Unpacked, backup: string): Buffer {
  const objects = Object.entries(oddities).flatMap(([name, change]) =>
    archived(change(copyOf(archive, { name, backup }))),
  )
  return archiveOf(...objects)
}

/** The same with one claim, `lost`, whose snapshot is not in the storage. */
export function lostCsiArchive(archive: Unpacked, backup: string): Buffer {
  const copy = copyOf(archive, { name: 'lost', backup })
  copy.content.status = { snapshotHandle: 'no-such-snapshot' }
  return archiveOf(...archived(copy))
}

function archived({ claim, volume, snapshot, content }: Copy): ArchivedObject[] {
  return [
    { plural: 'persistentvolumeclaims', object: claim },
    { plural: 'persistentvolumes', object: volume },
    ...(snapshot ? [{ plural: 'volumesnapshots', object: snapshot }] : []),
    ...(content ? [{ plural: 'volumesnapshotcontents', object: content }] : []),
  ]
}

function copyOf(archive: Unpacked, { name, backup }: { name: string; backup: string }): Whole {
  const find = <T extends Stored>(kind: string, wanted: string | undefined): T => {
    const found = [...archive.values()].find(each => each.kind === kind && each.metadata.name === wanted)
    return structuredClone(found) as T
  }
  const claim = find<Claim>('PersistentVolumeClaim', 'data')
  const source = claim.metadata.annotations?.['velero.io/volume-snapshot-name']
  const snapshot = find<SnapshotObject>('VolumeSnapshot', source)
  const bound = snapshot.status?.boundVolumeSnapshotContentName
  const content = find<SnapshotObject>('VolumeSnapshotContent', bound)
  const volume = find<Stored>('PersistentVolume', claim.spec.volumeName)
  const { namespace = '' } = claim.metadata
  const uid = `${name}-${snapshot.metadata.uid}`
  const volumeName = `${namespace}-volume-of-${name}`
  claim.metadata = { name, namespace, annotations: { 'velero.io/volume-snapshot-name': name } }
  claim.spec = { ...claim.spec, volumeName, resources: { requests: { storage: '16Mi' } } }
  volume.metadata = { name: volumeName }
  const policy = { persistentVolumeReclaimPolicy: 'Retain' }
  volume.spec = { ...(volume.spec as object), ...policy, claimRef: { namespace, name } }
  snapshot.metadata = { ...snapshot.metadata, name, uid, labels: { 'velero.io/backup-name': backup } }
  snapshot.status = { ...snapshot.status, boundVolumeSnapshotContentName: name }
  content.metadata = { ...content.metadata, name, uid: `${name}-content` }
  content.spec = { ...content.spec, volumeSnapshotRef: { namespace, name, uid } }
  return { claim, volume, snapshot, content }
}
