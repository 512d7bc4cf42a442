import { type BlobId, type BlobStorage, blobId } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { RepoError } from '../errors/repo-error.ts'
import { type BlobCrypto, encryptBlob } from '../format/blob-crypto.ts'
import { newSessionId, serializeSessionMarker, sessionMarkerPrefix } from './session-marker.ts'

/** Who writes, as session markers and maintenance know them. */
export interface ClientIdentity {
  username: string
  hostname: string
}

/** What a session begins with. */
export interface SessionOptions {
  storage: BlobStorage
  crypto: BlobCrypto
  clock: Clock
  client: ClientIdentity
  randomBytes: (length: number) => Uint8Array
  signal?: AbortSignal | undefined
}

/** A session whose marker is stored: from now on maintenance leaves its packs alone. */
export interface WriteSession {
  readonly id: string
  readonly marker: BlobId
  /** By our clock, in ms. */
  readonly startedAt: number
}

/** Maintenance of Kopia and of ours refuses to run beyond this, and takes contents of a slow clock for old ones. */
const mostSkew = 5 * 60_000

/**
 * Puts the marker of a new session. Throws `CLOCK_SKEW` when our clock and the storage's differ by more than five minutes,
 * since the age of contents decides what maintenance deletes.
 */
export async function beginSession(options: SessionOptions): Promise<WriteSession> {
  const { storage, crypto, clock, client, randomBytes, signal } = options
  const startedAt = clock.now()
  const id = newSessionId(startedAt, randomBytes)
  const plaintext = serializeSessionMarker({ id, startTime: startedAt, checkpointTime: startedAt, ...client })
  const marker = encryptBlob(plaintext, { prefix: sessionMarkerPrefix, suffix: id }, crypto)
  await storage.put(marker.id, marker.bytes, { signal })
  const { timestamp } = await storage.head(marker.id, { signal })
  const skew = Math.max(startedAt - timestamp, timestamp - clock.now())
  if (skew > mostSkew) {
    await storage.delete(marker.id, { signal })
    throw clockSkew(storage, skew)
  }
  return { id, marker: blobId(marker.id), startedAt }
}

function clockSkew(storage: BlobStorage, skew: number): RepoError {
  const minutes = Math.round(skew / 60_000)
  return new RepoError('CLOCK_SKEW', {
    message: `This machine's clock and that of ${storage.description} differ by ${minutes} minutes`,
    hint: 'set both clocks by NTP; up to 5 minutes are allowed',
  })
}
