import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { backupRepositoryPhaseMachine, backupRepositoryPhases } from '../phases.ts'
import {
  array,
  described,
  duration,
  enumeration,
  map,
  nullable,
  object,
  required,
  string,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { uploaderType } from '../uploader-type.ts'

const backupRepositorySpec = object('Which repository it is.', {
  volumeNamespace: required(string('The namespace whose volumes it keeps.')),
  backupStorageLocation: required(string('The location it is in.')),
  repositoryType: described('The format of the repository.', uploaderType),
  resticIdentifier: string('Address of a repository in restic format.'),
  maintenanceFrequency: required(duration('How often maintenance runs.')),
  repositoryConfig: nullable(map('Settings of the repository.')),
})

/** Which repository it is. */
export interface BackupRepositorySpec extends Infer<typeof backupRepositorySpec> {}

const maintenanceRun = object('One run of maintenance.', {
  result: enumeration('How the run ended.', ['Succeeded', 'Failed']),
  startTimestamp: time('When the run began.'),
  completeTimestamp: time('When the run ended.'),
  message: string('Why the run failed.'),
})

/** One run of maintenance of a repository. */
export interface MaintenanceRun extends Infer<typeof maintenanceRun> {}

const backupRepositoryStatus = object('Where the repository stands.', {
  phase: enumeration('Whether the repository can be used.', backupRepositoryPhases),
  message: string('Why the repository cannot be used.'),
  lastMaintenanceTime: time('When maintenance last ended well.'),
  recentMaintenance: array('The latest runs of maintenance.', maintenanceRun),
})

/** Where a repository stands. */
export interface BackupRepositoryStatus extends Infer<typeof backupRepositoryStatus> {}

/** A repository that keeps the volume data of one namespace in one location. */
export interface BackupRepository extends CustomObject<BackupRepositorySpec, BackupRepositoryStatus> {}

/** The kind BackupRepository. */
export const BackupRepositoryKind: KindDescription<BackupRepository> = describeKind({
  kind: 'BackupRepository',
  plural: 'backuprepositories',
  description: 'A repository that keeps the volume data of one namespace in one location.',
  schema: { spec: backupRepositorySpec, status: backupRepositoryStatus },
  phases: backupRepositoryPhaseMachine,
  printerColumns: [
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Repository Type', type: 'string', jsonPath: '.spec.repositoryType' },
  ],
})
