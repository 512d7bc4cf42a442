/** Why a cluster could not be made, found or stopped. */
export class ClusterError extends Error {
  readonly code: 'CLUSTER_UNAVAILABLE' | 'CLUSTER_FAILED' | 'CLUSTER_EXISTS' | 'CLUSTER_NOT_FOUND'
  readonly hint: string

  constructor(code: ClusterError['code'], message: string, options: { hint: string; cause?: unknown }) {
    super(`${message}. ${options.hint}`, { cause: options.cause })
    this.name = 'ClusterError'
    this.code = code
    this.hint = options.hint
  }
}
