import { type DataUpload, DataUploadKind, labelNames } from '@lateen/api'
import { type AccessPoint, type BackupWords, serializeWords } from './mover-message.ts'
import {
  type MoverEnding,
  type MoverOptions,
  type MoverPorts,
  type MoveScope,
  runMover,
  uploaderConfig,
} from './run-mover.ts'

/** Under which snapshots of moved data are filed, and found again. */
export const dataMoverRequester = 'snapshot-data-upload-download'

/** What a mover of a volume behind a claim is told on its command line. */
export interface DataMoverRun extends MoverOptions {
  readonly volumeMode: AccessPoint['volumeMode']
}

/** Moves the data of one snapshot into its repository once its DataUpload is InProgress, and stops when that is to be cancelled. */
export function runDataUpload(options: DataMoverRun, ports: MoverPorts): Promise<MoverEnding> {
  return runMover(options, ports, {
    kind: DataUploadKind,
    requester: dataMoverRequester,
    place: ({ spec }) => ({ location: spec.backupStorageLocation, volumeNamespace: spec.sourceNamespace }),
    move: async (object, scope) => serializeWords(await upload(object, options, scope)),
  })
}

/** An empty volume has its snapshot, too: a restore is to have something to fill the claim's volume from. */
async function upload(
  { metadata, spec }: DataUpload,
  { volumePath, volumeMode }: DataMoverRun,
  { uploader, reports, signal }: MoveScope,
): Promise<BackupWords> {
  const outcome = await uploader.runBackup(
    {
      path: volumePath,
      volumeMode: volumeMode === 'Block' ? 'block' : 'filesystem',
      realSource: `${spec.sourceNamespace}/${spec.sourcePVC}`,
      tags: { [labelNames.asyncOperationId]: metadata.labels?.[labelNames.asyncOperationId] ?? '' },
      uploaderConfig: uploaderConfig(spec.dataMoverConfig),
    },
    { signal, onProgress: progress => reports.progress(progress) },
  )
  const { snapshotId, totalBytes, incrementalBytes } = outcome
  const source = { byPath: volumePath, volumeMode }
  return { snapshotID: snapshotId, emptySnapshot: false, source, totalBytes, incrementalBytes }
}
