import type { Backup } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import { groupsOfBackup, isMemberOf, removeGroup } from './backup-groups.ts'
import { snapshotsOfBackup } from './backup-snapshots.ts'
import { isCsiServed } from './csi-served.ts'
import { eachAtOnce } from './each-at-once.ts'
import { discardSnapshot } from './release-snapshot.ts'

export interface DiscardPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/**
 * Deletes all snapshots that a backup had taken through CSI, from the storage too: one that failed has no use for them. Throws KubeErrors,
 * CsiErrors, and the signal's reason.
 */
export async function discardSnapshotsOf(
  { metadata }: Pick<Backup, 'metadata'>,
  { client, clock, log, signal }: DiscardPorts,
): Promise<void> {
  const { uid = '', name } = metadata
  if (uid === '' || !(await isCsiServed(client.discovery, signal))) return
  const ports = { client, clock, signal }
  const all = await snapshotsOfBackup(uid, ports)
  const groups = await groupsOfBackup({ metadata }, ports)
  for (const group of groups) await removeGroup(group, false, ports)
  const snapshots = all.filter(snapshot => !groups.some(group => isMemberOf(snapshot, group)))
  if (snapshots.length === 0) return
  log.info({ backup: name, snapshots: snapshots.length }, 'snapshots of a failed backup are deleted')
  await eachAtOnce(snapshots, snapshot => discardSnapshot(snapshot, ports))
}

/** Whether no snapshot of a backup that failed is left. What cannot be deleted now is tried again by who finds the mark of the backup. */
export async function haveSnapshotsDiscarded(
  backup: Pick<Backup, 'metadata'>,
  { client, clock, log, signal }: DiscardPorts,
): Promise<boolean> {
  try {
    await discardSnapshotsOf(backup, { client, clock, log, signal })
    return true
  } catch (error) {
    log.warn({ error, backup: backup.metadata.name }, 'snapshots of a failed backup could not be deleted yet')
    return false
  }
}
