import { dataMoveColumns } from '../data-move-columns.ts'
import { dataMoveProgress } from '../data-move-progress.ts'
import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { nodeOS } from '../node-os.ts'
import { dataMovePhaseMachine, dataMovePhases } from '../phases.ts'
import {
  boolean,
  duration,
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

const dataUploadSpec = object('Which snapshot to upload.', {
  snapshotType: required(string('The sort of snapshot; CSI is the one there is.')),
  csiSnapshot: nullable(
    object('The CSI snapshot.', {
      volumeSnapshot: required(string('The VolumeSnapshot.')),
      storageClass: required(string('The storage class of the volume to read the snapshot through.')),
      snapshotClass: string('The VolumeSnapshotClass.'),
      driver: string('The CSI driver.'),
    }),
  ),
  sourcePVC: required(string('The claim that was snapshot.')),
  sourceNamespace: required(string('The namespace of the claim.')),
  backupStorageLocation: required(string('The location to write to.')),
  datamover: string('Who moves the data; empty or velero means the built-in mover.'),
  dataMoverConfig: nullable(map('Settings for the mover.')),
  operationTimeout: required(duration('How long preparations inside the cluster may take.')),
  cancel: boolean('Set to stop the work.'),
})

/** Which snapshot to upload. */
export interface DataUploadSpec extends Infer<typeof dataUploadSpec> {}

const dataUploadStatus = object('Where the upload stands.', {
  phase: enumeration('The step it has reached.', dataMovePhases),
  path: string('The path of the volume that was read.'),
  snapshotID: string('The snapshot in the repository.'),
  dataMoverResult: nullable(map('What the mover adds for the restore.')),
  message: string('What went wrong.'),
  acceptedByNode: string('The node whose agent took it.'),
  acceptedTimestamp: time('When a node agent took it.'),
  startTimestamp: time('When the data began to move.'),
  completionTimestamp: time('When it ended.'),
  progress: dataMoveProgress,
  incrementalBytes: int64('Bytes that earlier backups of the volume did not have.'),
  node: string('The node that moves the data.'),
  nodeOS,
})

/** Where an upload stands. */
export interface DataUploadStatus extends Infer<typeof dataUploadStatus> {}

/** The move of the data of a snapshot into the storage location. */
export interface DataUpload extends CustomObject<DataUploadSpec, DataUploadStatus> {}

const { status, started, bytesDone, totalBytes, incrementalBytes, storageLocation, age, node } =
  dataMoveColumns

/** The kind DataUpload. */
export const DataUploadKind: KindDescription<DataUpload> = describeKind({
  version: 'v2alpha1',
  kind: 'DataUpload',
  plural: 'datauploads',
  description: 'The move of the data of a snapshot into the storage location.',
  schema: { spec: dataUploadSpec, status: dataUploadStatus },
  phases: dataMovePhaseMachine,
  printerColumns: [status, started, bytesDone, totalBytes, incrementalBytes, storageLocation, age, node],
})
