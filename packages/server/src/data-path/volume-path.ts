import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'
import type { Pod, PodVolume } from './mover-state.ts'

interface Claim extends KubeObject {
  spec?: { volumeName?: string }
}

interface Volume extends KubeObject {
  spec?: { csi?: object; volumeMode?: string; hostPath?: object }
}

const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')

const VolumeKind = builtInKind<Volume>('PersistentVolume')

/**
 * Where the kubelet has volumes of CSI drivers: each in a folder of its own, which has the mount in it. Volumes of drivers that were once part of Kubernetes
 * are there too, and their PersistentVolumes say nothing of CSI.
 */
const csiFolder = 'kubernetes.io~csi'

export interface VolumePathPorts {
  client: KubeClient
  /** Where the node's folder of pods is in this process's file system. */
  podsFolder: string
  signal: AbortSignal
}

/**
 * The folder of one volume of a pod of this node, relative to the node's folder of pods. Throws `VOLUME_NOT_FOUND` and
 * `VOLUME_UNSUPPORTED`, and KubeErrors.
 */
export async function volumePath(pod: Pod, volumeName: string, ports: VolumePathPorts): Promise<string> {
  const { name, namespace, uid = '' } = pod.metadata
  const about = `the volume ${volumeName} of the pod ${namespace}/${name}`
  const volume = pod.spec?.volumes?.find(candidate => candidate.name === volumeName)
  if (volume === undefined) {
    throw new DataPathError('VOLUME_NOT_FOUND', {
      reason: `${about} does not exist`,
      hint: 'The pod may have been replaced since; take another backup',
    })
  }
  if (!/^[0-9a-f-]{36}$/.test(uid)) {
    throw new DataPathError('VOLUME_NOT_FOUND', {
      reason: `${about} is of a pod without a UID`,
      hint: 'Look at the pod',
    })
  }
  const folder = await volumeFolder(pod, volume, { ...ports, about })
  const volumes = path.join(uid, 'volumes')
  const found = await foldersOf(path.join(ports.podsFolder, volumes), folder)
  const [only] = found
  if (only !== undefined && found.length === 1) return path.join(volumes, only)
  throw new DataPathError('VOLUME_NOT_FOUND', {
    reason: `${about} has ${found.length === 0 ? 'no folder' : 'several folders'} on this node`,
    hint: `It was looked for as ${volumes}/${folder.byCsi ? csiFolder : '*'}/${folder.name} below the kubelet's folder of pods; check --kubelet-root-dir of the installation`,
  })
}

/** What the kubelet calls the folder of a volume, below that of the volume's kind. */
interface VolumeFolder {
  name: string
  /** It is known to be a CSI driver's. */
  byCsi: boolean
}

async function volumeFolder(
  pod: Pod,
  volume: PodVolume,
  { client, signal, about }: VolumePathPorts & { about: string },
): Promise<VolumeFolder> {
  if (volume.hostPath !== undefined) throw onHostPath(about)
  if (volume.persistentVolumeClaim === undefined) {
    return { name: volume.name, byCsi: volume.csi !== undefined }
  }
  const { claimName } = volume.persistentVolumeClaim
  const claim = await client.resource(ClaimKind, pod.metadata.namespace).get(claimName, { signal })
  const volumeName = claim.spec?.volumeName
  if (!volumeName) {
    throw new DataPathError('VOLUME_NOT_FOUND', {
      reason: `${about} has a claim that is not bound`,
      hint: `Look at the PersistentVolumeClaim ${claimName}`,
    })
  }
  const { spec } = await client.resource(VolumeKind).get(volumeName, { signal })
  if (spec?.volumeMode === 'Block') {
    throw new DataPathError('VOLUME_UNSUPPORTED', {
      reason: `${about} is a block volume`,
      hint: 'File system backups are for file systems; use snapshots with data movement for it',
    })
  }
  if (spec?.hostPath !== undefined) throw onHostPath(about)
  return { name: volumeName, byCsi: spec?.csi !== undefined }
}

function onHostPath(about: string): DataPathError {
  return new DataPathError('VOLUME_UNSUPPORTED', {
    reason: `${about} is a hostPath volume, which is a folder of the node and not among the kubelet's`,
    hint: 'File system backups do not take such volumes; use another kind of volume for data to be backed up',
  })
}

/** Where the volume is below the folders of kinds. Only the kubelet's own folders are read: what is mounted may be of any size, or never answer. */
async function foldersOf(volumes: string, { name, byCsi }: VolumeFolder): Promise<string[]> {
  const found = []
  for (const kind of byCsi ? [csiFolder] : await namesIn(volumes)) {
    if (!(await namesIn(path.join(volumes, kind))).includes(name)) continue
    // Of other kinds the folder of that name is the mount itself.
    if (kind !== csiFolder) found.push(path.join(kind, name))
    else if ((await namesIn(path.join(volumes, kind, name))).includes('mount')) {
      found.push(path.join(kind, name, 'mount'))
    }
  }
  return found
}

/** Without a look at what the names stand for. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
