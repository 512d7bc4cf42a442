import { dataMoveColumns } from '../data-move-columns.ts'
import { dataMoveProgress } from '../data-move-progress.ts'
import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { objectReference } from '../object-reference.ts'
import { dataMovePhases, podVolumeRestorePhaseMachine } from '../phases.ts'
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

const podVolumeRestoreSpec = object('Which snapshot to restore into which volume of which pod.', {
  pod: required(objectReference('The pod.')),
  volume: required(string('The volume, by its name in the pod.')),
  backupStorageLocation: required(string('The location to read from.')),
  repoIdentifier: required(string('Address of the repository in restic format.')),
  uploaderType,
  snapshotID: required(string('The snapshot in the repository.')),
  snapshotSize: int64('Bytes in the snapshot.'),
  sourceNamespace: required(string('The namespace the volume was backed up from.')),
  uploaderSettings: nullable(map('Settings for reading the data.')),
  cancel: boolean('Set to stop the work.'),
})

/** Which snapshot to restore into which volume of which pod. */
export interface PodVolumeRestoreSpec extends Infer<typeof podVolumeRestoreSpec> {}

const podVolumeRestoreStatus = object('Where the restore of the volume stands.', {
  phase: enumeration('The step it has reached.', dataMovePhases),
  message: string('What went wrong.'),
  acceptedTimestamp: time('When a node agent took it.'),
  startTimestamp: time('When the data began to move.'),
  completionTimestamp: time('When it ended.'),
  progress: dataMoveProgress,
  node: string('The node that moves the data.'),
})

/** Where the restore of a pod volume stands. */
export interface PodVolumeRestoreStatus extends Infer<typeof podVolumeRestoreStatus> {}

/** The restore of one volume of a pod into its file system. */
export interface PodVolumeRestore extends CustomObject<PodVolumeRestoreSpec, PodVolumeRestoreStatus> {}

const { status, started, bytesDone, totalBytes, storageLocation, age, node } = dataMoveColumns

/** The kind PodVolumeRestore. */
export const PodVolumeRestoreKind: KindDescription<PodVolumeRestore> = describeKind({
  kind: 'PodVolumeRestore',
  plural: 'podvolumerestores',
  description: 'The restore of one volume of a pod into its file system.',
  schema: { spec: podVolumeRestoreSpec, status: podVolumeRestoreStatus },
  phases: podVolumeRestorePhaseMachine,
  printerColumns: [
    status,
    started,
    bytesDone,
    totalBytes,
    storageLocation,
    age,
    node,
    {
      name: 'Uploader Type',
      type: 'string',
      jsonPath: '.spec.uploaderType',
      description: 'The format of the data',
    },
  ],
})
