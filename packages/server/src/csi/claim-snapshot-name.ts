import { createHash } from 'node:crypto'

/** The claim that a backup takes a snapshot of. */
export interface SnapshotOwner {
  backupUid: string
  namespace: string
  claim: string
}

/** What the value of a label may have. */
const LONGEST = 63

/**
 * The name of the snapshot that a backup takes of a claim: the same whenever it is asked for, so that whoever takes over finds what was
 * begun, and another for any other backup or claim. Short enough for the value of a label.
 */
export function claimSnapshotName({ backupUid, namespace, claim }: SnapshotOwner): string {
  const hash = createHash('sha256').update(`${backupUid}/${namespace}/${claim}`).digest('hex').slice(0, 16)
  const room = LONGEST - `velero--${hash}`.length
  return `velero-${claim.slice(0, room).replace(/[-.]+$/, '')}-${hash}`
}
