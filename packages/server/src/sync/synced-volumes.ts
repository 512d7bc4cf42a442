import {
  apiVersionOf,
  type Backup,
  BackupKind,
  isTerminal,
  labelNames,
  type ObjectMeta,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  readObject,
} from '@lateen/api'

export interface SyncedVolumes {
  volumes: PodVolumeBackup[]
  /** What is wrong with the others. */
  problems: string[]
}

/** The PodVolumeBackups in a backup's file. Those that have not ended hold nothing, and a node agent would take them up. */
export function volumesIn(stored: unknown): SyncedVolumes {
  const found: SyncedVolumes = { volumes: [], problems: [] }
  if (stored === undefined || stored === null) return found
  if (!Array.isArray(stored)) return { volumes: [], problems: ['its PodVolumeBackups are no list'] }
  for (const [index, value] of stored.entries()) {
    const read = readObject(PodVolumeBackupKind, withHead(value))
    if (!read.ok) {
      const reasons = read.problems.map(({ path, reason }) => `${path} ${reason}`).join('; ')
      found.problems.push(`number ${index + 1} of its PodVolumeBackups is none: ${reasons}`)
    } else if (isTerminal(PodVolumeBackupKind, read.object.status?.phase)) {
      found.volumes.push(read.object)
    }
  }
  return found
}

/** Velero writes them without what they are. */
function withHead(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return { apiVersion: apiVersionOf(PodVolumeBackupKind), kind: PodVolumeBackupKind.kind, ...value }
}

/** A PodVolumeBackup of another cluster as it is in this one, for a backup that exists here. */
export function syncedVolume(stored: PodVolumeBackup, backup: Backup, location: string): PodVolumeBackup {
  return {
    ...stored,
    metadata: metadataHere(stored.metadata, backup),
    spec: { ...stored.spec, backupStorageLocation: location },
  }
}

function metadataHere(stored: ObjectMeta, { metadata: backup }: Backup): ObjectMeta {
  const { name, labels, annotations, ownerReferences } = stored
  const { namespace, uid = '' } = backup
  const ofBackup = (ownerReferences ?? []).filter(
    owner =>
      owner.apiVersion === apiVersionOf(BackupKind) &&
      owner.kind === BackupKind.kind &&
      owner.name === backup.name,
  )
  return {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    labels: {
      ...labels,
      ...(labels?.[labelNames.backupUid] !== undefined && { [labelNames.backupUid]: uid }),
    },
    ...(annotations !== undefined && { annotations }),
    ...(ofBackup.length > 0 && { ownerReferences: ofBackup.map(owner => ({ ...owner, uid })) }),
  }
}
