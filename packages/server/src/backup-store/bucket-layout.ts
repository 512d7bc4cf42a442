/** The only folders that may stand at the top of a location. Velero marks a location with others Unavailable. */
export const topLevelFolders = ['backups', 'restores', 'restic', 'metadata', 'plugins', 'kopia'] as const

export type TopLevelFolder = (typeof topLevelFolders)[number]

/** A text without slashes at its ends. Takes time in proportion to its length, which the regular expression for it does not. */
export function withoutOuterSlashes(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && text[from] === '/') from++
  while (to > from && text[to - 1] === '/') to--
  return text.slice(from, to)
}

/**
 * `''`, or the prefix without outer slashes and with one at its end: what every key of the location begins with. Several slashes are
 * one, as for Velero.
 */
export function normalizePrefix(prefix: string | undefined): string {
  const segments = (prefix ?? '').split('/').filter(segment => segment !== '')
  return segments.length === 0 ? '' : `${segments.join('/')}/`
}

/** Files kept for each backup, by what they hold. `%` stands for the backup's name. */
const backupFiles = {
  metadata: 'velero-backup.json',
  contents: '%.tar.gz',
  log: '%-logs.gz',
  podVolumeBackups: '%-podvolumebackups.json.gz',
  volumeSnapshots: '%-volumesnapshots.json.gz',
  itemOperations: '%-itemoperations.json.gz',
  resourceList: '%-resource-list.json.gz',
  results: '%-results.gz',
  volumeInfo: '%-volumeinfo.json.gz',
  // Written by Velero before 1.18 only; still read.
  csiVolumeSnapshots: '%-csi-volumesnapshots.json.gz',
  csiVolumeSnapshotContents: '%-csi-volumesnapshotcontents.json.gz',
  // Not written by Velero any more, which reads it all the same.
  csiVolumeSnapshotClasses: '%-csi-volumesnapshotclasses.json.gz',
} as const

/** Files kept for each restore. All but the last carry `restore-` before the name. */
const restoreFiles = {
  log: 'restore-%-logs.gz',
  results: 'restore-%-results.gz',
  resourceList: 'restore-%-resource-list.json.gz',
  itemOperations: 'restore-%-itemoperations.json.gz',
  volumeInfo: '%-volumeinfo.json.gz',
} as const

/** Who takes a backup of that name: its identity in the cluster that takes it. */
export interface NameClaim {
  readonly name: string
  readonly uid: string
}

export type BackupFile = keyof typeof backupFiles
export type RestoreFile = keyof typeof restoreFiles

/** Whose begun operations a journal has. That of a restore lies below the backup that it restores. */
export type JournalOwner = { of: 'backup'; name: string } | { of: 'restore'; name: string; backup: string }

/** Where everything of a location lies in its bucket. Keys and folders are in full, folders end with `/`. */
export interface BucketLayout {
  /** What all keys begin with: empty, or the location's prefix and a slash. */
  readonly root: string
  folder(name: TopLevelFolder): string
  backupFolder(backup: string): string
  backupKey(backup: string, file: BackupFile): string
  /** Where those who take a backup of that name say so. Velero does not look there. */
  claimFolder(backup: string): string
  claimKey(claim: NameClaim): string
  restoreFolder(restore: string): string
  restoreKey(restore: string, file: RestoreFile): string
  /** Where a journal of operations lies. Velero does not look there. */
  journalFolder(owner: JournalOwner): string
  /** One part of a journal; parts count from 1. */
  journalKey(owner: JournalOwner, segment: number): string
  /** The Kopia repository of one namespace's volumes. */
  kopiaFolder(volumeNamespace: string): string
  /** The Restic repository of one namespace's volumes, in locations that older versions wrote. */
  resticFolder(volumeNamespace: string): string
  /** The backup that a common prefix below `backups/` belongs to, or undefined if it is none. */
  backupOfFolder(folder: string): string | undefined
}

/** The layout below the given prefix, in any spelling of its slashes. Same bytes as Velero's. */
export function bucketLayout(prefix: string | undefined): BucketLayout {
  const root = normalizePrefix(prefix)
  const folder = (name: TopLevelFolder) => `${root}${name}/`
  const backupFolder = (backup: string) => `${folder('backups')}${backup}/`
  const claimFolder = (backup: string) => `${backupFolder(backup)}lateen-claims/`
  const restoreFolder = (restore: string) => `${folder('restores')}${restore}/`
  const journalFolder = (owner: JournalOwner) =>
    owner.of === 'backup'
      ? `${backupFolder(owner.name)}lateen-operations/backup/`
      : `${backupFolder(owner.backup)}lateen-operations/restores/${owner.name}/`
  return {
    root,
    folder,
    backupFolder,
    backupKey: (backup, file) => backupFolder(backup) + backupFiles[file].replace('%', () => backup),
    claimFolder,
    claimKey: ({ name, uid }) => `${claimFolder(name)}${uid}.json`,
    restoreFolder,
    restoreKey: (restore, file) => restoreFolder(restore) + restoreFiles[file].replace('%', () => restore),
    journalFolder,
    journalKey: (owner, segment) => `${journalFolder(owner)}${String(segment).padStart(8, '0')}.json`,
    kopiaFolder: volumeNamespace => `${folder('kopia')}${volumeNamespace}/`,
    resticFolder: volumeNamespace => `${folder('restic')}${volumeNamespace}/`,
    backupOfFolder(path) {
      const name = /^([^/]+)\/$/.exec(afterPrefix(path, folder('backups')) ?? '')?.[1]
      // Keys are made of it, and there are stores that take these for a way out of the folder.
      return name === '.' || name === '..' ? undefined : name
    },
  }
}

function afterPrefix(path: string, prefix: string): string | undefined {
  return path.startsWith(prefix) ? path.slice(prefix.length) : undefined
}
