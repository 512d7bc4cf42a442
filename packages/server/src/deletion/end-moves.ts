import { backupSelector, isTerminal, PodVolumeBackupKind } from '@lateen/api'
import { type ResourceType, unlessNotFound } from '@lateen/kube'
import type { Moved } from '../volumes/moves-of.ts'
import type { DeletionScope } from './deletion-step.ts'

/** How long moves of volume data may take to end once they are told to, and how often it is looked whether they have. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 250

/** Objects of one kind that have data of volumes moved. */
export interface BackupMoves<T extends Moved> {
  kind: ResourceType<T>
  /** What people call one of them. */
  what: string
  /** Which ones are meant. Default: all. */
  chosen?: (move: T) => boolean
}

/** Those of a backup that are in the cluster. Throws KubeErrors. */
export function movesInCluster<T extends Moved>(
  kind: ResourceType<T>,
  { backup, client, signal }: DeletionScope,
): Promise<T[]> {
  const { name = '', namespace } = backup.metadata
  const labelSelector = backupSelector(name)
  return client.resource(kind, namespace).list({ labelSelector, signal }).toArray()
}

/**
 * Ends those of a backup that are under way: one that went on would store a snapshot that nobody forgets. Returns which have not
 * ended in time, in words for people. Throws KubeErrors, and the signal's reason.
 */
export async function endMoves<T extends Moved>(
  { kind, what, chosen = () => true }: BackupMoves<T>,
  scope: DeletionScope,
): Promise<string[]> {
  const { client, clock, signal } = scope
  const giveUp = clock.now() + PATIENCE_MS
  for (;;) {
    const going = (await movesInCluster(kind, scope)).filter(move => chosen(move) && !isOver(move))
    if (going.length === 0) return []
    for (const { metadata, spec } of going) {
      if (spec.cancel === true) continue
      const body = { metadata: { uid: metadata.uid }, spec: { cancel: true } }
      await client
        .resource(kind, metadata.namespace)
        .patch(metadata.name ?? '', { type: 'merge', body }, { signal })
        .catch(unlessNotFound)
    }
    if (clock.now() >= giveUp) return stillGoing(what, going)
    await clock.sleep(PAUSE_MS, signal)
  }
}

/** Those that no node agent has taken up are none: they go with the backup before they begin. */
export function stillGoing(what: string, moves: readonly Moved[]): string[] {
  return moves
    .filter(move => !isOver(move) && (move.status?.phase || 'New') !== 'New')
    .map(
      ({ metadata, status }) =>
        `error stopping the ${what} ${metadata.name}: it is still ${status?.phase} after ${PATIENCE_MS / 1000} seconds`,
    )
}

/** All four kinds go through the same phases. */
function isOver({ status }: Moved): boolean {
  return isTerminal(PodVolumeBackupKind, status?.phase)
}
