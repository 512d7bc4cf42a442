import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { deleteBackupRequestPhaseMachine, deleteBackupRequestPhases } from '../phases.ts'
import { enumeration, nullable, object, required, string, strings } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

const deleteBackupRequestSpec = object('Which backup to delete.', {
  backupName: required(string('The backup to delete.')),
})

/** Which backup to delete. */
export interface DeleteBackupRequestSpec extends Infer<typeof deleteBackupRequestSpec> {}

const deleteBackupRequestStatus = object('Where the deletion stands.', {
  phase: enumeration('The step the deletion has reached.', deleteBackupRequestPhases),
  errors: nullable(strings('What could not be deleted, and why.')),
})

/** Where a deletion stands. */
export interface DeleteBackupRequestStatus extends Infer<typeof deleteBackupRequestStatus> {}

/** A request to delete a backup with all its data. */
export interface DeleteBackupRequest
  extends CustomObject<DeleteBackupRequestSpec, DeleteBackupRequestStatus> {}

/** The kind DeleteBackupRequest. */
export const DeleteBackupRequestKind: KindDescription<DeleteBackupRequest> = describeKind({
  kind: 'DeleteBackupRequest',
  plural: 'deletebackuprequests',
  description: 'A request to delete a backup with all its data.',
  schema: { spec: deleteBackupRequestSpec, status: deleteBackupRequestStatus },
  phases: deleteBackupRequestPhaseMachine,
  printerColumns: [
    {
      name: 'BackupName',
      type: 'string',
      jsonPath: '.spec.backupName',
      description: 'The backup to delete',
    },
    {
      name: 'Status',
      type: 'string',
      jsonPath: '.status.phase',
      description: 'The step it has reached',
    },
  ],
})
