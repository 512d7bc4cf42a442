import type { BackupArchive } from '../restore/archive/backup-archive.ts'
import { compareBodies } from './compare-bodies.ts'
import type { ObjectChange } from './object-change.ts'

export interface DiffOptions {
  /** Whether the status of objects counts. */
  withStatus: boolean
  signal: AbortSignal
}

/**
 * What is different in a later backup, type by type; of each type first what was removed or changed, then what was added. One
 * object of each backup is in memory at a time. Throws ScratchError, UnreadableObjectError, and the signal's reason.
 */
export async function* diffArchives(
  before: BackupArchive,
  after: BackupArchive,
  { withStatus, signal }: DiffOptions,
): AsyncGenerator<ObjectChange> {
  const types = new Set([...before.types, ...after.types].map(({ groupResource }) => groupResource))
  for (const type of [...types].sort()) {
    for (const item of before.items(type)) {
      signal.throwIfAborted()
      const { groupResource, namespace, name } = item
      const other = after.find(item)
      const bodies = { item, before: await before.load(item), after: other && (await after.load(other)) }
      const compared = compareBodies(bodies, { withStatus })
      if (compared === undefined) continue
      yield { change: other ? 'changed' : 'removed', groupResource, namespace, name, ...compared }
    }
    for (const item of after.items(type)) {
      signal.throwIfAborted()
      if (before.find(item) !== undefined) continue
      const { groupResource, namespace, name } = item
      const compared = compareBodies({ item, after: await after.load(item) }, { withStatus })
      yield { change: 'added', groupResource, namespace, name, ...compared }
    }
  }
}
