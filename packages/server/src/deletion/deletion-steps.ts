import { deleteFiles } from './delete-files.ts'
import { deleteNativeSnapshots } from './delete-native-snapshots.ts'
import { deleteObject } from './delete-object.ts'
import { deleteRestoreFiles, deleteRestores } from './delete-restores.ts'
import { deleteVolumeData } from './delete-volume-data.ts'
import type { DeletionStep } from './deletion-step.ts'
import { forgetVolumes } from './forget-volumes.ts'
import { runDeleteActions } from './run-delete-actions.ts'
import { stopOperations } from './stop-operations.ts'

/**
 * How a backup is deleted, in this order. What only its files know of goes before the files, the files go before the object, and
 * `velero-backup.json` goes first among them: until the object is gone, the next server knows that there is something left to do, and
 * where; and nobody ever takes what is left for a backup.
 */
export const deletionSteps: readonly DeletionStep[] = [
  stopOperations,
  runDeleteActions,
  deleteNativeSnapshots,
  deleteVolumeData,
  forgetVolumes,
  deleteRestoreFiles,
  deleteRestores,
  deleteFiles,
  deleteObject,
]

/**
 * What is done for a backup whose name another one has in the bucket by now. Whatever is found by that name there, in repositories and in storage may be the
 * other's. Restores stay, as they do when a backup vanishes from its bucket: their files go with them.
 */
export const stepsOfReplaced: readonly DeletionStep[] = [deleteObject]
