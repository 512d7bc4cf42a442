import { gzipSync } from 'node:zlib'
import type { Backup, BackupStatus, PodVolumeBackup } from '@lateen/api'
import type { BackupBucket } from './backup-bucket.ts'

export interface ForeignBackup {
  name: string
  status?: BackupStatus
  metadata?: Backup['metadata']
  spec?: Backup['spec']
  /** As Velero stores them: without kind and version. */
  volumes?: readonly Pick<PodVolumeBackup, 'metadata' | 'spec' | 'status'>[]
  /** Likewise, of its CSI snapshots. */
  classes?: readonly object[]
}

/** Puts a backup into the bucket as a server of another cluster would have left it, without an archive. */
export async function putForeignBackup(bucket: BackupBucket, foreign: ForeignBackup): Promise<void> {
  const { name, status = { phase: 'Completed' }, metadata = {}, spec = {}, volumes, classes } = foreign
  const at = (file: string) => `backups/${name}/${file}`
  const stored = {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace: 'elsewhere', uid: 'uid-elsewhere', resourceVersion: '1', ...metadata },
    spec: { storageLocation: 'elsewhere', ...spec },
    status: { formatVersion: '1.1.0', version: 1, startTimestamp: '2026-01-01T00:00:00Z', ...status },
  }
  if (volumes) {
    await bucket.write(at(`${name}-podvolumebackups.json.gz`), gzipSync(JSON.stringify(volumes)))
  }
  if (classes) {
    await bucket.write(at(`${name}-csi-volumesnapshotclasses.json.gz`), gzipSync(JSON.stringify(classes)))
  }
  await bucket.write(at('velero-backup.json'), Buffer.from(JSON.stringify(stored)))
}

/** A PodVolumeBackup of a backup in another cluster. */
export function foreignVolume(backup: string, name: string): Required<ForeignBackup>['volumes'][number] {
  const owner = { apiVersion: 'velero.io/v1', kind: 'Backup', name: backup, uid: 'uid-elsewhere' }
  return {
    metadata: {
      name,
      namespace: 'elsewhere',
      labels: { 'velero.io/backup-name': backup, 'velero.io/backup-uid': 'uid-elsewhere' },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: {
      node: 'node-elsewhere',
      pod: { kind: 'Pod', namespace: 'shop', name: 'db-0', uid: 'u' },
      volume: 'data',
      backupStorageLocation: 'elsewhere',
      repoIdentifier: 'kopia:elsewhere',
      uploaderType: 'kopia',
    },
    status: { phase: 'Completed', snapshotID: 'abc', progress: { totalBytes: 5, bytesDone: 5 } },
  }
}
