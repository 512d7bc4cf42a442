import { messageOf } from '../item/item-error.ts'
import type { DeletionStep } from './deletion-step.ts'

/** Deletes everything in the folder of the backup, whoever put it there, `velero-backup.json` first. */
export const deleteFiles: DeletionStep = {
  name: 'files',
  runs: 'if-all-went-well',
  async run({ backup, store, signal }) {
    if (store === undefined) return []
    const { name = '' } = backup.metadata
    try {
      await store.deleteBackup(name, signal)
      if (!(await store.hasAny(name, signal))) return []
    } catch (error) {
      signal.throwIfAborted()
      return [`error removing backup from backup storage: ${messageOf(error)}`]
    }
    return ['error removing backup from backup storage: there are still files, as if somebody put some there']
  },
}
