import { dataMoveColumns } from '../data-move-columns.ts'
import { dataMoveProgress } from '../data-move-progress.ts'
import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { objectReference } from '../object-reference.ts'
import { dataMovePhaseMachine, dataMovePhases } from '../phases.ts'
import {
  boolean,
  enumeration,
  int64,
  map,
  nullable,
  object,
  required,
  string,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { uploaderType } from '../uploader-type.ts'

const podVolumeBackupSpec = object('Which volume of which pod to back up.', {
  node: required(string('The node the pod runs on.')),
  pod: required(objectReference('The pod.')),
  volume: required(string('The volume, by its name in the pod.')),
  backupStorageLocation: required(string('The location to write to.')),
  repoIdentifier: required(string('Address of the repository in restic format.')),
  uploaderType,
  tags: map('Tags for the snapshot in the repository.'),
  uploaderSettings: nullable(map('Settings for writing the data.')),
  cancel: boolean('Set to stop the work.'),
})

/** Which volume of which pod to back up. */
export interface PodVolumeBackupSpec extends Infer<typeof podVolumeBackupSpec> {}

const podVolumeBackupStatus = object('Where the backup of the volume stands.', {
  phase: enumeration('The step it has reached.', dataMovePhases),
  path: string('The path of the volume that was read.'),
  snapshotID: string('The snapshot in the repository.'),
  message: string('What went wrong.'),
  acceptedTimestamp: time('When a node agent took it.'),
  startTimestamp: time('When the data began to move.'),
  completionTimestamp: time('When it ended.'),
  progress: dataMoveProgress,
  incrementalBytes: int64('Bytes that earlier backups of the volume did not have.'),
})

/** Where the backup of a pod volume stands. */
export interface PodVolumeBackupStatus extends Infer<typeof podVolumeBackupStatus> {}

/** The backup of one volume of a pod from its file system. */
export interface PodVolumeBackup extends CustomObject<PodVolumeBackupSpec, PodVolumeBackupStatus> {}

const { status, started, bytesDone, totalBytes, incrementalBytes, storageLocation, age, node } =
  dataMoveColumns

/** The kind PodVolumeBackup. Its Node column reads a field that does not exist, as in Velero. */
export const PodVolumeBackupKind: KindDescription<PodVolumeBackup> = describeKind({
  kind: 'PodVolumeBackup',
  plural: 'podvolumebackups',
  description: 'The backup of one volume of a pod from its file system.',
  schema: { spec: podVolumeBackupSpec, status: podVolumeBackupStatus },
  phases: dataMovePhaseMachine,
  printerColumns: [
    status,
    started,
    bytesDone,
    totalBytes,
    incrementalBytes,
    storageLocation,
    age,
    node,
    {
      name: 'Uploader',
      type: 'string',
      jsonPath: '.spec.uploaderType',
      description: 'The format of the data',
    },
  ],
})
