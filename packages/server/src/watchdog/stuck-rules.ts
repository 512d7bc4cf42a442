import {
  type Backup,
  BackupKind,
  type CustomObject,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  durationMilliseconds,
  type Restore,
  RestoreKind,
  type Schedule,
  ScheduleKind,
  ServerStatusRequestKind,
} from '@lateen/api'
import { quoted } from './finding.ts'

/** An object of a kind that goes through phases. */
export type PhasedObject = CustomObject<object, { phase?: string }>

/** How long objects of a kind may be in some of their phases. */
export interface StuckRule<T extends PhasedObject = PhasedObject> {
  readonly phases: readonly string[]
  /** In milliseconds. */
  readonly limitMs: number
  /** What the object itself allows on top. */
  readonly allowedMs?: (object: T) => number
  /** From when the limit counts. Without it, or where the object does not say: from its creation. */
  readonly since?: (object: T) => string | undefined
  /** Objects that may stay as they are. */
  readonly except?: (object: T) => boolean
  readonly mend: (object: T) => string
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

/** A server that runs takes new objects up within seconds. */
const TAKE_UP_MS = 10 * MINUTE_MS

/** Longer than anything takes that goes on. */
const WORK_MS = 24 * HOUR_MS

const restart = ({ metadata }: PhasedObject) =>
  `kubectl rollout restart deployment/velero --namespace ${quoted(metadata.namespace ?? '')}`

const named = (text: string) => {
  const mend = ({ metadata }: PhasedObject) => text.replace('NAME', () => quoted(metadata.name ?? ''))
  return mend
}

const deleted = (plural: string) => {
  const mend = ({ metadata }: PhasedObject) =>
    `kubectl delete ${plural}.velero.io ${quoted(metadata.name ?? '')} --namespace ${quoted(metadata.namespace ?? '')}`
  return mend
}

const started = ({ status }: Backup | Restore) => status?.startTimestamp ?? undefined

/** How long operations may take that nobody has set a limit for. */
const OPERATIONS_MS = 4 * HOUR_MS

function operationsMs({ spec }: Backup | Restore): number {
  try {
    return durationMilliseconds(spec.itemOperationTimeout) || OPERATIONS_MS
  } catch {
    // One that cannot be read fails validation.
    return OPERATIONS_MS
  }
}

const waiting = ['WaitingForPluginOperations', 'WaitingForPluginOperationsPartiallyFailed']
const finalizing = ['Finalizing', 'FinalizingPartiallyFailed']

const backupRules: readonly StuckRule<Backup>[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, mend: restart },
  // They wait for others, which have a limit themselves.
  {
    phases: ['Queued', 'ReadyToStart'],
    limitMs: 2 * WORK_MS,
    mend: named('lateen backup cancel NAME --confirm'),
  },
  {
    phases: ['InProgress'],
    limitMs: WORK_MS,
    since: started,
    mend: named('lateen backup cancel NAME --confirm'),
  },
  {
    phases: [...waiting, ...finalizing],
    limitMs: WORK_MS,
    allowedMs: operationsMs,
    since: started,
    mend: named('lateen backup cancel NAME --confirm'),
  },
]

const restoreRules: readonly StuckRule<Restore>[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, mend: restart },
  {
    phases: ['InProgress'],
    limitMs: WORK_MS,
    since: started,
    mend: named('lateen restore cancel NAME --confirm'),
  },
  {
    phases: [...waiting, ...finalizing],
    limitMs: WORK_MS,
    allowedMs: operationsMs,
    since: started,
    mend: named('lateen restore cancel NAME --confirm'),
  },
]

const scheduleRules: readonly StuckRule<Schedule>[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, except: ({ spec }) => spec.paused === true, mend: restart },
]

const requestRules: readonly StuckRule[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, mend: restart },
  { phases: ['InProgress'], limitMs: WORK_MS, mend: deleted('deletebackuprequests') },
]

// One that cannot be answered says so, and goes after ten minutes.
const downloadRules: readonly StuckRule[] = [
  { phases: ['New'], limitMs: 2 * TAKE_UP_MS, mend: deleted('downloadrequests') },
]

const statusRequestRules: readonly StuckRule[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, mend: deleted('serverstatusrequests') },
]

/** The rules of each kind that is watched, by its name. Those of other kinds belong here, too. */
export const stuckRules: ReadonlyMap<string, readonly StuckRule[]> = new Map([
  [BackupKind.kind, backupRules as readonly StuckRule[]],
  [RestoreKind.kind, restoreRules as readonly StuckRule[]],
  [ScheduleKind.kind, scheduleRules as readonly StuckRule[]],
  [DeleteBackupRequestKind.kind, requestRules],
  [DownloadRequestKind.kind, downloadRules],
  [ServerStatusRequestKind.kind, statusRequestRules],
])
