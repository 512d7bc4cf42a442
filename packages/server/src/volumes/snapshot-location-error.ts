type SnapshotLocationErrorCode =
  /** There is no location of that name. */
  | 'SNAPSHOT_LOCATION_NOT_FOUND'
  /** No plugin has the name of its provider. */
  | 'SNAPSHOT_PROVIDER_UNKNOWN'
  /** The secret that it refers to cannot be read. */
  | 'SNAPSHOT_CREDENTIAL_UNREADABLE'
  /** The plugin does not take its settings. */
  | 'SNAPSHOT_LOCATION_REFUSED'

/** A volume snapshot location cannot be used. */
export class SnapshotLocationError extends Error {
  override readonly name = 'SnapshotLocationError'
  readonly code: SnapshotLocationErrorCode
  readonly location: string
  readonly hint: string

  constructor(
    code: SnapshotLocationErrorCode,
    location: string,
    { reason, hint, cause }: { reason: string; hint: string; cause?: unknown },
  ) {
    super(reason, cause === undefined ? {} : { cause })
    this.code = code
    this.location = location
    this.hint = hint
  }
}
