import { stat } from 'node:fs/promises'
import { type DataDownload, DataDownloadKind } from '@lateen/api'
import { DataPathError } from './data-path-error.ts'
import { type RestoreWords, serializeWords } from './mover-message.ts'
import { type MoverEnding, type MoverPorts, type MoveScope, runMover, uploaderConfig } from './run-mover.ts'
import { type DataMoverRun, dataMoverRequester } from './upload-volume.ts'

/** Moves a snapshot into one volume once its DataDownload is InProgress, and stops when that is to be cancelled. */
export function runDataDownload(options: DataMoverRun, ports: MoverPorts): Promise<MoverEnding> {
  return runMover(options, ports, {
    kind: DataDownloadKind,
    requester: dataMoverRequester,
    place: ({ spec }) => ({ location: spec.backupStorageLocation, volumeNamespace: spec.sourceNamespace }),
    confirm: () => requireMode(options),
    move: async (object, scope) => serializeWords(await download(object, options, scope)),
  })
}

/** What is no device must never be written as one: that would be a file of the mover's own. */
async function requireMode({ volumePath, volumeMode }: DataMoverRun): Promise<void> {
  const found = await stat(volumePath)
  const isRight = volumeMode === 'Block' ? found.isBlockDevice() : found.isDirectory()
  if (isRight) return
  throw new DataPathError('VOLUME_NOT_FOUND', {
    reason: `${volumePath} is no ${volumeMode === 'Block' ? 'block device' : 'folder'}`,
    hint: 'Look at the volume of the pod: its mode is not the one that --volume-mode says',
  })
}

async function download(
  { spec }: DataDownload,
  { volumePath, volumeMode }: DataMoverRun,
  { uploader, reports, signal }: MoveScope,
): Promise<RestoreWords> {
  const { bytes } = await uploader.runRestore(
    {
      snapshotId: spec.snapshotID,
      path: volumePath,
      volumeMode: volumeMode === 'Block' ? 'block' : 'filesystem',
      uploaderConfig: uploaderConfig(spec.dataMoverConfig),
    },
    { signal, onProgress: progress => reports.progress(progress) },
  )
  return { target: { byPath: volumePath, volumeMode }, totalBytes: bytes }
}
