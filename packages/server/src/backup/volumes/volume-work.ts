import type { Backup, PodVolumeBackup } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { VolumeActionType } from '../../filters/policies/volume-policy.ts'
import type { GroupResource } from '../../item/item.ts'
import { ItemError, messageOf } from '../../item/item-error.ts'
import { type BackupOperation, newOperation } from '../../operations/backup-operation.ts'
import { type BegunOperations, JournalError } from '../../operations/operation-journal.ts'
import type { ClaimSnapshot } from '../../volumes/csi-volume-info.ts'
import { failedSnapshot } from '../../volumes/failed-snapshot.ts'
import { type SkippedVolume, SkippedVolumes } from '../../volumes/skipped-volumes.ts'
import type { NativeSnapshot, NativeSnapshots, VolumeBackup } from '../../volumes/volume-backup.ts'
import {
  type StoredVolume,
  skippedVolumeInfos,
  storedVolumeOf,
  type VolumeInfo,
} from '../../volumes/volume-info.ts'
import type { ItemSource } from '../items/item-source.ts'
import type { ClaimPods } from './claim-pods.ts'
import { ClaimSnapshots, type SnapshotCut } from './claim-snapshots.ts'
import {
  decideByAnnotation,
  decidePodVolume,
  decideSnapshot,
  type PodVolume,
  type VolumeDecision,
  type VolumeSettings,
} from './decide-volume.ts'

/** A volume, as far as volume policies look at it. */
export interface PolicyVolume {
  persistentVolume?: ActionItem | undefined
  podVolume?: PodVolume | undefined
  claim?: ActionItem | undefined
}

/** The action of the first volume policy that matches. */
export type MatchVolumePolicy = (volume: PolicyVolume) => VolumeActionType | undefined

export interface VolumeWorkOptions {
  backup: Backup
  volumes: VolumeBackup
  settings: VolumeSettings
  /** Absent: no volume policies. */
  matchPolicy: MatchVolumePolicy | undefined
  source: ItemSource
  claimPods: ClaimPods
  clock: Clock
  /** Where snapshots are noted. */
  operations: Pick<BegunOperations<BackupOperation>, 'add'>
  /** Why CSI volumes are not left to an action on their claims; undefined when they are. */
  csiUnavailable: string | undefined
  /** Absent: snapshots of claims are not waited for. */
  snapshotCut?: SnapshotCut | undefined
}

/** What the backup holds of volumes. */
export interface VolumeResults {
  volumeInfo: VolumeInfo[]
  volumeSnapshots: NativeSnapshot[]
  podVolumeBackups: PodVolumeBackup[]
  skipped: SkippedVolume[]
}

interface Pod extends ActionItem {
  spec?: { volumes?: PodVolume[] | null }
}

interface Claim extends ActionItem {
  spec?: { volumeName?: string }
}

interface Volume extends ActionItem {
  spec?: { csi?: unknown; claimRef?: { namespace?: string; name?: string } | null }
}

/** The volumes of one backup: who backs up their data, and why nobody does. */
export class VolumeWork {
  readonly #options: VolumeWorkOptions
  readonly #skipped = new SkippedVolumes()
  readonly #stored = new Map<string, StoredVolume>()
  /** Claims that a pod has planned to take, so that no second one does. */
  readonly #reservedClaims = new Set<string>()
  /** Claims whose data are backed up through a pod. */
  readonly #takenClaims = new Set<string>()
  readonly #claimReasons = new Map<string, string>()
  readonly #snapshots: NativeSnapshot[] = []
  readonly #infos: VolumeInfo[] = []
  readonly #claimSnapshots: ClaimSnapshots

  constructor(options: VolumeWorkOptions) {
    this.#options = options
    this.#claimSnapshots = new ClaimSnapshots(options.snapshotCut)
  }

  /** The volumes of a pod that are to be backed up from the file system. Throws ItemError. */
  async planPod(pod: ActionItem, signal: AbortSignal): Promise<string[]> {
    const { settings, volumes } = this.#options
    const planned: string[] = []
    for (const volume of (pod as Pod).spec?.volumes ?? []) {
      const policy = await this.#policyOfPodVolume(volume, pod, signal)
      const facts = { volume, annotations: pod.metadata.annotations, policy }
      const { take, reason } = decidePodVolume(facts, settings)
      const claim = claimKey(pod, volume)
      if (!take) this.#refuse(claim, `${reason} (pod ${pod.metadata.name})`)
      else if ('unavailable' in volumes.podVolumes) this.#refuse(claim, volumes.podVolumes.unavailable)
      else if (claim === undefined || this.#reserve(claim)) planned.push(volume.name)
    }
    return planned
  }

  /** Begins the backup of the planned volumes. Throws ItemError `ITEM_VOLUME_FAILED`. */
  async backUpPod(pod: ActionItem, planned: readonly string[], signal: AbortSignal): Promise<void> {
    const { podVolumes } = this.#options.volumes
    if (planned.length === 0 || 'unavailable' in podVolumes) return
    const request = { pod, volumes: planned, backup: this.#options.backup }
    const { begun, skipped, errors } = await podVolumes.begin(request, signal)
    for (const name of begun) {
      const claim = claimOf(pod, name)
      if (claim !== undefined) this.#takenClaims.add(claim)
    }
    for (const { volume, reason } of skipped) this.#refuse(claimOf(pod, volume), reason)
    if (errors.length > 0) throw volumeError('pods', pod, errors)
  }

  /** Lets other pods take what this one planned and did not begin, for whatever reason. */
  releasePod(pod: ActionItem, planned: readonly string[]): void {
    for (const name of planned) this.#reservedClaims.delete(claimOf(pod, name) ?? '')
  }

  /** Waits until the volumes of a pod are backed up, well or not. */
  async podEnded(pod: { namespace: string; name: string }, signal: AbortSignal): Promise<void> {
    const { podVolumes } = this.#options.volumes
    if (!('unavailable' in podVolumes)) await podVolumes.ended(pod, signal)
  }

  /** Records a persistent volume and takes its snapshot where one is wanted. Throws ItemError. */
  async backUpVolume(volume: ActionItem, signal: AbortSignal): Promise<void> {
    const { backup, volumes, csiUnavailable } = this.#options
    const name = volume.metadata.name ?? ''
    this.#stored.set(name, storedVolumeOf(volume))
    const { take, reason } = await this.#decideVolume(volume, signal)
    if (!take) return this.#skipped.skip(name, 'volumeSnapshot', reason)
    if ((volume as Volume).spec?.csi) {
      if (csiUnavailable !== undefined) this.#skipped.skip(name, 'csiSnapshot', csiUnavailable)
      else return
    }
    if ('unavailable' in volumes.snapshots) {
      return this.#skipped.skip(name, 'volumeSnapshot', volumes.snapshots.unavailable)
    }
    const taken = await volumes.snapshots.take({ volume, backup }, signal)
    if ('skipped' in taken) return this.#skipped.skip(name, 'volumeSnapshot', taken.skipped)
    if (taken.snapshot === undefined) throw volumeError('persistentvolumes', volume, [taken.error])
    this.#skipped.take(name)
    const lost =
      taken.error === undefined ? await this.#noteOperation(taken, volumes.snapshots, signal) : undefined
    const { snapshot, volumeInfo } = lost === undefined ? taken : failedSnapshot(taken)
    this.#snapshots.push(snapshot)
    this.#infos.push(volumeInfo)
    const error = taken.error ?? lost
    if (error !== undefined) throw volumeError('persistentvolumes', volume, [error])
  }

  /** A snapshot is an operation of the backup; one that cannot be noted is stopped, and the reason returned. */
  async #noteOperation(
    { snapshot, provider }: { snapshot: NativeSnapshot; provider: string },
    snapshots: NativeSnapshots,
    signal: AbortSignal,
  ): Promise<Error | undefined> {
    const { backup, operations, clock } = this.#options
    const { location, persistentVolumeName: name } = snapshot.spec
    const begun = {
      backup,
      action: provider,
      item: { group: '', resource: 'persistentvolumes', namespace: '', name },
      operationId: snapshot.status.providerSnapshotID ?? '',
      volumeSnapshotLocation: location,
      now: clock.now(),
    }
    try {
      await operations.add(newOperation(begun))
      return undefined
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
      await snapshots.cancel(snapshot, signal)
      return error
    }
  }

  /** Whether an action may take a snapshot of a claim's volume. Throws ItemError. */
  async decideClaim(claim: ActionItem, signal: AbortSignal): Promise<VolumeDecision> {
    const name = (claim as Claim).spec?.volumeName ?? ''
    const volume = name === '' ? undefined : await this.#readVolume(name, signal)
    const policy = this.#options.matchPolicy?.({ persistentVolume: volume, claim })
    const takenThroughPod = await this.#podTaking(policy, claim.metadata, signal)
    return decideSnapshot({ policy, takenThroughPod }, this.#options.settings)
  }

  /** The data of a claim's volume are backed up by an action, and if it said so by a snapshot. */
  claimTaken(claim: ActionItem, snapshot?: ClaimSnapshot): void {
    this.#skipped.take((claim as Claim).spec?.volumeName ?? '')
    if (snapshot !== undefined) this.#claimSnapshots.take(claim, snapshot)
  }

  /** Waits until the snapshot of a claim cannot change any more, if one is taken. Throws what says why that is not so. */
  claimCut(claim: { namespace: string; name: string }, signal: AbortSignal): Promise<void> {
    return this.#claimSnapshots.cut(claim, signal)
  }

  /** Records why the volume of a PersistentVolume or a claim is not backed up; other objects have none. */
  leaveOut(groupResource: GroupResource, object: ActionItem, why: LeftOut): void {
    const names: Record<string, string | undefined> = {
      persistentvolumes: object.metadata.name,
      persistentvolumeclaims: (object as Claim).spec?.volumeName,
    }
    this.#skipped.skip(names[groupResource] ?? '', why.approach, why.reason)
  }

  /** Waits for all that was begun. */
  async finish(signal: AbortSignal): Promise<VolumeResults> {
    const { podVolumes } = this.#options.volumes
    const done = 'unavailable' in podVolumes ? undefined : await podVolumes.finish(signal)
    for (const { name, claim } of this.#stored.values()) {
      const key = `${claim?.namespace}/${claim?.name}`
      const reason = this.#claimReasons.get(key)
      if (this.#takenClaims.has(key)) this.#skipped.take(name)
      else if (reason !== undefined) this.#skipped.skip(name, 'podvolume', reason)
    }
    const skipped = this.#skipped.list()
    return {
      volumeInfo: [
        ...skippedVolumeInfos(skipped, this.#stored),
        ...this.#infos,
        ...this.#claimSnapshots.infos(this.#stored),
        ...(done?.volumeInfo ?? []).map(info => this.#withVolume(info)),
      ],
      volumeSnapshots: this.#snapshots,
      podVolumeBackups: done?.podVolumeBackups ?? [],
      skipped,
    }
  }

  /** What is known of the persistent volume behind a claim. */
  #withVolume(info: VolumeInfo): VolumeInfo {
    const volume = [...this.#stored.values()].find(
      ({ claim }) =>
        claim !== undefined && claim.name === info.pvcName && claim.namespace === info.pvcNamespace,
    )
    if (volume === undefined) return info
    return {
      ...info,
      pvName: volume.name,
      pvInfo: { reclaimPolicy: volume.reclaimPolicy, labels: volume.labels },
    }
  }

  #refuse(claim: string | undefined, reason: string): void {
    if (claim !== undefined) this.#claimReasons.set(claim, reason)
  }

  #reserve(claim: string): boolean {
    if (this.#takenClaims.has(claim) || this.#reservedClaims.has(claim)) return false
    this.#reservedClaims.add(claim)
    return true
  }

  async #policyOfPodVolume(
    podVolume: PodVolume,
    pod: ActionItem,
    signal: AbortSignal,
  ): Promise<VolumeActionType | undefined> {
    const { matchPolicy, source } = this.#options
    if (matchPolicy === undefined) return undefined
    const claimName = podVolume.persistentVolumeClaim?.claimName
    if (!claimName) return matchPolicy({ podVolume })
    const namespace = pod.metadata.namespace ?? ''
    const id = { group: '', resource: 'persistentvolumeclaims', namespace, name: claimName }
    const claim = (await source.read(await source.locate(id), signal))[0]?.object
    const volumeName = (claim as Claim | undefined)?.spec?.volumeName ?? ''
    const persistentVolume = volumeName === '' ? undefined : await this.#readVolume(volumeName, signal)
    return matchPolicy(persistentVolume === undefined ? { podVolume, claim } : { persistentVolume, claim })
  }

  async #decideVolume(volume: ActionItem, signal: AbortSignal): Promise<VolumeDecision> {
    const { matchPolicy, settings, source } = this.#options
    const { claimRef } = (volume as Volume).spec ?? {}
    const claimName = claimRef
      ? { namespace: claimRef.namespace ?? '', name: claimRef.name ?? '' }
      : undefined
    let claim: ActionItem | undefined
    if (matchPolicy !== undefined && claimName !== undefined) {
      const ref = await source.locate({ group: '', resource: 'persistentvolumeclaims', ...claimName })
      claim = (await source.read(ref, signal))[0]?.object
    }
    const policy = matchPolicy?.({ persistentVolume: volume, claim })
    const takenThroughPod = await this.#podTaking(policy, claimName, signal)
    return decideSnapshot({ policy, takenThroughPod }, settings)
  }

  /** The pod whose annotations have a claim backed up from the file system. Asked only where it decides something. */
  async #podTaking(
    policy: VolumeActionType | undefined,
    claim: { namespace?: string; name?: string } | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { volumes, settings, claimPods } = this.#options
    if (policy !== undefined || claim?.name === undefined || 'unavailable' in volumes.podVolumes)
      return undefined
    const { namespace = '', name } = claim
    try {
      const pods = await claimPods.using({ namespace, name }, signal)
      return pods.find(({ metadata, spec }) =>
        (spec?.volumes ?? []).some(
          volume =>
            volume.persistentVolumeClaim?.claimName === name &&
            decideByAnnotation({ volume, annotations: metadata.annotations }, settings).take,
        ),
      )?.metadata.name
    } catch (cause) {
      signal.throwIfAborted()
      throw volumeError('persistentvolumeclaims', { metadata: claim }, [cause])
    }
  }

  async #readVolume(name: string, signal: AbortSignal): Promise<ActionItem | undefined> {
    const { source } = this.#options
    const ref = await source.locate({ group: '', resource: 'persistentvolumes', namespace: '', name })
    return (await source.read(ref, signal))[0]?.object
  }
}

/** Why, and for which way of backing up. */
export interface LeftOut {
  approach: 'podvolume' | 'csiSnapshot' | 'volumeSnapshot' | 'any'
  reason: string
}

function claimKey(pod: ActionItem, volume: PodVolume | undefined): string | undefined {
  const claim = volume?.persistentVolumeClaim?.claimName
  return claim ? `${pod.metadata.namespace ?? ''}/${claim}` : undefined
}

/** The claim behind a volume of a pod. */
function claimOf(pod: ActionItem, volumeName: string): string | undefined {
  return claimKey(
    pod,
    (pod as Pod).spec?.volumes?.find(({ name }) => name === volumeName),
  )
}

function volumeError(
  resource: string,
  { metadata }: Pick<ActionItem, 'metadata'>,
  causes: readonly unknown[],
): ItemError {
  const { namespace = '', name = '' } = metadata
  return new ItemError(
    'ITEM_VOLUME_FAILED',
    { groupResource: resource as GroupResource, namespace, name },
    {
      reason: `its data cannot be backed up: ${causes.map(messageOf).join('; ')}`,
      hint: 'see the log for the volume, or leave the volume out with a volume policy',
      cause: causes.length === 1 ? causes[0] : new AggregateError(causes),
    },
  )
}
