import { type DataUpload, goDurationOf } from '@lateen/api'
import { type Clock, unlessNotFound } from '@lateen/kube'
import { snapshotGroup } from '../csi/snapshot-kinds.ts'
import { DataPathError } from './data-path-error.ts'
import { type ExposePorts, NodeKind, nodeAgentOf, startMover } from './expose-volume.ts'
import {
  type Claim,
  ClaimKind,
  claimOf,
  createClaim,
  type StorageClass,
  StorageClassKind,
  selectedNode,
  type Volume,
  VolumeKind,
} from './intermediate-claim.ts'
import { moverAffinity, type NodeSelector } from './mover-affinity.ts'
import { moverPod, type NodeOs } from './mover-pod.ts'
import { copyNeeded } from './needed-copies.ts'
import type { BackupClaimSettings } from './node-agent-config.ts'
import {
  intermediateLabels,
  originOf,
  ownSnapshot,
  type SnapshotToRead,
  takeOverSnapshot,
} from './snapshot-to-read.ts'

/** What snapshots are exposed with. */
export type ExposeSnapshotPorts = Omit<ExposePorts, 'node' | 'os' | 'podsFolder'> & { clock: Clock }

/** Snapshots become ready in less than a second, or only after long. */
const LOOK_AGAIN_MS = 300

/** Until a copy of the same name goes that is for other volumes. */
const LOOK_AGAIN_LATER_MS = 3_000

/**
 * Takes a snapshot over into the namespace of its DataUpload, has a volume made from it, and starts the pod that reads that. To be repeated
 * until it is done; what is there already is left as it is. Throws `DataPathError`s and CsiErrors for what cannot be read, and KubeErrors.
 */
export async function exposeSnapshot(
  upload: DataUpload,
  ports: ExposeSnapshotPorts,
): Promise<'done' | { readonly afterMs: number }> {
  const { config } = ports
  const { snapshotType } = upload.spec
  if (snapshotType !== 'CSI') throw unsupported(snapshotType)
  const settings = config.backupPVC?.[upload.spec.csiSnapshot?.storageClass ?? ''] ?? {}
  if (!(await copyNeeded(upload, settings, ports))) return { afterMs: LOOK_AGAIN_LATER_MS }
  const taken = await takeOverSnapshot(upload, ports)
  if (taken === undefined) return { afterMs: LOOK_AGAIN_MS }
  const source = await sourceOf(upload, ports)
  const claim = claimToRead(upload, { ...taken, settings, source })
  await createClaim(claim, upload, ports)
  const { volumeMode: mode = 'Filesystem', storageClassName: storageClass } = claim.spec ?? {}
  const { readOnly = false, spcNoRelabeling } = settings
  const { name = '' } = upload.metadata
  const { os } = source
  const mover = moverPod({
    ...{ work: 'backup', owner: upload, node: undefined, os, config },
    volume: { claim: name, mode, readOnly },
    noRelabeling: readOnly && spcNoRelabeling,
    nodeAgent: await nodeAgentOf(os, ports),
    resourceTimeout: goDurationOf(ports.resourceTimeoutMs),
    affinity: moverAffinity({ config, os, storageClass, topology: source.topology }),
  })
  await startMover(mover, ports)
  return 'done'
}

function unsupported(snapshotType: string): DataPathError {
  return new DataPathError('VOLUME_UNSUPPORTED', {
    reason: `there are no snapshots of the sort ${JSON.stringify(snapshotType)}`,
    hint: 'Set spec.snapshotType to CSI',
  })
}

/** What the volume that was snapshot tells about one that is made from the snapshot. It may be gone by now. */
interface Source {
  readonly claim: Claim | undefined
  readonly os: NodeOs
  readonly topology: NodeSelector | undefined
}

interface PlacedVolume extends Volume {
  spec?: Volume['spec'] & { nodeAffinity?: { required?: NodeSelector } | null }
}

async function sourceOf(
  { spec }: DataUpload,
  { client, signal }: Pick<ExposeSnapshotPorts, 'client' | 'signal'>,
): Promise<Source> {
  const get = { signal }
  const claim = await client
    .resource(ClaimKind, spec.sourceNamespace)
    .get(spec.sourcePVC, get)
    .catch(unlessNotFound)
  const className = spec.csiSnapshot?.storageClass
  const storageClass: StorageClass | undefined = className
    ? await client.resource(StorageClassKind).get(className, get).catch(unlessNotFound)
    : undefined
  const volumeName = claim?.spec?.volumeName
  const waits = storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
  const volume: PlacedVolume | undefined =
    waits && volumeName
      ? await client.resource(VolumeKind).get(volumeName, get).catch(unlessNotFound)
      : undefined
  const node = claim?.metadata.annotations?.[selectedNode]
  const at =
    node === undefined ? undefined : await client.resource(NodeKind).get(node, get).catch(unlessNotFound)
  const isWindows =
    claim?.spec?.volumeMode !== 'Block' &&
    (at?.metadata.labels?.['kubernetes.io/os'] ?? fileSystemOs(storageClass)) === 'windows'
  return { claim, os: isWindows ? 'windows' : 'linux', topology: volume?.spec?.nodeAffinity?.required }
}

function fileSystemOs(storageClass: StorageClass | undefined): NodeOs {
  return storageClass?.parameters?.['csi.storage.k8s.io/fstype']?.toLowerCase() === 'ntfs'
    ? 'windows'
    : 'linux'
}

interface ClaimFacts extends SnapshotToRead {
  readonly settings: BackupClaimSettings
  readonly source: Source
}

/** The claim for a volume that is made from the snapshot. */
export function claimToRead(upload: DataUpload, { snapshot, content, settings, source }: ClaimFacts): Claim {
  const { name = '', namespace = '', uid = '' } = upload.metadata
  const { apiVersion, kind } = upload
  const { storageClass = upload.spec.csiSnapshot?.storageClass, readOnly, annotations = {} } = settings
  const restoreSize = snapshot.status?.restoreSize
  const mode = content.spec.sourceVolumeMode === 'Block' ? 'Block' : source.claim?.spec?.volumeMode
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...{ name, namespace, annotations },
      labels: intermediateLabels(name),
      ownerReferences: [{ ...{ apiVersion, kind, name, uid }, controller: true }],
    },
    spec: {
      accessModes: [readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce'],
      ...(storageClass && { storageClassName: storageClass }),
      volumeMode: mode ?? 'Filesystem',
      dataSource: { apiGroup: snapshotGroup, kind: 'VolumeSnapshot', name },
      // A driver may tell no size, or 0 for one that it does not know.
      resources:
        restoreSize && restoreSize !== '0'
          ? { requests: { storage: restoreSize } }
          : (source.claim?.spec?.resources ?? {}),
    },
  }
}

/** What is in the way of a mover that does not come up, for people. */
export async function diagnoseSnapshot(
  upload: DataUpload,
  ports: Pick<ExposeSnapshotPorts, 'client' | 'signal'>,
): Promise<string[]> {
  const origin = await originOf(upload, ports)
  const taken = await ownSnapshot(upload, ports).catch(() => undefined)
  const claim = await claimOf(upload, ports)
  const snapshots = [origin, taken].filter(each => each !== undefined)
  return [
    ...snapshots.map(({ metadata, status }) => {
      const fault = status?.error?.message
      const state = status?.readyToUse ? 'ready' : 'not ready'
      return `the VolumeSnapshot ${metadata.namespace}/${metadata.name} is ${state}${fault ? `: ${fault}` : ''}`
    }),
    ...(claim === undefined
      ? []
      : [
          `the PersistentVolumeClaim ${claim.metadata.namespace}/${claim.metadata.name} is ${claim.status?.phase ?? 'unknown'}`,
        ]),
  ]
}
