import { annotationNames, type Backup } from '@lateen/api'
import type { ActionItem, BackupItemResult } from '@lateen/plugin'
import { begunCsiInfo, type ClaimSnapshot } from '../../volumes/csi-volume-info.ts'
import type { StoredVolume, VolumeInfo } from '../../volumes/volume-info.ts'

/** Waits until the snapshot cannot change any more, as long as it may take. Throws what says why that is not so. */
export type SnapshotCut = (
  snapshot: Pick<ClaimSnapshot, 'namespace' | 'name'>,
  signal: AbortSignal,
) => Promise<unknown>

interface Claim extends ActionItem {
  spec?: { volumeName?: string }
}

/** What an action has taken of a claim, as its answer tells; undefined when it has not taken a snapshot. */
export function claimSnapshotIn(
  { item, operationId }: BackupItemResult,
  { spec }: Backup,
): ClaimSnapshot | undefined {
  const { namespace = '', annotations } = item?.metadata ?? {}
  const name = annotations?.[annotationNames.volumeSnapshotName]
  if (name === undefined || !operationId) return undefined
  const moved = annotations?.[annotationNames.dataUploadName] !== undefined
  return { namespace, name, operationId, moved, dataMover: spec.datamover ?? '' }
}

/** The snapshots through CSI of one backup. */
export class ClaimSnapshots {
  readonly #cut: SnapshotCut | undefined
  /** By namespace and name of the claim. */
  readonly #taken = new Map<string, ClaimSnapshot & { volume: string }>()

  /** Without `cut`, snapshots are not waited for. */
  constructor(cut: SnapshotCut | undefined) {
    this.#cut = cut
  }

  take(claim: ActionItem, snapshot: ClaimSnapshot): void {
    const volume = (claim as Claim).spec?.volumeName ?? ''
    this.#taken.set(`${claim.metadata.namespace}/${claim.metadata.name}`, { ...snapshot, volume })
  }

  /** Waits until the snapshot of a claim is cut, if one is taken. Throws what says why that is not so. */
  async cut({ namespace, name }: { namespace: string; name: string }, signal: AbortSignal): Promise<void> {
    const snapshot = this.#taken.get(`${namespace}/${name}`)
    if (snapshot !== undefined) await this.#cut?.(snapshot, signal)
  }

  infos(stored: ReadonlyMap<string, StoredVolume>): VolumeInfo[] {
    return [...this.#taken.values()].flatMap(({ volume, ...snapshot }) => {
      const found = stored.get(volume)
      return found === undefined ? [] : [begunCsiInfo(snapshot, found)]
    })
  }
}
