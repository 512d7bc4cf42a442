import {
  annotationNames,
  type Backup,
  durationMilliseconds,
  type PodVolumeBackup,
  PodVolumeBackupKind,
} from '@lateen/api'
import { builtInKind, type KubeObject, type Logger, unlessNotFound } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { ensureRepository } from '../backup-repository/ensure-repository.ts'
import { MovesOf, type MovesPorts } from './moves-of.ts'
import { newPodVolumeBackup } from './new-pod-volume-backup.ts'
import { noNodeAgentOn } from './node-agent-on.ts'
import type { PodVolumeBackups, PodVolumesBegun } from './volume-backup.ts'
import type { VolumeInfo } from './volume-info.ts'

export interface PodVolumeBackupsOptions extends MovesPorts {
  backup: Backup
  log: Logger
  /** How long all of them may take, unless the backup says otherwise. */
  timeoutMs: number
  /** How long to wait for a repository. */
  resourceTimeoutMs: number
}

interface Claim extends KubeObject {
  spec?: { volumeName?: string; volumeMode?: string }
}

const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')

interface Volume extends KubeObject {
  spec?: { hostPath?: object | null }
}

const VolumeKind = builtInKind<Volume>('PersistentVolume')

interface BackedUpPod extends ActionItem {
  spec?: {
    nodeName?: string
    volumes?: readonly { name: string; persistentVolumeClaim?: { claimName?: string } | null }[]
    containers?: readonly {
      volumeMounts?: readonly { name: string }[]
      volumeDevices?: readonly { name: string }[]
    }[]
  }
  status?: { phase?: string }
}

/** The backups of pod volumes of one backup, which node agents make. */
export function createPodVolumeBackups(options: PodVolumeBackupsOptions): PodVolumeBackups {
  const { backup, clock, log } = options
  const moves = new MovesOf<PodVolumeBackup>(
    PodVolumeBackupKind,
    { label: 'backupUid', uid: backup.metadata.uid ?? '' },
    options,
  )
  const deadline = clock.now() + timeoutOf(backup, options.timeoutMs)
  return {
    begin: ({ pod, volumes }, signal) => begin(pod, volumes, { ...options, moves, signal }),
    async ended({ namespace, name }, signal) {
      const chosen = ({ spec }: PodVolumeBackup) => spec.pod.namespace === namespace && spec.pod.name === name
      await moves.ended({ deadline, chosen }, signal)
    },
    async finish(signal) {
      if (!(await moves.ended({ deadline }, signal))) {
        log.error({}, 'timed out waiting for all PodVolumeBackups to complete')
        await moves.cancel(signal)
      }
      const podVolumeBackups = moves.list()
      for (const { metadata, status } of podVolumeBackups) tellOfFailure(metadata.name, status, log)
      return {
        podVolumeBackups: podVolumeBackups.map(withoutFinalizers),
        volumeInfo: podVolumeBackups.map(volumeInfoOfBackup),
      }
    },
  }
}

/** Made from the backup's file in another cluster, it could not be deleted there: nobody takes finalizers off for a node of this one. */
function withoutFinalizers({ metadata, ...rest }: PodVolumeBackup): PodVolumeBackup {
  const { finalizers: _, ...others } = metadata
  return { ...rest, metadata: others }
}

/** Where the time that all pod volumes of a backup may take is said otherwise. */
function timeoutOf({ metadata }: Backup, usual: number): number {
  try {
    return durationMilliseconds(metadata.annotations?.[annotationNames.podVolumeTimeout]) ?? usual
  } catch {
    return usual
  }
}

function tellOfFailure(name: string | undefined, status: PodVolumeBackup['status'], log: Logger): void {
  if (status?.phase === 'Completed') return
  const fields = { podVolumeBackup: name, error: status?.message ?? '' }
  log.error(fields, status?.phase === 'Canceled' ? 'pod volume backup canceled' : 'pod volume backup failed')
}

interface BeginScope extends PodVolumeBackupsOptions {
  moves: MovesOf<PodVolumeBackup>
  signal: AbortSignal
}

async function begin(
  pod: BackedUpPod,
  volumes: readonly string[],
  scope: BeginScope,
): Promise<PodVolumesBegun> {
  const { backup, namespace, signal } = scope
  const node = pod.spec?.nodeName ?? ''
  const nothing = (reason: string) => ({
    begun: [],
    skipped: volumes.map(volume => ({ volume, reason })),
    errors: [],
  })
  if (pod.status?.phase !== 'Running')
    return nothing(`the pod is not running, but ${pod.status?.phase ?? 'in no phase'}`)
  const missing = await noNodeAgentOn(node, scope)
  if (missing !== undefined) return { ...nothing(missing), errors: [new Error(missing)] }
  try {
    const key = {
      volumeNamespace: pod.metadata.namespace ?? '',
      backupStorageLocation: backup.spec.storageLocation ?? '',
      repositoryType: 'kopia',
    }
    await ensureRepository(key, { ...scope, namespace, timeoutMs: scope.resourceTimeoutMs })
  } catch (error) {
    signal.throwIfAborted()
    const failure = error instanceof Error ? error : new Error(String(error))
    return { ...nothing(failure.message), errors: [failure] }
  }
  const results = {
    begun: [] as string[],
    skipped: [] as { volume: string; reason: string }[],
    errors: [] as Error[],
  }
  for (const volume of volumes) await beginVolume({ pod, node, volume }, results, scope)
  return results
}

interface BeginResults {
  begun: string[]
  skipped: { volume: string; reason: string }[]
  errors: Error[]
}

async function beginVolume(
  { pod, node, volume }: { pod: BackedUpPod; node: string; volume: string },
  { begun, skipped, errors }: BeginResults,
  { backup, client, moves, signal }: BeginScope,
): Promise<void> {
  const why = notMounted(pod, volume)
  if (why !== undefined) return void skipped.push({ volume, reason: why })
  try {
    const claim = await claimBehind(pod, volume, { client, signal })
    if (claim !== undefined && (await isOnHostPath(claim, { client, signal }))) {
      return void skipped.push({ volume, reason: hostPathReason(pod, volume) })
    }
    await moves.begin(newPodVolumeBackup({ backup, pod, node, volume, claim }), signal)
    begun.push(volume)
  } catch (error) {
    signal.throwIfAborted()
    errors.push(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Why a volume has no folder on the node that could be read; undefined when it has one. */
function notMounted({ metadata, spec }: BackedUpPod, volume: string): string | undefined {
  const of = `volume ${volume} declared in pod ${metadata.namespace}/${metadata.name}`
  const containers = spec?.containers ?? []
  if (containers.some(({ volumeDevices = [] }) => volumeDevices.some(({ name }) => name === volume))) {
    return `${of} is a block volume. Block volumes are not supported for fs backup, skipping`
  }
  if (containers.some(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === volume)))
    return undefined
  return `${of} is not mounted by any container, skipping`
}

interface ClaimBehind {
  readonly name: string
  readonly uid: string
  readonly volumeName: string | undefined
}

async function claimBehind(
  { metadata, spec }: BackedUpPod,
  volume: string,
  { client, signal }: Pick<BeginScope, 'client' | 'signal'>,
): Promise<ClaimBehind | undefined> {
  const name = spec?.volumes?.find(candidate => candidate.name === volume)?.persistentVolumeClaim?.claimName
  if (name === undefined) return undefined
  const claim = await client
    .resource(ClaimKind, metadata.namespace)
    .get(name, { signal })
    .catch(unlessNotFound)
  if (claim === undefined)
    throw new Error(`the claim ${metadata.namespace}/${name} of the volume ${volume} does not exist`)
  return { name, uid: claim.metadata.uid ?? '', volumeName: claim.spec?.volumeName }
}

/** The kubelet mounts such a volume nowhere: it is a folder of the node. */
async function isOnHostPath(
  { volumeName }: ClaimBehind,
  { client, signal }: Pick<BeginScope, 'client' | 'signal'>,
): Promise<boolean> {
  if (!volumeName) return false
  const volume = await client.resource(VolumeKind).get(volumeName, { signal }).catch(unlessNotFound)
  return (volume?.spec?.hostPath ?? undefined) !== undefined
}

function hostPathReason({ metadata }: BackedUpPod, volume: string): string {
  return `volume ${volume} in pod ${metadata.namespace}/${metadata.name} is a hostPath volume, which fs backup does not support, skipping`
}

/** What the volume info says of the backup of a pod volume; the persistent volume, if there is one, is added by who knows it. */
export function volumeInfoOfBackup({ metadata, spec, status }: PodVolumeBackup): VolumeInfo {
  const claim = metadata.annotations?.[annotationNames.pvcName]
  const size = status?.progress?.totalBytes ?? 0
  return {
    backupMethod: 'PodVolumeBackup',
    snapshotDataMoved: false,
    preserveLocalSnapshot: false,
    skipped: false,
    ...(claim && { pvcName: claim, pvcNamespace: spec.pod.namespace ?? '' }),
    ...(status?.startTimestamp && { startTimestamp: status.startTimestamp }),
    ...(status?.completionTimestamp && { completionTimestamp: status.completionTimestamp }),
    result: status?.phase === 'Completed' ? 'succeeded' : 'failed',
    pvbInfo: {
      ...(status?.snapshotID && { snapshotHandle: status.snapshotID }),
      ...(size > 0 && { size }),
      ...(status?.incrementalBytes && { incrementalSize: status.incrementalBytes }),
      uploaderType: spec.uploaderType,
      volumeName: spec.volume,
      podName: spec.pod.name,
      podNamespace: spec.pod.namespace,
      nodeName: spec.node,
      Phase: status?.phase,
    },
  }
}
