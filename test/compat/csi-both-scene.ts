import type { KubeObject } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { type CsiPod, createCsiPod, csiPod } from '../cluster/csi-scene.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { makeOddFiles, tellTree } from './odd-files.ts'

/** A namespace with a file volume and a block volume of the test CSI driver, each in a pod of its own. */
export interface CsiWorkload {
  readonly namespace: string
  /** What is in both volumes. */
  contents(): Promise<VolumeContents>
}

export interface VolumeContents {
  /** Every file with its kind, mode, owner, target, size and content. */
  tree: string
  /** Of the device. */
  checksum: string
}

/** Other test files of a run may have a class of snapshots for a while, and both programs want to know which one is meant. */
const chosen = (cluster: Cluster) => ({
  annotations: { 'velero.io/csi-volumesnapshot-class': cluster.csi.snapshotClass },
})

/** Makes such a namespace and fills its volumes. */
export async function createCsiWorkload(cluster: Cluster, namespace: string): Promise<CsiWorkload> {
  const labels = { app: 'of-the-user' }
  const file = { ...chosen(cluster), labels }
  await cluster.kubectl(['create', 'namespace', namespace])
  const [files, device] = await Promise.all([
    createCsiPod(cluster, { namespace, name: 'files', claims: { data: file } }),
    createCsiPod(cluster, { namespace, name: 'device', claims: { disk: { ...file, mode: 'Block' } } }),
  ])
  await cluster.kubectl(
    ['-n', namespace, 'exec', '-i', 'files', '--', 'sh', '-c', 'cd /data && exec sh -s'],
    {
      stdin: makeOddFiles.replace('mkfifo pipe; ', ''),
    },
  )
  await device.run('dd if=/dev/urandom of=/dev/disk bs=1M count=3 seek=2 2>/dev/null; sync')
  return workloadOf({ namespace, files, device })
}

/** Such a namespace as a restore brings it. Waits until its pods run. */
export async function restoredCsiWorkload(cluster: Cluster, namespace: string): Promise<CsiWorkload> {
  const [files, device] = ['files', 'device'].map(name => csiPod(cluster, { namespace, name }))
  if (!files || !device) throw new Error('there are two pods')
  await Promise.all([files.ready(), device.ready()])
  return workloadOf({ namespace, files, device })
}

function workloadOf({ namespace, files, device }: { namespace: string; files: CsiPod; device: CsiPod }) {
  return {
    namespace,
    contents: async () => ({
      tree: await files.run(`cd /data\n${tellTree.replace(' %y', '')}`),
      checksum: await device.checksum('disk'),
    }),
  }
}

/** A VolumeSnapshot or VolumeSnapshotContent, as far as tests look at it. */
export interface SnapshotObject extends KubeObject {
  spec: {
    deletionPolicy?: string
    source: { snapshotHandle?: string; persistentVolumeClaimName?: string }
    volumeSnapshotRef?: { namespace: string; name: string; uid?: string }
    [field: string]: unknown
  }
  status?: { snapshotHandle?: string; boundVolumeSnapshotContentName?: string }
}

/** The snapshot objects in namespaces that begin like this, and the contents that are theirs. */
export async function snapshotObjects({ kubectl }: Cluster, prefix: string): Promise<SnapshotObject[]> {
  const args = ['get', 'volumesnapshots,volumesnapshotcontents', '--all-namespaces', '-o', 'json']
  const items: SnapshotObject[] = JSON.parse(await kubectl(args)).items
  return items.filter(({ metadata, spec }) =>
    (metadata.namespace ?? spec.volumeSnapshotRef?.namespace ?? '').startsWith(prefix),
  )
}

/** Which of these snapshots the driver has. */
export async function keptByDriver({ csi }: Cluster, handles: readonly string[]): Promise<string[]> {
  using client = driverClient(csi.socket)
  const { entries } = await client.controller.listSnapshots({})
  const all = new Set(entries.map(({ snapshot }) => snapshot?.snapshotId))
  return handles.filter(handle => all.has(handle))
}

/** Whether a VolumeSnapshot is of a claim, or a VolumeSnapshotContent of a VolumeSnapshot of it. */
export function isOfClaim(
  { spec }: SnapshotObject,
  claim: string,
  objects: readonly SnapshotObject[],
): boolean {
  const source =
    spec.source.persistentVolumeClaimName ??
    objects.find(({ metadata }) => metadata.uid === spec.volumeSnapshotRef?.uid)?.spec.source
      .persistentVolumeClaimName
  return source === claim
}

/** What old versions of Velero left of a backup: the VolumeSnapshot and a content that keeps the snapshot. Up to 1.15 the content stayed. */
export function leftBehind({ metadata, spec, status }: SnapshotObject, backup: string): object[] {
  const { namespace, name } = spec.volumeSnapshotRef ?? {}
  const labels = { 'velero.io/backup-name': backup }
  const apiVersion = 'snapshot.storage.k8s.io/v1'
  const content = {
    apiVersion,
    kind: 'VolumeSnapshotContent',
    metadata: { name: metadata.name, labels },
    spec: {
      driver: spec.driver,
      deletionPolicy: 'Retain',
      volumeSnapshotClassName: spec.volumeSnapshotClassName,
      source: { snapshotHandle: status?.snapshotHandle },
      volumeSnapshotRef: { apiVersion, kind: 'VolumeSnapshot', namespace, name },
    },
  }
  const snapshot = {
    apiVersion,
    kind: 'VolumeSnapshot',
    metadata: { name, namespace, labels },
    spec: {
      volumeSnapshotClassName: spec.volumeSnapshotClassName,
      source: { volumeSnapshotContentName: metadata.name },
    },
  }
  return [content, snapshot]
}
