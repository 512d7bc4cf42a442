import { annotationNames, type Backup, type PodVolumeBackup, type Restore } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { type GroupResource, groupResource } from '../../item/item.ts'
import { messageOf } from '../../item/item-error.ts'
import { claimType, namespaceType, volumeType } from '../items/core-types.ts'
import { RestoreItemError } from '../items/restore-item-error.ts'
import type { RestoreReport } from '../items/restore-report.ts'
import { throwIfOver } from '../items/throw-if-over.ts'
import type { RestoreScope } from '../scope/restore-scope.ts'
import type { RestoreSink } from '../sink/sink.ts'
import { BackedUpIndex } from './backed-up-index.ts'
import { lastingOf, rebindClaim, resetBinding, type VolumeNames } from './binding.ts'
import { csiRestoreInfo, snapshotSourceOf } from './csi-restore-info.ts'
import { decideVolume, type PersistentVolume } from './decide-volume.ts'
import { movedRestoreInfo, waitsForDownload } from './moved-restore-info.ts'
import type { BackedUpVolumes, RestoreVolumeInfo, VolumeRestore } from './volume-restore.ts'

export interface RestoreVolumesOptions {
  restore: Restore
  backup: Backup
  backedUp: BackedUpVolumes
  objects: BackedUpObjects
  volumes: VolumeRestore
  scope: RestoreScope
  sink: RestoreSink
  report: RestoreReport
  clock: Clock
  newUid(): string
  /** How long to wait for volumes that are being deleted, in milliseconds. */
  terminatingMs: number
}

const volumes: GroupResource = groupResource({ group: '', plural: 'persistentvolumes' })
const pollMs = 1_000

/** What restoring does about volumes and their data. */
export class RestoreVolumes {
  readonly #options: RestoreVolumesOptions
  readonly #index: BackedUpIndex
  readonly #provisioned = new Set<string>()
  readonly #renamed = new Map<string, string>()
  readonly #volumeInfo: RestoreVolumeInfo[] = []
  readonly #fromCsi: { namespace: string; name: string }[] = []
  readonly #downloading: string[] = []

  constructor(options: RestoreVolumesOptions) {
    this.#options = options
    this.#index = new BackedUpIndex(options.backedUp)
  }

  /** For actions: what pods are to wait for, and nothing else is restored into their volumes. */
  get podVolumeBackups(): readonly PodVolumeBackup[] {
    return this.#options.backedUp.podVolumeBackups
  }

  /** For claims: what has become of the volumes that they name. */
  get names(): VolumeNames {
    return { provisioned: this.#provisioned, renamed: this.#renamed }
  }

  /**
   * The PersistentVolume as it is to be created, or undefined when its claim gets a new one instead. Throws RestoreItemError when the
   * volume cannot be made from its snapshot.
   */
  async prepare(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume | undefined> {
    const name = volume.metadata.name ?? ''
    const claim = volume.spec?.claimRef ?? undefined
    const info = this.#index.infoOf(name)
    const decided = decideVolume({
      reclaimPolicy: volume.spec?.persistentVolumeReclaimPolicy,
      info,
      snapshot: this.#index.snapshotOf(name),
      podVolumeBackup: claim !== undefined && this.#index.hasPodVolumeBackup(claim),
      csiSnapshot: info === undefined && claim !== undefined && (await this.#hasCsiData(claim)),
    })
    switch (decided.step) {
      case 'from snapshot':
        return this.#fromSnapshot(volume, signal)
      case 'provision':
        this.#provisioned.add(name)
        this.#tellOfData(decided.data, volume)
        return undefined
      case 'as it was':
        this.#mapClaim(volume)
        resetBinding(volume)
        return volume
    }
  }

  /** Points a claim, where it is, to what its volume has become. */
  rebind(claim: ActionItem): void {
    rebindClaim(claim, this.names)
  }

  /** Why the volumes of a pod stay empty although the backup has their files; undefined when they do not. */
  missingPodData(pod: ActionItem, sourceNamespace: string): RestoreItemError | undefined {
    const { podVolumes } = this.#options.volumes
    const { name = '', namespace = '' } = pod.metadata
    const count = this.#index.podVolumeBackupsOf({ namespace: sourceNamespace, name }).length
    if (count === 0 || !('unavailable' in podVolumes)) return undefined
    return new RestoreItemError('VOLUME_EMPTY', podItem(pod), {
      message: `pods/${namespace}/${name}: the data of ${count} of its volumes are not restored: ${podVolumes.unavailable}`,
      hint: 'the volumes are empty; restore with a server that can',
    })
  }

  /**
   * Why a pod may find claims of its own without their files, or half of them: these are restored through another pod, the only one that
   * waits for them. Undefined when there are none.
   */
  sharedClaims(pod: ActionItem, sourceNamespace: string): RestoreItemError | undefined {
    if ('unavailable' in this.#options.volumes.podVolumes) return undefined
    const { name = '', namespace = '' } = pod.metadata
    const shared = claimsOf(pod).flatMap(claim => {
      const owner = this.#index.podOfClaim({ namespace: sourceNamespace, name: claim })
      return owner === undefined || owner === name ? [] : [`${claim} (pod ${owner})`]
    })
    if (shared.length === 0) return undefined
    return new RestoreItemError('VOLUME_SHARED', podItem(pod), {
      message: `pods/${namespace}/${name} may start before the files of its claims are there: another pod waits for those of ${shared.join(', ')}, through which they are restored`,
      hint: 'delete the pod when the restore has ended, so that it starts anew with all of its files',
    })
  }

  /** Takes note of a claim that was created. */
  claimRestored(claim: ActionItem): void {
    const { namespace = '', name = '' } = claim.metadata
    if (snapshotSourceOf(claim) !== undefined) this.#fromCsi.push({ namespace, name })
    if (waitsForDownload(claim)) this.#downloading.push(name)
  }

  /** Begins to restore the volumes of a pod that was created, if the backup has their files. */
  async podRestored(pod: ActionItem, sourceNamespace: string, signal: AbortSignal): Promise<void> {
    const { podVolumes } = this.#options.volumes
    const missing = this.missingPodData(pod, sourceNamespace)
    if (missing !== undefined) throw missing
    const { name = '' } = pod.metadata
    const podVolumeBackups = this.#index.podVolumeBackupsOf({ namespace: sourceNamespace, name })
    if (podVolumeBackups.length === 0 || 'unavailable' in podVolumes) return
    const { restore, backup } = this.#options
    await podVolumes.begin({ pod, sourceNamespace, podVolumeBackups, restore, backup }, signal)
  }

  /** Waits for the data of all pods. Failures are errors of the restore. */
  async finish(signal: AbortSignal): Promise<RestoreVolumeInfo[]> {
    const { volumes: ways, report } = this.#options
    const known = [...this.#volumeInfo, ...(await this.#csiVolumeInfo(signal))]
    if ('unavailable' in ways.podVolumes) return known
    const { errors, volumeInfo } = await ways.podVolumes.finish(signal)
    for (const error of errors)
      report.error({ place: 'restore', error, message: 'A pod volume is not restored' })
    return [...known, ...volumeInfo]
  }

  /** For backups from before there was volume info: what claims themselves tell. */
  async #hasCsiData(claim: { namespace?: string; name?: string }): Promise<boolean> {
    if (this.#index.hasCsiSnapshot(claim)) return true
    const { namespace = '', name = '' } = claim
    const id = { group: '', resource: 'persistentvolumeclaims', namespace, name }
    const annotations = (await this.#options.objects.read(id))?.metadata.annotations ?? {}
    return annotationNames.volumeSnapshotName in annotations || annotationNames.dataUploadName in annotations
  }

  async #csiVolumeInfo(signal: AbortSignal): Promise<RestoreVolumeInfo[]> {
    const infos: RestoreVolumeInfo[] = []
    for (const claim of this.#fromCsi) {
      const info = await csiRestoreInfo(claim, this.#options.sink, { signal })
      if (info !== undefined) infos.push(info)
    }
    const { restore, sink } = this.#options
    if (this.#downloading.length > 0 && sink.writes) {
      infos.push(...(await movedRestoreInfo(restore, sink, { signal })))
    }
    return infos
  }

  async #fromSnapshot(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    const oldName = volume.metadata.name ?? ''
    const isTaken = await this.#isTakenByOther(volume, signal)
    this.#mapClaim(volume)
    let made = volume
    if (isTaken || (await this.#isFree(oldName, signal))) {
      resetBinding(volume)
      made = await this.#makeVolume(volume, signal)
    }
    const madeName = made.metadata.name ?? ''
    if (!isTaken && madeName === oldName) return made
    const newName = madeName === oldName ? `velero-clone-${this.#options.newUid()}` : madeName
    this.#renamed.set(oldName, newName)
    for (const info of this.#volumeInfo) if (info.pvName === oldName) info.pvName = newName
    const annotations = { ...made.metadata.annotations, [annotationNames.originalPvName]: oldName }
    return { ...made, metadata: { ...made.metadata, name: newName, annotations } }
  }

  /** Whether the cluster has a volume of that name which belongs to the namespace that this one was mapped from. */
  async #isTakenByOther({ metadata, spec }: PersistentVolume, signal: AbortSignal): Promise<boolean> {
    const { restore, sink } = this.#options
    const mapping = restore.spec.namespaceMapping ?? {}
    if (!spec?.claimRef || !Object.hasOwn(mapping, spec.claimRef.namespace ?? '')) return false
    const target = { type: volumeType, namespace: '', name: metadata.name ?? '' }
    return (await sink.read(target, { signal })) !== undefined
  }

  /** Whether there is no volume of that name, once one that is being deleted is gone. */
  async #isFree(name: string, signal: AbortSignal): Promise<boolean> {
    const { clock, sink, terminatingMs } = this.#options
    const giveUp = clock.now() + terminatingMs
    for (;;) {
      const lasting = await this.#lasting(name, signal)
      if (lasting !== 'leaving') return lasting === 'absent'
      if (!sink.writes) return true
      if (clock.now() >= giveUp) {
        throw new RestoreItemError('ITEM_VOLUME_FAILED', volumeItem(name), {
          message: `error waiting on in-cluster persistentvolume ${name}: it is still being deleted after ${terminatingMs / 1000} s`,
          hint: 'see what holds it (kubectl describe pv), or restore again with a longer --terminating-resource-timeout',
        })
      }
      await clock.sleep(pollMs, signal)
    }
  }

  async #lasting(name: string, signal: AbortSignal): Promise<ReturnType<typeof lastingOf>> {
    const { sink } = this.#options
    const volume = await sink.read({ type: volumeType, namespace: '', name }, { signal })
    const ref = (volume as PersistentVolume | undefined)?.spec?.claimRef
    if (!ref) return lastingOf({ volume, claim: undefined, namespace: undefined })
    const namespace = ref.namespace ?? ''
    const claim = await sink.read({ type: claimType, namespace, name: ref.name ?? '' }, { signal })
    const place = await sink.read({ type: namespaceType, namespace: '', name: namespace }, { signal })
    return lastingOf({ volume, claim, namespace: place })
  }

  async #makeVolume(volume: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume> {
    const { restore, backup, sink } = this.#options
    const { snapshots } = this.#options.volumes
    const name = volume.metadata.name ?? ''
    const snapshot = this.#index.snapshotOf(name)
    if (restore.spec.restorePVs === false || snapshot === undefined) return volume
    if ('unavailable' in snapshots) {
      throw new RestoreItemError('ITEM_VOLUME_FAILED', volumeItem(name), {
        message: `error executing PVAction for persistentvolumes/${name}: ${snapshots.unavailable}`,
        hint: 'restore without volumes (--restore-volumes=false), or with a server that has the plugin',
      })
    }
    if (!sink.writes) return volume
    try {
      const made = await snapshots.restore({ volume, snapshot, backup }, signal)
      this.#volumeInfo.push(made.volumeInfo)
      return made.volume
    } catch (cause) {
      throwIfOver(cause, signal)
      throw new RestoreItemError('ITEM_VOLUME_FAILED', volumeItem(name), {
        message: `error executing PVAction for persistentvolumes/${name}: ${messageOf(cause)}`,
        hint: 'see the cause; the claim of the volume stays pending until it is restored',
        cause,
      })
    }
  }

  #mapClaim({ spec }: PersistentVolume): void {
    if (spec?.claimRef?.namespace === undefined) return
    spec.claimRef.namespace = this.#options.scope.targetNamespace(spec.claimRef.namespace)
  }

  /** A claim that gets an empty volume in place of its own is worth knowing of. */
  #tellOfData(data: 'pod volume backup' | 'CSI snapshot' | 'none', volume: PersistentVolume): void {
    const { report, volumes: ways, restore } = this.#options
    const name = volume.metadata.name ?? ''
    const claim = volume.spec?.claimRef
    const fate = claim
      ? `its claim ${claim.namespace}/${claim.name} gets a new, empty one`
      : 'it is not restored'
    const told = { place: { namespace: '' }, fields: { resource: volumes, name } }
    if (data === 'none') {
      const skipped = this.#index.infoOf(name)?.skippedReason
      const error = new RestoreItemError('VOLUME_EMPTY', volumeItem(name), {
        message: `persistentvolumes/${name}: the data of this volume are in no snapshot of the backup${skipped ? ` (${skipped.replace(/;\s*$/, '')})` : ''}: ${fate}`,
        hint: 'to have them in the next backup, enable snapshots or file system backup for it',
      })
      report.warn({ ...told, error, message: 'A volume is restored without its data' })
    } else if (data === 'CSI snapshot' && 'unavailable' in ways.csi && restore.spec.restorePVs !== false) {
      if (ways.csi.movedIsAvailable && this.#index.infoOf(name)?.snapshotDataMoved) return
      const error = new RestoreItemError('VOLUME_EMPTY', volumeItem(name), {
        message: `persistentvolumes/${name}: the data of this volume are not restored: ${ways.csi.unavailable}: ${fate}`,
        hint: 'restore with a server that can',
      })
      report.error({ ...told, error, message: 'A volume is restored without its data' })
    }
  }
}

function volumeItem(name: string): { groupResource: GroupResource; namespace: string; name: string } {
  return { groupResource: volumes, namespace: '', name }
}

function claimsOf(pod: ActionItem): string[] {
  const { volumes } = ((pod as { spec?: object }).spec ?? {}) as {
    volumes?: readonly { persistentVolumeClaim?: { claimName?: string } | null }[] | null
  }
  return (volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

function podItem({ metadata }: ActionItem): {
  groupResource: GroupResource
  namespace: string
  name: string
} {
  const { namespace = '', name = '' } = metadata
  return { groupResource: groupResource({ group: '', plural: 'pods' }), namespace, name }
}
