import { annotationNames, type PodVolumeBackup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import type { BackedUpVolumes } from './volume-restore.ts'

interface VolumeSnapshot extends ActionItem {
  spec?: { source?: { persistentVolumeClaimName?: string } }
}

/** Something in a namespace. */
interface Named {
  namespace?: string | undefined
  name?: string | undefined
}

/** What a backup has of volumes, by volume, claim and pod. */
export class BackedUpIndex {
  readonly #infos: ReadonlyMap<string, VolumeInfo>
  readonly #snapshots: ReadonlyMap<string, NativeSnapshot>
  /** The pod through which the files of a claim were read, by the claim. */
  readonly #podsOfClaims = new Map<string, string>()
  readonly #claimsOfCsiSnapshots = new Set<string>()
  readonly #podVolumeBackups: ReadonlyMap<string, readonly PodVolumeBackup[]>

  constructor({ volumeInfo, snapshots, csiSnapshots, podVolumeBackups }: BackedUpVolumes) {
    this.#infos = new Map(volumeInfo.map(info => [info.pvName ?? '', info]))
    this.#snapshots = new Map(snapshots.map(each => [each.spec.persistentVolumeName, each]))
    for (const { spec, metadata, status } of podVolumeBackups) {
      if (status?.phase !== 'Completed' || !status.snapshotID) continue
      const name = metadata.annotations?.[annotationNames.pvcName]
      this.#podsOfClaims.set(keyOf({ namespace: spec.pod.namespace, name }), spec.pod.name ?? '')
    }
    for (const { metadata, spec } of csiSnapshots as readonly VolumeSnapshot[]) {
      const name = spec?.source?.persistentVolumeClaimName
      if (name !== undefined) this.#claimsOfCsiSnapshots.add(keyOf({ namespace: metadata.namespace, name }))
    }
    const usable = podVolumeBackups.filter(({ status }) => status?.snapshotID)
    this.#podVolumeBackups = Map.groupBy(usable, ({ spec }) => keyOf(spec.pod))
  }

  infoOf(volume: string): VolumeInfo | undefined {
    return this.#infos.get(volume)
  }

  snapshotOf(volume: string): NativeSnapshot | undefined {
    return this.#snapshots.get(volume)
  }

  /** Whether the files of a claim's volume are in the backup. */
  hasPodVolumeBackup(claim: Named): boolean {
    return this.#podsOfClaims.has(keyOf(claim))
  }

  /** The name of the pod that waits for the files of a claim's volume, which are restored through it. */
  podOfClaim(claim: Named): string | undefined {
    return this.#podsOfClaims.get(keyOf(claim))
  }

  /** Whether an old backup lists a CSI snapshot of a claim. */
  hasCsiSnapshot(claim: Named): boolean {
    return this.#claimsOfCsiSnapshots.has(keyOf(claim))
  }

  /** Backups of a pod's volumes that have something in them. */
  podVolumeBackupsOf(pod: Named): readonly PodVolumeBackup[] {
    return this.#podVolumeBackups.get(keyOf(pod)) ?? []
  }
}

function keyOf({ namespace, name }: Named): string {
  return `${namespace ?? ''}/${name ?? ''}`
}
