import { BackupKind } from '@lateen/api'
import { isConflict, unlessNotFound } from '@lateen/kube'
import { messageOf } from '../item/item-error.ts'
import type { DeletionStep } from './deletion-step.ts'

/** Deletes the Backup itself. What it owns in the cluster goes with it. */
export const deleteObject: DeletionStep = {
  name: 'object',
  runs: 'if-all-went-well',
  async run({ backup, client, signal }) {
    const { namespace, name = '', uid } = backup.metadata
    try {
      const preconditions = { uid }
      await client
        .resource(BackupKind, namespace)
        .delete(name, { preconditions, propagationPolicy: 'Background', signal })
        .catch(unlessNotFound)
      return []
    } catch (error) {
      signal.throwIfAborted()
      // Another one of the same name, which nobody asked to delete.
      if (isConflict(error)) return []
      return [`error deleting backup ${namespace}/${name}: ${messageOf(error)}`]
    }
  },
}
