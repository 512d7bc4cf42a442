import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { downloadRequestPhaseMachine, requestPhases } from '../phases.ts'
import { enumeration, object, required, string, time } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

const downloadTargetKind = enumeration('Which file to download.', [
  'BackupLog',
  'BackupContents',
  'BackupVolumeSnapshots',
  'BackupItemOperations',
  'BackupResourceList',
  'BackupResults',
  'RestoreLog',
  'RestoreResults',
  'RestoreResourceList',
  'RestoreItemOperations',
  'CSIBackupVolumeSnapshots',
  'CSIBackupVolumeSnapshotContents',
  'BackupVolumeInfos',
  'RestoreVolumeInfo',
])

/** Which file of a backup or restore to download. */
export type DownloadTargetKind = Infer<typeof downloadTargetKind>

const downloadRequestSpec = object('What to download.', {
  target: required(
    object('The file to download.', {
      kind: required(downloadTargetKind),
      name: required(string('The backup or restore it belongs to.')),
    }),
  ),
})

/** What to download. */
export interface DownloadRequestSpec extends Infer<typeof downloadRequestSpec> {}

const downloadRequestStatus = object('Where to download it.', {
  phase: enumeration('Whether the request was answered.', requestPhases),
  downloadURL: string('The signed URL of the file.'),
  expiration: time('When the request is deleted.'),
})

/** Where to download it. */
export interface DownloadRequestStatus extends Infer<typeof downloadRequestStatus> {}

/** A request for a signed URL of a file in the object store. */
export interface DownloadRequest extends CustomObject<DownloadRequestSpec, DownloadRequestStatus> {}

/** The kind DownloadRequest. */
export const DownloadRequestKind: KindDescription<DownloadRequest> = describeKind({
  kind: 'DownloadRequest',
  plural: 'downloadrequests',
  description: 'A request for a signed URL of a file in the object store.',
  schema: { spec: downloadRequestSpec, status: downloadRequestStatus },
  phases: downloadRequestPhaseMachine,
})
