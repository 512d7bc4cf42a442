import {
  apiVersionOf,
  generateNameFor,
  isRestoreWaitState,
  labelNames,
  type PodVolumeBackup,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  type Restore,
  restoreWaitNames,
  validLabelValue,
} from '@lateen/api'
import { builtInKind, type KubeObject, type Logger, unlessNotFound } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { ensureRepository } from '../backup-repository/ensure-repository.ts'
import { MovesOf, type MovesPorts } from './moves-of.ts'
import { noNodeAgentOn } from './node-agent-on.ts'

/** A pod that was just created, with volumes of which there are backups. */
export interface PodWithBackups {
  readonly pod: ActionItem
  /** The namespace that it had. */
  readonly sourceNamespace: string
  readonly podVolumeBackups: readonly PodVolumeBackup[]
  readonly location: string
}

/** What the volume info of a restore says of a pod volume. */
export interface PodVolumeRestoreInfo {
  pvcName?: string
  pvcNamespace?: string
  pvName?: string
  restoreMethod: 'PodVolumeRestore'
  snapshotDataMoved: false
  pvrInfo: object
}

export interface PodVolumeRestoresOptions extends MovesPorts {
  restore: Restore
  log: Logger
  /** How long all of them may take. */
  timeoutMs: number
  /** How long to wait for a repository, and for a pod to get a node. */
  resourceTimeoutMs: number
}

/** The restores of pod volumes of one restore, which node agents make. */
export class PodVolumeRestoresOf {
  readonly #options: PodVolumeRestoresOptions
  readonly #moves: MovesOf<PodVolumeRestore>
  readonly #deadline: number
  readonly #errors: Error[] = []
  /** Names of claims, by the volumes of pods. */
  readonly #claims = new Map<string, string>()

  constructor(options: PodVolumeRestoresOptions) {
    const { restore, clock, timeoutMs } = options
    this.#options = options
    this.#moves = new MovesOf(
      PodVolumeRestoreKind,
      { label: 'restoreUid', uid: restore.metadata.uid ?? '' },
      options,
    )
    this.#deadline = clock.now() + timeoutMs
  }

  /**
   * Begins to restore the volumes of a pod, and does not wait for it. Throws KubeErrors and `RepositoryError`, and says so where the pod
   * does not wait for them: nobody would ever begin, for it has started on empty volumes.
   */
  async begin(request: PodWithBackups, signal: AbortSignal): Promise<void> {
    const { pod, sourceNamespace, podVolumeBackups, location } = request
    const restorable = podVolumeBackups.filter(hasData(pod))
    if (restorable.length > 0) requireWaiting(pod, restorable.length)
    const addresses = new Map<string, string>()
    for (const repositoryType of new Set(restorable.map(formatOf))) {
      const key = { volumeNamespace: sourceNamespace, backupStorageLocation: location, repositoryType }
      const timeoutMs = this.#options.resourceTimeoutMs
      const { spec } = await ensureRepository(key, { ...this.#options, timeoutMs, signal })
      addresses.set(repositoryType, spec.resticIdentifier ?? '')
    }
    for (const backup of restorable) {
      const claimUid = await this.#claimUid(pod, backup.spec.volume, signal)
      const repoIdentifier = addresses.get(formatOf(backup)) ?? ''
      const object = newPodVolumeRestore(
        { ...request, backup, claimUid, repoIdentifier },
        this.#options.restore,
      )
      await this.#moves.begin(object, signal)
    }
  }

  /** Waits for all that was begun, and tells what failed. */
  async finish(
    signal: AbortSignal,
  ): Promise<{ errors: readonly Error[]; volumeInfo: PodVolumeRestoreInfo[] }> {
    if (!(await this.#ended(signal))) {
      this.#errors.push(new Error('timed out waiting for all PodVolumeRestores to complete'))
      await this.#moves.cancel(signal)
    }
    const moves = this.#moves.list()
    for (const { status } of moves) {
      if (status?.phase === 'Failed')
        this.#errors.push(new Error(`pod volume restore failed: ${status.message}`))
      if (status?.phase === 'Canceled')
        this.#errors.push(new Error(`pod volume restore canceled: ${status.message ?? ''}`))
    }
    const volumeInfo: PodVolumeRestoreInfo[] = []
    for (const move of moves) volumeInfo.push({ ...(await this.#claimOf(move, signal)), ...infoOf(move) })
    return { errors: this.#errors, volumeInfo }
  }

  /** Nobody restores on a node without a node agent: that is an error as soon as a pod is there, and not after hours. */
  async #ended(signal: AbortSignal): Promise<boolean> {
    const { clock, client, namespace, resourceTimeoutMs } = this.#options
    const checkAt = Math.min(this.#deadline, clock.now() + Math.min(60_000, resourceTimeoutMs))
    if (await this.#moves.ended({ deadline: checkAt }, signal)) return true
    for (const { spec, status } of this.#moves.list()) {
      if (status?.phase && status.phase !== 'New') continue
      const node = await nodeOfPod(spec.pod, { client, signal })
      if (!node) continue
      const missing = await noNodeAgentOn(node, { client, namespace, signal })
      if (missing === undefined) continue
      this.#errors.push(new Error(`node-agent pod is not running in node ${node}: ${missing}`))
      await this.#moves.cancel(signal)
      return true
    }
    return this.#moves.ended({ deadline: this.#deadline }, signal)
  }

  async #claimUid(pod: ActionItem, volume: string, signal: AbortSignal): Promise<string | undefined> {
    const { volumes = [] } = (pod as PodItem).spec ?? {}
    const name = volumes.find(candidate => candidate.name === volume)?.persistentVolumeClaim?.claimName
    if (name === undefined) return undefined
    this.#claims.set(volumeKey(pod.metadata, volume), name)
    return (await this.#claim(name, pod.metadata.namespace, signal))?.metadata.uid
  }

  #claim(name: string, namespace: string | undefined, signal: AbortSignal): Promise<Claim | undefined> {
    return this.#options.client.resource(ClaimKind, namespace).get(name, { signal }).catch(unlessNotFound)
  }

  /** The claim behind a volume, and the persistent volume that it has by now. */
  async #claimOf(
    { spec }: PodVolumeRestore,
    signal: AbortSignal,
  ): Promise<Pick<PodVolumeRestoreInfo, 'pvcName' | 'pvcNamespace' | 'pvName'>> {
    const name = this.#claims.get(volumeKey(spec.pod, spec.volume))
    if (name === undefined) return {}
    const { namespace = '' } = spec.pod
    const volumeName = (await this.#claim(name, namespace, signal))?.spec?.volumeName
    return { pvcName: name, pvcNamespace: namespace, ...(volumeName && { pvName: volumeName }) }
  }
}

function volumeKey(
  { namespace = '', name = '' }: { namespace?: string; name?: string },
  volume: string,
): string {
  return `${namespace}/${name}/${volume}`
}

interface Claim extends KubeObject {
  spec?: { volumeName?: string }
}

interface PodItem extends ActionItem {
  spec?: {
    volumes?: readonly {
      name: string
      persistentVolumeClaim?: { claimName?: string } | null
      emptyDir?: object | null
    }[]
    initContainers?: readonly { name: string }[]
  }
}

function requireWaiting(pod: ActionItem, count: number): void {
  if ((pod as PodItem).spec?.initContainers?.some(({ name }) => name === restoreWaitNames.container)) return
  const { namespace, name } = pod.metadata
  throw new Error(
    `the data of ${count} volumes of pods/${namespace}/${name} are not restored: the pod was created without the init container ${restoreWaitNames.container}; see what took it away (a plugin, a resource modifier, an admission webhook), delete the pod and restore again`,
  )
}

const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')

interface ScheduledPod extends KubeObject {
  spec?: { nodeName?: string }
}

const PodKind = builtInKind<ScheduledPod>('Pod')

async function nodeOfPod(
  { namespace, name = '' }: { namespace?: string; name?: string },
  { client, signal }: { client: MovesPorts['client']; signal: AbortSignal },
): Promise<string | undefined> {
  return (await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound))?.spec
    ?.nodeName
}

/** Whether there is something to restore into a volume that the pod has. */
export function hasData(pod: ActionItem): (backup: PodVolumeBackup) => boolean {
  const volumes = (pod as PodItem).spec?.volumes ?? []
  // Backups by Velero have that volume too.
  const names = volumes.filter(volume => !isRestoreWaitState(volume)).map(({ name }) => name)
  return ({ spec, status }) =>
    status?.phase === 'Completed' && Boolean(status.snapshotID) && names.includes(spec.volume)
}

/** The format that a volume's data is in, which decides who restores it. Backups that say nothing are older than any other format. */
function formatOf({ spec }: PodVolumeBackup): 'kopia' | 'restic' {
  return spec.uploaderType === 'kopia' ? 'kopia' : 'restic'
}

interface NewRestore extends PodWithBackups {
  backup: PodVolumeBackup
  claimUid: string | undefined
  repoIdentifier: string
}

/** The object that has a node agent restore a volume. */
function newPodVolumeRestore(request: NewRestore, restore: Restore): PodVolumeRestore {
  const { pod, backup, claimUid, location, sourceNamespace, repoIdentifier } = request
  const { name = '', namespace = '', uid = '' } = restore.metadata
  const { name: podName = '', namespace: podNamespace = '', uid: podUid = '' } = pod.metadata
  const size = backup.status?.progress?.totalBytes ?? 0
  const settings = settingsOf(restore)
  return {
    apiVersion: apiVersionOf(PodVolumeRestoreKind),
    kind: PodVolumeRestoreKind.kind,
    metadata: {
      generateName: generateNameFor(name),
      namespace,
      ownerReferences: [{ apiVersion: restore.apiVersion, kind: restore.kind, name, uid, controller: true }],
      labels: {
        [labelNames.restoreName]: validLabelValue(name),
        [labelNames.restoreUid]: uid,
        [labelNames.podUid]: podUid,
        ...(claimUid !== undefined && { [labelNames.pvcUid]: claimUid }),
      },
    },
    spec: {
      pod: { kind: 'Pod', namespace: podNamespace, name: podName, uid: podUid },
      volume: backup.spec.volume,
      snapshotID: backup.status?.snapshotID ?? '',
      ...(size > 0 && { snapshotSize: size }),
      backupStorageLocation: location,
      repoIdentifier: formatOf(backup) === 'kopia' ? '' : repoIdentifier || backup.spec.repoIdentifier,
      uploaderType: formatOf(backup),
      sourceNamespace,
      ...(settings && { uploaderSettings: settings }),
    },
  }
}

/** The settings of movers that a restore asks for, by Velero's names. */
export function settingsOf({ spec }: Restore): Record<string, string> | undefined {
  const { writeSparseFiles, parallelFilesDownload } = spec.uploaderConfig ?? {}
  const settings = {
    ...(writeSparseFiles && { WriteSparseFiles: 'true' }),
    ...(parallelFilesDownload !== undefined &&
      parallelFilesDownload > 0 && { ParallelFilesDownload: String(parallelFilesDownload) }),
  }
  return Object.keys(settings).length === 0 ? undefined : settings
}

function infoOf({ spec, status }: PodVolumeRestore): PodVolumeRestoreInfo {
  return {
    restoreMethod: 'PodVolumeRestore',
    snapshotDataMoved: false,
    pvrInfo: {
      snapshotHandle: spec.snapshotID,
      ...(status?.progress?.totalBytes && { size: status.progress.totalBytes }),
      uploaderType: spec.uploaderType,
      volumeName: spec.volume,
      podName: spec.pod.name,
      podNamespace: spec.pod.namespace,
      Phase: status?.phase,
    },
  }
}
