/** What sort of thing was found. */
export const findingTypes = [
  /** An object that has been in a phase for longer than that takes. */
  'stuck',
  /** An object whose backup, restore or location does not exist. */
  'unreferenced-object',
  /** Files below `backups/` that make no backup. */
  'unfinished-backup',
  /** A backup that has ended well, and whose `velero-backup.json` is gone. */
  'half-deleted-backup',
  /** Files of a restore that does not exist here. */
  'restore-files',
  /** Notes about operations that have ended. */
  'journal',
  /** A key that belongs to no backup and no restore. */
  'stray-key',
  /** A snapshot that only an unfinished backup knows. */
  'snapshot',
  /** An object of a snapshot that is left in the cluster after its backup has ended. */
  'snapshot-object',
  /** What could not be looked at. */
  'not-examined',
] as const

export type FindingType = (typeof findingTypes)[number]

/** Something that does not mend itself. */
export interface Finding {
  readonly type: FindingType
  /** What it is about, such as `Backup shop`. */
  readonly subject: string
  /** What is wrong with it, as the rest of a sentence that begins with the subject. */
  readonly problem: string
  /** Since when, in RFC 3339, if that is known. */
  readonly since?: string | undefined
  /** The command that would mend it, if there is one. Nobody has run it. */
  readonly mend: string
}

/** A text as a shell takes it for one word. */
export function quoted(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
