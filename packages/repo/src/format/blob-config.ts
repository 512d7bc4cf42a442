import { corrupt, RepoError } from '../errors/repo-error.ts'
import { asJsonObject, encodeGoJson, parseGoJson } from '../go-json/go-json.ts'

/** How object stores are asked to lock blobs. */
export interface BlobRetention {
  mode: 'COMPLIANCE' | 'GOVERNANCE'
  /** Milliseconds, at least a day. */
  period: number
}

/** What `kopia.blobcfg` says; without retention the stored JSON is `{}`. */
export interface BlobConfig {
  retention: BlobRetention | undefined
}

/** The configuration of a repository that locks nothing. */
export const emptyBlobConfig: BlobConfig = { retention: undefined }

const shortestPeriod = 24 * 3_600_000

/** The plaintext of `kopia.blobcfg`. Throws `INVALID_ARGUMENT` for a retention shorter than a day. */
export function serializeBlobConfig({ retention }: BlobConfig): Uint8Array {
  if (retention !== undefined && retention.period < shortestPeriod) {
    throw new RepoError('INVALID_ARGUMENT', { message: 'The retention period must be at least 24 hours' })
  }
  const json =
    retention === undefined
      ? {}
      : { retentionMode: retention.mode, retentionPeriod: BigInt(Math.round(retention.period)) * 1_000_000n }
  return new TextEncoder().encode(encodeGoJson(json))
}

/** Reads the plaintext of `kopia.blobcfg`. Throws `CORRUPT`. */
export function parseBlobConfig(plaintext: Uint8Array): BlobConfig {
  const json = asJsonObject(parseGoJson(Buffer.from(plaintext).toString('utf8')), 'kopia.blobcfg')
  const mode = json.retentionMode ?? ''
  const period = json.retentionPeriod ?? 0
  if (mode === '' && period === 0) return emptyBlobConfig
  if (mode !== 'GOVERNANCE' && mode !== 'COMPLIANCE')
    throw corrupt('kopia.blobcfg has an unknown retention mode')
  if (typeof period !== 'number' && typeof period !== 'bigint')
    throw corrupt('kopia.blobcfg has a malformed retention period')
  return { retention: { mode, period: Number(period) / 1e6 } }
}
