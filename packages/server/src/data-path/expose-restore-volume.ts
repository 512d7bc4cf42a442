import { type DataDownload, goDurationOf, labelNames } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'
import { cacheFor, type ExposePorts, nodeAgentOf, startMover } from './expose-volume.ts'
import {
  type Claim,
  claimOf,
  createClaim,
  type StorageClass,
  StorageClassKind,
  selectedNode,
} from './intermediate-claim.ts'
import { moverAffinity } from './mover-affinity.ts'
import { moverPod, type NodeOs } from './mover-pod.ts'
import { copyNeeded } from './needed-copies.ts'
import { targetClaimOf } from './target-claim.ts'

/** What volumes to be restored are exposed with. */
export type ExposeRestorePorts = Omit<ExposePorts, 'node' | 'os' | 'podsFolder'>

/** Whether the mover's pod is on its way, and else when to look again. */
export type ExposeProgress = 'done' | { readonly afterMs: number }

const LOOK_AGAIN_MS = 1_000

/**
 * Provisions a volume like the one that the target claim asks for, and starts the pod that writes to it. Does nothing as long as a claim waits for its first
 * consumer, which decides about the node. What is there already is left as it is. Throws a `DataPathError` for what cannot be restored, and KubeErrors.
 */
export async function exposeRestoreVolume(
  download: DataDownload,
  ports: ExposeRestorePorts,
): Promise<ExposeProgress> {
  const { config, resourceTimeoutMs } = ports
  const target = await targetOf(download, ports)
  const { storageClassName: storageClass, volumeMode: mode = 'Filesystem' } = target.spec ?? {}
  const waits = !config.restorePVC?.ignoreDelayBinding && (await waitsForConsumer(target, ports))
  const node = waits ? target.metadata.annotations?.[selectedNode] : undefined
  if (waits && !node) return { afterMs: LOOK_AGAIN_MS }
  const os: NodeOs = download.spec.nodeOS === 'windows' ? 'windows' : 'linux'
  const { name = '' } = download.metadata
  const mover = moverPod({
    ...{ work: 'restore', owner: download, node: undefined, os, config },
    volume: { claim: name, mode },
    nodeAgent: await nodeAgentOf(os, ports),
    resourceTimeout: goDurationOf(resourceTimeoutMs),
    cache: await cacheFor(sourceOf(download), ports),
    // Where the volume has to be, there the mover has to be, whatever the settings say.
    affinity: moverAffinity({ config: node === undefined ? config : {}, storageClass, os, node }),
  })
  const { namespace: sourceNamespace } = download.spec.targetVolume
  const copied = { metadata: download.metadata, spec: { sourceNamespace } }
  if (!(await copyNeeded(copied, config.restorePVC ?? {}, ports))) return { afterMs: LOOK_AGAIN_MS }
  await createClaim(intermediateClaim(download, { target, node }), download, ports)
  await startMover(mover, ports)
  return 'done'
}

/** What is in the way of a mover that does not come up. */
export async function diagnoseRestoreVolume(
  download: DataDownload,
  ports: ExposeRestorePorts,
): Promise<string[]> {
  const { pvc, namespace } = download.spec.targetVolume
  const claim = await claimOf(download, ports)
  if (claim === undefined) {
    return [
      `the PersistentVolumeClaim ${namespace}/${pvc} waits for a pod that uses it, which decides about the node: create one, or set restorePVC.ignoreDelayBinding in the node agent's ConfigMap`,
    ]
  }
  const { metadata, spec, status } = claim
  const volume = spec?.volumeName ? `the volume ${spec.volumeName}` : 'no volume'
  return [
    `the PersistentVolumeClaim ${metadata.namespace}/${metadata.name} is ${status?.phase ?? 'unknown'} with ${volume}`,
  ]
}

/** The claim that is restored. Throws `TARGET_UNUSABLE` where its volume can no longer come from here, and KubeErrors. */
async function targetOf(
  download: DataDownload,
  ports: Pick<ExposeRestorePorts, 'client' | 'signal'>,
): Promise<Claim> {
  const { namespace, pvc } = download.spec.targetVolume
  const found = await targetClaimOf(download, ports)
  const problem = (what: string) =>
    new DataPathError('TARGET_UNUSABLE', {
      reason: `the PersistentVolumeClaim ${namespace}/${pvc} ${what}`,
      hint: 'Delete it and restore it again',
    })
  if (found === undefined) throw problem('is gone, or is not the one that its restore made')
  if (found.spec?.volumeName) throw problem(`is bound already, to ${found.spec.volumeName}`)
  return found
}

/** Whether the volume of a claim is provisioned when a pod that uses it has a node. */
async function waitsForConsumer(
  { metadata, spec }: Claim,
  { client, signal }: Pick<ExposeRestorePorts, 'client' | 'signal'>,
): Promise<boolean> {
  const name = spec?.storageClassName
  if (!name) return false
  const found: StorageClass | undefined = await client
    .resource(StorageClassKind)
    .get(name, { signal })
    .catch(unlessNotFound)
  if (found !== undefined) return found.volumeBindingMode === 'WaitForFirstConsumer'
  throw new DataPathError('TARGET_UNUSABLE', {
    reason: `the PersistentVolumeClaim ${metadata.namespace}/${metadata.name} is of the storage class ${name}, which does not exist`,
    hint: 'Create the class, or have it mapped to another with a change-storage-class ConfigMap, and restore again',
  })
}

function sourceOf({ spec }: DataDownload) {
  return {
    bytes: spec.snapshotSize,
    repository: {
      volumeNamespace: spec.sourceNamespace,
      backupStorageLocation: spec.backupStorageLocation,
      repositoryType: 'kopia',
    },
  }
}

/** What Kubernetes wrote on a claim about its own binding. */
const ofBinding = /^(pv|volume|volume\.beta)\.kubernetes\.io\//

/** A claim for a volume like the target's, which is to be the target's. */
export function intermediateClaim(
  owner: DataDownload,
  { target, node }: { target: Claim; node: string | undefined },
): Claim {
  const { name = '', namespace = '', uid = '' } = owner.metadata
  const { accessModes, storageClassName, volumeMode, resources } = target.spec ?? {}
  const { labels = {}, annotations = {} } = target.metadata
  const given = Object.entries(annotations).filter(([key]) => !ofBinding.test(key))
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...{ name, namespace },
      // A backup that runs meanwhile has no use for it.
      labels: { ...labels, [labelNames.excludeFromBackup]: 'true' },
      annotations: { ...Object.fromEntries(given), ...(node && { [selectedNode]: node }) },
      ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true }],
    },
    spec: {
      ...(accessModes && { accessModes }),
      ...(storageClassName !== undefined && { storageClassName }),
      ...(volumeMode && { volumeMode }),
      ...(resources && { resources }),
    },
  }
}
