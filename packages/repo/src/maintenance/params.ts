import { corrupt } from '../errors/repo-error.ts'
import { asJsonObject, type JsonObject, type JsonValue } from '../go-json/go-json.ts'

/** How often one of the two cycles runs. */
export interface CycleParams {
  enabled: boolean
  /** Nanoseconds. */
  interval: bigint
}

/** What of the diagnostic logs is kept; 0 means no limit of that kind. */
export interface LogRetention {
  maxTotalSize: bigint
  maxCount: number
  /** Nanoseconds. */
  maxAge: bigint
}

/** Maintenance parameters of a repository, kept in the manifest with the label `type=maintenance`. */
export interface MaintenanceParams {
  /** `user@host` of the only client that runs maintenance unasked. */
  owner: string
  quick: CycleParams
  full: CycleParams
  logRetention: LogRetention
  extendObjectLocks: boolean
  listParallelism: number
  /** Fields this version does not know; written back as they were. */
  unknown: Readonly<JsonObject>
}

/** Labels of the manifest. */
export const maintenanceParamsLabels = { type: 'maintenance' } as const

const second = 1_000_000_000n
const hour = 3600n * second

/** What Kopia keeps of its logs: 1 GiB, 10,000 blobs, 30 days. */
export const defaultLogRetention: LogRetention = {
  maxTotalSize: 2n ** 30n,
  maxCount: 10_000,
  maxAge: 30n * 24n * hour,
}

/** What holds when no parameters are stored, for the given owner (none by default, so that nobody owns it). */
export function defaultMaintenanceParams(owner = ''): MaintenanceParams {
  return {
    owner,
    quick: { enabled: true, interval: hour },
    full: { enabled: true, interval: 24n * hour },
    logRetention: { ...defaultLogRetention },
    extendObjectLocks: false,
    listParallelism: 0,
    unknown: {},
  }
}

const known = new Set(['owner', 'quick', 'full', 'logRetention', 'extendObjectLocks', 'listParallelism'])

/** Parameters from the manifest's JSON. Absent fields are zero, as Go reads them. Throws `CORRUPT`. */
export function parseMaintenanceParams(json: JsonValue): MaintenanceParams {
  const fields = asJsonObject(json, 'The manifest of maintenance parameters')
  const retention = asJsonObject(fields.logRetention ?? {}, 'The log retention')
  return {
    owner: typeof fields.owner === 'string' ? fields.owner : '',
    quick: parseCycle(fields.quick),
    full: parseCycle(fields.full),
    logRetention: orDefault({
      maxTotalSize: asBigInt(retention.maxTotalSize),
      maxCount: Number(asBigInt(retention.maxCount)),
      maxAge: asBigInt(retention.maxAge),
    }),
    extendObjectLocks: fields.extendObjectLocks === true,
    listParallelism: Number(asBigInt(fields.listParallelism)),
    unknown: Object.fromEntries(Object.entries(fields).filter(([name]) => !known.has(name))),
  }
}

/** The manifest's JSON, fields in Kopia's order; the inverse of `parseMaintenanceParams`. */
export function serializeMaintenanceParams(params: MaintenanceParams): JsonObject {
  return {
    owner: params.owner,
    quick: { ...params.quick },
    full: { ...params.full },
    logRetention: { ...params.logRetention },
    extendObjectLocks: params.extendObjectLocks,
    listParallelism: params.listParallelism,
    ...params.unknown,
  }
}

function parseCycle(json: JsonValue | undefined): CycleParams {
  const fields = asJsonObject(json ?? {}, 'A maintenance cycle')
  return { enabled: fields.enabled === true, interval: asBigInt(fields.interval) }
}

// All three limits at zero mean "nothing was configured", not "keep everything" (kopia LogRetentionOptions.OrDefault).
function orDefault(retention: LogRetention): LogRetention {
  const isSet = retention.maxTotalSize !== 0n || retention.maxCount !== 0 || retention.maxAge !== 0n
  return isSet ? retention : { ...defaultLogRetention }
}

function asBigInt(json: JsonValue | undefined): bigint {
  if (json === undefined || json === null) return 0n
  if (typeof json === 'bigint') return json
  if (typeof json === 'number' && Number.isSafeInteger(json)) return BigInt(json)
  throw corrupt(`The maintenance parameters hold ${JSON.stringify(json)} where a whole number is expected`)
}
