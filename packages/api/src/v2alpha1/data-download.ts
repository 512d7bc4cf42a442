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
  object,
  required,
  string,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

const dataDownloadSpec = object('Which data to download, and into which volume.', {
  targetVolume: required(
    object('The volume to write to.', {
      namespace: required(string('The namespace of the claim.')),
      pvc: required(string('The claim.')),
      pv: required(string('The volume.')),
    }),
  ),
  backupStorageLocation: required(string('The location to read from.')),
  snapshotID: required(string('The snapshot in the repository.')),
  snapshotSize: int64('Bytes in the snapshot.'),
  sourceNamespace: required(string('The namespace the volume was backed up from.')),
  datamover: string('Who moves the data; empty or velero means the built-in mover.'),
  dataMoverConfig: map('Settings for the mover.'),
  operationTimeout: required(duration('How long preparations inside the cluster may take.')),
  nodeOS,
  cancel: boolean('Set to stop the work.'),
})

/** Which data to download, and into which volume. */
export interface DataDownloadSpec extends Infer<typeof dataDownloadSpec> {}

const dataDownloadStatus = object('Where the download stands.', {
  phase: enumeration('The step it has reached.', dataMovePhases),
  message: string('What went wrong.'),
  acceptedByNode: string('The node whose agent took it.'),
  acceptedTimestamp: time('When a node agent took it.'),
  startTimestamp: time('When the data began to move.'),
  completionTimestamp: time('When it ended.'),
  progress: dataMoveProgress,
  node: string('The node that moves the data.'),
})

/** Where a download stands. */
export interface DataDownloadStatus extends Infer<typeof dataDownloadStatus> {}

/** The move of data from the storage location into a volume. */
export interface DataDownload extends CustomObject<DataDownloadSpec, DataDownloadStatus> {}

const { status, started, bytesDone, totalBytes, storageLocation, age, node } = dataMoveColumns

/** The kind DataDownload. */
export const DataDownloadKind: KindDescription<DataDownload> = describeKind({
  version: 'v2alpha1',
  kind: 'DataDownload',
  plural: 'datadownloads',
  description: 'The move of data from the storage location into a volume.',
  schema: { spec: dataDownloadSpec, status: dataDownloadStatus },
  phases: dataMovePhaseMachine,
  printerColumns: [status, started, bytesDone, totalBytes, storageLocation, age, node],
})
