import {
  type Backup,
  BackupKind,
  BackupRepositoryKind,
  type CustomObject,
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  DataUploadKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  durationMilliseconds,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  type Restore,
  RestoreKind,
  type Schedule,
  ScheduleKind,
  ServerStatusRequestKind,
} from '@lateen/api'
import { isBuiltInMover } from '../volumes/new-data-upload.ts'
import { quoted } from './finding.ts'
import { patchCommand } from './patch-command.ts'

/** An object of a kind that goes through phases. */
export type PhasedObject = CustomObject<object, { phase?: string; completionTimestamp?: string | null }>

/** Objects that are at work while others of their namespace wait. */
export interface Ahead {
  readonly kinds: readonly string[]
  readonly phases: readonly string[]
}

/** How long objects of a kind may be in some of their phases. */
export interface StuckRule<T extends PhasedObject = PhasedObject> {
  readonly phases: readonly string[]
  /** In milliseconds. */
  readonly limitMs: number
  /** What the object itself allows on top, or the one that it belongs to, which is among all of its namespace. */
  readonly allowedMs?: (object: T, all: readonly PhasedObject[]) => number
  /** From when the limit counts. Without it, or where the object does not say: from its creation. */
  readonly since?: (object: T) => string | undefined
  /** Objects that may stay as they are. */
  readonly except?: (object: T) => boolean
  /** What it may wait for. While there is one of these it does not count: each has a limit of its own. */
  readonly behind?: Ahead
  readonly mend: (object: T) => string
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

/** A server that runs, and has room, takes objects up within seconds. */
export const TAKE_UP_MS = 10 * MINUTE_MS

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

const started = ({ status }: Backup | Restore | VolumeMove) => status?.startTimestamp ?? undefined

const accepted = ({ status }: VolumeMove) => status?.acceptedTimestamp ?? undefined

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
  {
    phases: ['Queued'],
    limitMs: 2 * WORK_MS,
    behind: { kinds: [BackupKind.kind], phases: ['ReadyToStart', 'InProgress'] },
    mend: named('lateen backup cancel NAME --confirm'),
  },
  {
    phases: ['ReadyToStart'],
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
  {
    phases: ['New'],
    limitMs: TAKE_UP_MS,
    behind: { kinds: [RestoreKind.kind], phases: ['InProgress'] },
    mend: restart,
  },
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
  {
    phases: ['New'],
    limitMs: TAKE_UP_MS,
    behind: { kinds: [DeleteBackupRequestKind.kind], phases: ['InProgress'] },
    mend: restart,
  },
  { phases: ['InProgress'], limitMs: WORK_MS, mend: deleted('deletebackuprequests') },
]

// One that cannot be answered says so, and goes after ten minutes.
const downloadRules: readonly StuckRule[] = [
  { phases: ['New'], limitMs: 2 * TAKE_UP_MS, mend: deleted('downloadrequests') },
]

const statusRequestRules: readonly StuckRule[] = [
  { phases: ['New'], limitMs: TAKE_UP_MS, mend: deleted('serverstatusrequests') },
]

type DataMove = DataUpload | DataDownload
type VolumeMove = PodVolumeBackup | PodVolumeRestore | DataMove

const moveKinds: readonly string[] = [
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
  DataUploadKind,
  DataDownloadKind,
].map(({ kind }) => kind)

/** Whether an object is moved through its phases by movers, and not by the server. */
export function isMove({ kind }: PhasedObject): boolean {
  return moveKinds.includes(kind)
}

/** Whether another data mover than Lateen's does it, whose phases last as long as that likes. */
export function isOfOtherMover(object: PhasedObject): boolean {
  return isDataMove(object) && !isBuiltInMover(object.spec.datamover)
}

function isDataMove(object: PhasedObject): object is DataMove {
  return object.kind === DataUploadKind.kind || object.kind === DataDownloadKind.kind
}

/** Backups and restores wait this long for volumes of pods, and for operations, unless somebody says otherwise. */
const MOVE_WAIT_MS = 4 * HOUR_MS

const moving = ['InProgress', 'Canceling']

/** One that was cancelled and goes on is not heard of by its node agent. Movers outlive that. */
const stopped = (move: VolumeMove) =>
  move.spec.cancel
    ? `kubectl rollout restart daemonset/node-agent --namespace ${quoted(move.metadata.namespace ?? '')}`
    : patchCommand(move, { spec: { cancel: true } })

/** It is an operation of its backup or restore, which cancels it when its time is over. */
function ownersMs(move: VolumeMove, all: readonly PhasedObject[]): number {
  if (!isDataMove(move)) return 0
  const { labels } = move.metadata
  const uid = labels?.[labelNames.backupUid] ?? labels?.[labelNames.restoreUid]
  const owner = uid && all.find(other => other.metadata.uid === uid)
  return owner ? Math.max(0, operationsMs(owner as Backup | Restore) - WORK_MS) : 0
}

/** All four share the slots of a node, and the pods that may be prepared at a time. */
const moveRules: readonly StuckRule<VolumeMove>[] = [
  {
    phases: ['New'],
    limitMs: MOVE_WAIT_MS,
    behind: { kinds: moveKinds, phases: ['Accepted', 'Prepared', ...moving] },
    mend: stopped,
  },
  // Its node agent gives up much earlier.
  { phases: ['Accepted'], limitMs: MOVE_WAIT_MS, since: accepted, mend: stopped },
  {
    phases: ['Prepared'],
    limitMs: MOVE_WAIT_MS,
    since: accepted,
    behind: { kinds: moveKinds, phases: moving },
    mend: stopped,
  },
  { phases: moving, limitMs: WORK_MS, allowedMs: ownersMs, since: started, mend: stopped },
]

// They are opened a few at a time, at stores that may take long to answer. One that cannot be opened is NotReady, with the reason.
const repositoryRules: readonly StuckRule[] = [{ phases: ['New'], limitMs: HOUR_MS, mend: restart }]

/** The rules of each kind that is watched, by its name. Those of other kinds belong here, too. */
export const stuckRules: ReadonlyMap<string, readonly StuckRule[]> = new Map([
  [BackupKind.kind, backupRules as readonly StuckRule[]],
  [RestoreKind.kind, restoreRules as readonly StuckRule[]],
  [ScheduleKind.kind, scheduleRules as readonly StuckRule[]],
  [DeleteBackupRequestKind.kind, requestRules],
  [DownloadRequestKind.kind, downloadRules],
  [ServerStatusRequestKind.kind, statusRequestRules],
  ...moveKinds.map(kind => [kind, moveRules as readonly StuckRule[]] as const),
  [BackupRepositoryKind.kind, repositoryRules],
])
