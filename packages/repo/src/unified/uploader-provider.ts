import type { ProviderKind } from './repository-provider.ts'

/** How far a backup or restore has come; totals are undefined until they are known. */
export interface DataPathProgress {
  readonly bytesDone: number
  readonly totalBytes: number | undefined
  readonly filesDone?: number
  readonly totalFiles?: number | undefined
}

/** What a run may be given: `signal` cancels it, which ends it with `CANCELLED`. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: DataPathProgress) => void) | undefined
}

/** What a backup may be given besides. */
export interface BackupRunOptions extends RunOptions {
  /** Asked when all was read, before there is a snapshot. What it throws is thrown by the run, and there will be none. Restic is not asked. */
  readonly confirm?: (() => Promise<void>) | undefined
}

/** Whether a path holds a file system or is a block device. */
export type VolumeMode = 'filesystem' | 'block'

/** One volume to back up. */
export interface BackupRun {
  /** A folder, or a device for `block`. */
  readonly path: string
  /**
   * What the data stands for, such as `namespace/claim`. Without it there is no parent and the backup is
   * full.
   */
  readonly realSource?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Reads everything again even where a parent exists. */
  readonly forceFull?: boolean
  /** The snapshot to compare with; else the newest complete one of the same source and tags. */
  readonly parentSnapshot?: string
  readonly volumeMode?: VolumeMode
  readonly uploaderConfig?: UploaderConfig
}

/** Tunes one run. */
export interface UploaderConfig {
  readonly parallelFilesUpload?: number
  readonly parallelFilesDownload?: number
  readonly writeSparseFiles?: boolean
}

/** What a backup left in the repository. */
export interface BackupOutcome {
  readonly snapshotId: string
  /** True when there was nothing in the volume. Restic then makes no snapshot and the id is empty. */
  readonly empty: boolean
  /** Bytes of the volume. */
  readonly totalBytes: number
  /** Bytes that had to be read because they were not in the parent. */
  readonly incrementalBytes: number
}

/** One snapshot to restore. */
export interface RestoreRun {
  readonly snapshotId: string
  /** An existing folder, or a device for `block`. */
  readonly path: string
  readonly volumeMode?: VolumeMode
  readonly uploaderConfig?: UploaderConfig
}

/** What a restore wrote. */
export interface RestoreOutcome {
  readonly bytes: number
}

/** Moves the data of one volume into one repository and back. */
export interface UploaderProvider extends AsyncDisposable {
  readonly kind: ProviderKind
  /**
   * Throws `SOURCE_FAILED`, `CANCELLED` or the repository's error; a failed run leaves no complete snapshot.
   */
  runBackup(run: BackupRun, options?: BackupRunOptions): Promise<BackupOutcome>
  /** Throws `MANIFEST_NOT_FOUND`, `TARGET_FAILED`, `CANCELLED` or the repository's error. */
  runRestore(run: RestoreRun, options?: RunOptions): Promise<RestoreOutcome>
  close(): Promise<void>
}
