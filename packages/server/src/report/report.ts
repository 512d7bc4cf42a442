import type { Logger } from '@lateen/kube'

/** Messages by where they belong, as `-results.gz` holds them. */
export interface ResultList {
  velero?: string[]
  cluster?: string[]
  namespaces?: Record<string, string[]>
}

/** `-results.gz`. */
export interface Results {
  errors: ResultList
  warnings: ResultList
}

/**
 * The log of one backup, which is also its report: every line goes to `-logs.gz`, and warnings and errors are counted and
 * listed under the namespace that their fields name (`namespace`, `resource`, `name`, `error`).
 */
export interface BackupLog extends Logger, AsyncDisposable {
  readonly warnings: number
  readonly errors: number
  readonly results: Results
  /** The gzipped lines so far; reading does not end the log. */
  open(): Promise<AsyncIterable<Uint8Array>>
}
