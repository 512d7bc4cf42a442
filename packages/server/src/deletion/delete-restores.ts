import { lateenAnnotation, type Restore, RestoreKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { messageOf } from '../item/item-error.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'

/** How long restores may take to go, and how often it is looked whether they have. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 250

/** On a restore whose operations are still to be stopped: its files have their names. */
const leftoversAnnotation = lateenAnnotation('leftovers')

/**
 * The files go first: once the object is gone, nobody knows which they were. Whoever lets a restore go removes its files, too, but not
 * those of restores that nobody holds.
 */
export const deleteRestoreFiles: DeletionStep = {
  name: 'restore-files',
  runs: 'always',
  async run(scope) {
    const { store, signal } = scope
    if (store === undefined) return []
    const errors: string[] = []
    for (const { metadata } of await restoresOf(scope)) {
      if (metadata.annotations?.[leftoversAnnotation] !== undefined) continue
      try {
        await store.deleteRestore(metadata.name ?? '', signal)
      } catch (error) {
        signal.throwIfAborted()
        errors.push(`error deleting restore ${metadata.namespace}/${metadata.name}: ${messageOf(error)}`)
      }
    }
    return errors
  },
}

/** Deletes the restores from the backup, and waits until whoever looks after them has let them go. */
export const deleteRestores: DeletionStep = {
  name: 'restores',
  runs: 'if-all-went-well',
  async run(scope) {
    const { client, clock, signal } = scope
    const giveUp = clock.now() + PATIENCE_MS
    let left = await restoresOf(scope)
    for (const { metadata } of left) {
      if (metadata.deletionTimestamp !== undefined) continue
      const restores = client.resource(RestoreKind, metadata.namespace)
      const preconditions = { uid: metadata.uid }
      await restores.delete(metadata.name ?? '', { preconditions, signal }).catch(unlessNotFound)
    }
    while (left.length > 0 && clock.now() < giveUp) {
      await clock.sleep(PAUSE_MS, signal)
      left = await restoresOf(scope)
    }
    return left.map(
      ({ metadata }) =>
        `error deleting restore ${metadata.namespace}/${metadata.name}: it is still there after ${PATIENCE_MS / 1000} seconds`,
    )
  },
}

async function restoresOf({ backup, client, signal }: DeletionScope): Promise<Restore[]> {
  const { namespace, name } = backup.metadata
  const found: Restore[] = []
  for await (const restore of client.resource(RestoreKind, namespace).list({ signal })) {
    if (restore.spec.backupName === name) found.push(restore)
  }
  return found
}
