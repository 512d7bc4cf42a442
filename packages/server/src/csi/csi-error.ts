export type CsiErrorCode =
  | 'NO_SNAPSHOT_CLASS'
  | 'SEVERAL_SNAPSHOT_CLASSES'
  | 'SNAPSHOT_NOT_OURS'
  | 'SNAPSHOT_WITHOUT_CONTENT'
  | 'SNAPSHOT_LOST'
  | 'GROUP_OF_SEVERAL_DRIVERS'
  | 'SNAPSHOT_LATE'
  | 'POLICY_NOT_CONFIRMED'
  | 'ARCHIVE_UNKNOWN'
  | 'NO_DATA_MOVER'
  | 'SNAPSHOT_NOT_DELETED'
  | 'SECRET_MISSING'

/** What went wrong with a snapshot through CSI, and what helps. */
export class CsiError extends Error {
  override readonly name = 'CsiError'
  readonly code: CsiErrorCode
  readonly hint: string

  constructor(code: CsiErrorCode, { reason, hint }: { reason: string; hint: string }) {
    super(`${reason}. ${hint}`)
    this.code = code
    this.hint = hint
  }
}
