import type { Backup } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import type { BackupStore } from './backup-store.ts'
import type { NameClaim } from './bucket-layout.ts'

export function claimOf({ metadata }: Backup): NameClaim {
  return { name: metadata.name ?? '', uid: metadata.uid ?? '' }
}

export interface ClaimPorts {
  store: Pick<BackupStore, 'putClaim' | 'deleteClaim' | 'hasBeside'>
  clock: Clock
  random: () => number
  signal: AbortSignal
}

/** Schedules of two clusters begin in the same millisecond, and look and put take some of these. */
const APART_MS = 3_000

const TRIES = 8

/**
 * Takes the name of a backup in a bucket that servers of several clusters may write to, and says whether it was free. The bucket has no
 * lock: each says that it is there and then looks who else is; those who meet withdraw, and come again at different times. May be repeated
 * by whoever goes on with the same backup. Throws ObjectStoreError or the signal's reason; the name is then not taken, as far as the store lets us.
 */
export async function claimName(claim: NameClaim, ports: ClaimPorts): Promise<boolean> {
  const { store, clock, random, signal } = ports
  for (let tries = 0; tries < TRIES; tries++) {
    const isTaken = await store.hasBeside(claim, 'anything', signal)
    if (!isTaken && (await isAlone(claim, ports))) return true
    if (isTaken) {
      // One from before a crash: two that were killed would keep each other, and everybody else, from the name.
      await store.deleteClaim(claim, signal).catch(() => signal.throwIfAborted())
      return false
    }
    await store.deleteClaim(claim, signal)
    await clock.sleep(random() * APART_MS, signal)
  }
  return false
}

async function isAlone(claim: NameClaim, { store, signal }: ClaimPorts): Promise<boolean> {
  try {
    await store.putClaim(claim, signal)
    return !(await store.hasBeside(claim, 'anything', signal))
  } catch (error) {
    // A server that is told to stop leaves it to the next one, which goes on with the backup.
    if (!signal.aborted) await store.deleteClaim(claim, signal).catch(() => undefined)
    throw error
  }
}
