import { corrupt } from '../errors/repo-error.ts'
import { asJsonObject, encodeGoJson, type JsonValue, parseGoJson } from '../go-json/go-json.ts'
import { formatGoTime, goTimeFromMillis, goTimeToMillis, parseGoTime } from '../go-json/go-time.ts'

/** What a session's marker blob says: who writes, since when; times in ms. */
export interface SessionMarker {
  id: string
  startTime: number
  checkpointTime: number
  username: string
  hostname: string
}

/** The first letter of a marker's blob name. */
export const sessionMarkerPrefix = 's'

const sessionEpoch = Date.UTC(2000, 0, 1)
const thirtyDays = 30 * 24 * 3600 * 1000

/** A new session id: random, then the count of 30-day months since 2000, which sorts sessions by age roughly. */
export function newSessionId(now: number, randomBytes: (length: number) => Uint8Array): string {
  const month = Math.floor((now - sessionEpoch) / thirtyDays)
  return `s${Buffer.from(randomBytes(8)).toString('hex')}${month.toString(16)}`
}

/** The plaintext of a marker blob. */
export function serializeSessionMarker(marker: SessionMarker): Uint8Array {
  return Buffer.from(
    encodeGoJson({
      id: marker.id,
      startTime: formatGoTime(goTimeFromMillis(marker.startTime)),
      checkpointTime: formatGoTime(goTimeFromMillis(marker.checkpointTime)),
      username: marker.username,
      hostname: marker.hostname,
    }),
  )
}

/** Reads a marker's plaintext. Throws `CORRUPT`. */
export function parseSessionMarker(bytes: Uint8Array): SessionMarker {
  const json = asJsonObject(parseGoJson(Buffer.from(bytes).toString('utf8')), 'session marker')
  return {
    id: text(json.id),
    startTime: goTimeToMillis(parseGoTime(text(json.startTime))),
    checkpointTime: goTimeToMillis(parseGoTime(text(json.checkpointTime))),
    username: text(json.username),
    hostname: text(json.hostname),
  }
}

function text(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw corrupt('A session marker lacks a field')
  return value
}
