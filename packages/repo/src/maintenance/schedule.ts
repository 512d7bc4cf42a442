import { createCipheriv, createDecipheriv } from 'node:crypto'
import { corrupt, RepoError } from '../errors/repo-error.ts'
import {
  asJsonObject,
  encodeGoJson,
  goMap,
  type JsonObject,
  type JsonValue,
  parseGoJson,
} from '../go-json/go-json.ts'
import { formatGoTime, type GoTime, parseGoTime } from '../go-json/go-time.ts'

/** What a task tells about itself in the history; `data` is kept as it came. */
export interface RunExtra {
  kind: string
  data: JsonValue
}

/** One run of one task. */
export interface RunRecord {
  start: GoTime
  end: GoTime
  success: boolean
  error: string
  extra: readonly RunExtra[]
  /** Fields this version does not know; written back as they were. */
  unknown: Readonly<JsonObject>
}

/**
 * Content of the blob `kopia.maintenance`: when the cycles are due, and per task its runs, newest first. The safety
 * rules of every maintainer read the history, so nothing of it may get lost when it is written back.
 */
export interface MaintenanceSchedule {
  nextFull: GoTime
  nextQuick: GoTime
  runs: Readonly<Record<string, readonly RunRecord[]>>
  unknown: Readonly<JsonObject>
}

/** More runs of one task are not kept. */
export const maxRunsPerTask = 50

/** Go's zero time, 0001-01-01T00:00:00Z: "never", and due at once. */
export const goZeroTime: GoTime = -62_135_596_800_000_000_000n

/** What holds while no schedule has been written: both cycles are due. */
export const emptySchedule: MaintenanceSchedule = {
  nextFull: goZeroTime,
  nextQuick: goZeroTime,
  runs: {},
  unknown: {},
}

/** The schedule with one more run of `task` in front; the oldest beyond 50 are dropped. */
export function recordRun(schedule: MaintenanceSchedule, task: string, run: RunRecord): MaintenanceSchedule {
  const history = [run, ...(schedule.runs[task] ?? [])].slice(0, maxRunsPerTask)
  return { ...schedule, runs: { ...schedule.runs, [task]: history } }
}

const scheduleFields = new Set(['nextFullMaintenance', 'nextQuickMaintenance', 'runs'])
const runFields = new Set(['start', 'end', 'success', 'error', 'extra'])

/** The schedule in a JSON text. Throws `CORRUPT`. */
export function parseSchedule(text: string): MaintenanceSchedule {
  const fields = asJsonObject(parseGoJson(text), 'The maintenance schedule')
  const runs = Object.entries(asJsonObject(fields.runs ?? {}, 'The history of maintenance')).map(
    ([task, list]) => [task, asArray(list ?? []).map(parseRun)] as const,
  )
  return {
    nextFull: asTime(fields.nextFullMaintenance),
    nextQuick: asTime(fields.nextQuickMaintenance),
    runs: Object.fromEntries(runs),
    unknown: without(fields, scheduleFields),
  }
}

/** The JSON text as Go's `Marshal` writes it; the inverse of `parseSchedule`. */
export function serializeSchedule(schedule: MaintenanceSchedule): string {
  const runs = Object.entries(schedule.runs).map(([task, list]) => [task, list.map(runToJson)] as const)
  return encodeGoJson({
    nextFullMaintenance: formatGoTime(schedule.nextFull),
    nextQuickMaintenance: formatGoTime(schedule.nextQuick),
    runs: runs.length === 0 ? null : goMap(runs),
    ...schedule.unknown,
  })
}

const nonceLength = 12
const tagLength = 16
const additionalData = Buffer.from('maintenance')

/** Bytes of the blob: nonce, ciphertext, tag. `nonce` must be 12 fresh random bytes. */
export function sealSchedule(schedule: MaintenanceSchedule, key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(additionalData)
  const body = [cipher.update(serializeSchedule(schedule), 'utf8'), cipher.final()]
  return Buffer.concat([nonce, ...body, cipher.getAuthTag()])
}

/** The schedule in the bytes of the blob; the inverse of `sealSchedule`. Throws `CORRUPT`. */
export function openSchedule(bytes: Uint8Array, key: Uint8Array): MaintenanceSchedule {
  if (bytes.length < nonceLength + tagLength) {
    throw corrupt(`The maintenance schedule has ${bytes.length} bytes, too few to be one`, {
      hint: damagedHint,
    })
  }
  return parseSchedule(decrypt(bytes, key))
}

const damagedHint =
  'Delete the blob kopia.maintenance to start a new history; packs are then kept until two more collections ran'

function decrypt(bytes: Uint8Array, key: Uint8Array): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceLength))
  decipher.setAAD(additionalData)
  decipher.setAuthTag(bytes.subarray(bytes.length - tagLength))
  try {
    const body = decipher.update(bytes.subarray(nonceLength, bytes.length - tagLength))
    return Buffer.concat([body, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new RepoError('CORRUPT', {
      message: 'The maintenance schedule does not decrypt: it is damaged or belongs to another repository',
      hint: damagedHint,
      cause,
    })
  }
}

function parseRun(json: JsonValue): RunRecord {
  const fields = asJsonObject(json, 'A run of maintenance')
  return {
    start: asTime(fields.start),
    end: asTime(fields.end),
    success: fields.success === true,
    error: typeof fields.error === 'string' ? fields.error : '',
    extra: asArray(fields.extra ?? []).map(parseExtra),
    unknown: without(fields, runFields),
  }
}

function parseExtra(json: JsonValue): RunExtra {
  const fields = asJsonObject(json, 'A run of maintenance')
  const kind = fields.kind
  return { kind: typeof kind === 'string' ? kind : '', data: fields.data ?? null }
}

function runToJson(run: RunRecord): Record<string, unknown> {
  return {
    start: formatGoTime(run.start),
    end: formatGoTime(run.end),
    ...(run.success ? { success: true } : {}),
    ...(run.error === '' ? {} : { error: run.error }),
    ...(run.extra.length === 0 ? {} : { extra: run.extra.map(({ kind, data }) => ({ kind, data })) }),
    ...run.unknown,
  }
}

function without(fields: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))
}

function asTime(json: JsonValue | undefined): GoTime {
  if (json === undefined || json === null) return goZeroTime
  if (typeof json !== 'string') throw corrupt('The maintenance schedule holds a time that is no text')
  return parseGoTime(json)
}

function asArray(json: JsonValue): JsonValue[] {
  if (json === null) return []
  if (!Array.isArray(json))
    throw corrupt('The maintenance schedule holds something else where a list is expected')
  return json
}
