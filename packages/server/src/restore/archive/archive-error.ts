const hints = {
  ARCHIVE_NOT_GZIP:
    'the object in the bucket is no tar.gz: it was replaced, or stored encrypted or compressed once more',
  ARCHIVE_TRUNCATED: 'the object in the bucket is not complete: restore from another backup',
  ARCHIVE_DAMAGED: 'the object in the bucket was changed after the backup: restore from another backup',
  ARCHIVE_NOT_BACKUP:
    'it is no archive of a backup: see what else is in the folder of the backup in the bucket',
  ARCHIVE_PATH: 'no backup contains such an entry: do not trust this archive',
  ARCHIVE_DUPLICATE: 'no backup contains an entry twice: do not trust this archive',
  ARCHIVE_ENTRY_TYPE: 'backups contain files and folders only: do not trust this archive',
  ARCHIVE_TOO_LARGE:
    'restore from a backup of fewer objects; if you know of no backup that large, do not trust this archive',
  ARCHIVE_BOMB: 'no backup compresses that well: do not trust this archive',
} as const

/** What is wrong with an archive as a whole. */
export type ArchiveErrorCode = keyof typeof hints

/** An archive that cannot be read as that of a backup. Nothing of it was restored. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
  readonly code: ArchiveErrorCode
  readonly hint: string

  constructor(code: ArchiveErrorCode, reason: string, options?: ErrorOptions) {
    super(`the archive of the backup cannot be read: ${reason}`, options)
    this.code = code
    this.hint = hints[code]
  }
}

/** How an entry is called in messages: quoted, and not longer than a line. */
export function quoted(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}
