import {
  type Backup,
  type BackupStorageLocation,
  type DeleteBackupRequest,
  isTerminal,
  labelNames,
  lateenAnnotation,
  parseTime,
  type Restore,
  RestoreKind,
} from '@lateen/api'

/** All that the deletion of one backup depends on. */
export interface ObservedDeletion {
  /** Those that name the backup, in any order. */
  requests: readonly DeleteBackupRequest[]
  backupName: string
  /** As the API server has it now. */
  backup: Backup | undefined
  /** The backup's; undefined when it does not exist. */
  location: BackupStorageLocation | undefined
  /** Those from the backup. */
  restores: readonly Restore[]
  /** Another controller of this server works on the backup. */
  isBusy: boolean
  /** When this server looked at these requests for the first time. */
  seenSince: number
  /** No attempt is made earlier. */
  notBefore: number
  now: number
}

export type DeletionDecision =
  | { type: 'ignore' }
  | { type: 'wait'; afterMs: number; for?: string }
  /** These have nothing to say any more. */
  | { type: 'remove-requests'; requests: readonly DeleteBackupRequest[] }
  /** The backup cannot be deleted, and trying again would not help. */
  | { type: 'refuse'; request: DeleteBackupRequest; reason: string }
  /** From now on the request is being carried out. */
  | { type: 'take'; request: DeleteBackupRequest; backup: Backup }
  /** Nobody else is to touch the backup from now on. */
  | { type: 'mark'; backup: Backup }
  /** It cannot be deleted at present. */
  | { type: 'retry'; request: DeleteBackupRequest; reason: string }
  | { type: 'delete'; request: DeleteBackupRequest; backup: Backup }

/** Requests that were carried out, or not, go after this time, as they do in Velero. */
const REQUEST_AGE_MS = 24 * 3_600_000

/** A backup or restore that a server left behind is ended by the next one within this time. */
const TAKE_OVER_MS = 2_000

const LOOK_AGAIN_MS = 250
const READER_MS = 1_000

/** On a backup that does not say when it began, and did, for as long as it is Deleting: no time is made up, because others are compared with it. */
const begunAnnotation = lateenAnnotation('begun')

/**
 * Whether there may be files of the backup in its bucket. One that failed before it began has none: what lies there under its name,
 * which may be why it failed, belongs to another.
 */
export function hasBegun({ metadata, status }: Backup): boolean {
  const began = status?.startTimestamp !== undefined || metadata.annotations?.[begunAnnotation] !== undefined
  return began && !status?.failureReason?.includes('already exists in object storage')
}

/** What to do about the requests for the deletion of one backup. */
export function decideDeletion(observed: ObservedDeletion): DeletionDecision {
  const { requests, backupName, backup } = observed
  const pending = requests.filter(request => phaseOf(request) !== 'Processed').sort(newestFirst)
  const [request] = pending
  if (request === undefined) return decideProcessed(observed)
  if (backupName === '') return { type: 'refuse', request, reason: 'spec.backupName is required' }
  const begun = pending.find(each => phaseOf(each) === 'InProgress')
  // The object goes last, the requests after it.
  if (backup === undefined && begun !== undefined) return { type: 'remove-requests', requests: pending }
  // First of all: one that is about another backup does not take the place of any.
  if (backup !== undefined && !isAbout(request, backup)) {
    if (phaseOf(request) === 'InProgress') return { type: 'remove-requests', requests: [request] }
    return { type: 'refuse', request, reason: 'backup not found: there is another one of the same name now' }
  }
  const others = requests.filter(other => other !== request)
  if (others.length > 0) return { type: 'remove-requests', requests: others }
  if (backup === undefined) return { type: 'refuse', request, reason: 'backup not found' }
  return phaseOf(request) === 'New'
    ? decideNew({ ...observed, backup }, request)
    : decideBegun({ ...observed, backup }, request)
}

/** Whether what lies in the bucket is to be reached, and why it cannot be. In Velero's words. */
export function locationProblem(
  backup: Backup,
  location: BackupStorageLocation | undefined,
): string | undefined {
  if (!hasBegun(backup)) return undefined
  const name = backup.spec.storageLocation ?? ''
  if (location === undefined) return `backup storage location ${name} not found`
  if (location.spec.accessMode === 'ReadOnly') {
    return `cannot delete backup because backup storage location ${name} is currently in read-only mode`
  }
  if (location.status?.phase !== 'Available') {
    return `cannot delete backup because backup storage location ${name} is currently in Unavailable state`
  }
  return undefined
}

type Observed = ObservedDeletion & { backup: Backup }

function decideNew(observed: Observed, request: DeleteBackupRequest): DeletionDecision {
  const { backup, location, now, seenSince } = observed
  if (backup.status?.phase === 'InProgress') {
    if (now < seenSince + TAKE_OVER_MS) return { type: 'wait', afterMs: LOOK_AGAIN_MS }
    return { type: 'refuse', request, reason: 'backup is still in progress' }
  }
  const reason = locationProblem(ranOnce(backup), location)
  // A deletion that has begun waits for its location: who asks for it again must not end it.
  if (reason === undefined || backup.status?.phase === 'Deleting') return { type: 'take', request, backup }
  return { type: 'refuse', request, reason }
}

function decideBegun(observed: Observed, request: DeleteBackupRequest): DeletionDecision {
  const { backup, location, isBusy, notBefore, now } = observed
  const phase = backup.status?.phase
  if (phase === 'InProgress') return { type: 'wait', afterMs: LOOK_AGAIN_MS, for: 'the backup to end' }
  if (phase !== 'Deleting') return { type: 'mark', backup: ranOnce(backup) }
  if (isBusy) return { type: 'wait', afterMs: LOOK_AGAIN_MS }
  if (notBefore > now) return { type: 'wait', afterMs: notBefore - now }
  const reader = observed.restores.find(restore => isReading(restore, observed))
  if (reader !== undefined) {
    return { type: 'wait', afterMs: READER_MS, for: `the restore ${reader.metadata.name} to end` }
  }
  const reason = locationProblem(backup, location)
  return reason === undefined ? { type: 'delete', request, backup } : { type: 'retry', request, reason }
}

/** A restore that has not begun fails its validation now, unless it is just past that. */
function isReading({ metadata, status }: Restore, { seenSince, now }: Observed): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  const phase = status?.phase ?? 'New'
  if (phase === 'New') return now < seenSince + TAKE_OVER_MS
  return !isTerminal(RestoreKind, phase)
}

const begunPhases: ReadonlySet<string> = new Set([
  'Completed',
  'PartiallyFailed',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
])

/** With a note where nothing but the phase, which goes, tells that there are files. */
function ranOnce(backup: Backup): Backup {
  const { metadata, status } = backup
  if (hasBegun(backup) || !begunPhases.has(status?.phase ?? '')) return backup
  const annotations = { ...metadata.annotations, [begunAnnotation]: 'true' }
  return { ...backup, metadata: { ...metadata, annotations } }
}

function decideProcessed({ requests, now }: ObservedDeletion): DeletionDecision {
  const old = requests.filter(request => createdAt(request) + REQUEST_AGE_MS <= now)
  if (old.length > 0) return { type: 'remove-requests', requests: old }
  if (requests.length === 0) return { type: 'ignore' }
  const next = Math.min(...requests.map(createdAt)) + REQUEST_AGE_MS
  return { type: 'wait', afterMs: next - now }
}

/** A request knows the identity of the backup that it was made for, if whoever made it wrote that down. */
function isAbout({ metadata }: DeleteBackupRequest, backup: Backup): boolean {
  const uid = metadata.labels?.[labelNames.backupUid]
  return uid === undefined || uid === '' || uid === backup.metadata.uid
}

function phaseOf({ status }: DeleteBackupRequest) {
  return status?.phase ?? 'New'
}

function newestFirst(a: DeleteBackupRequest, b: DeleteBackupRequest): number {
  return createdAt(b) - createdAt(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
}

/** Milliseconds since 1970. */
export function createdAt({ metadata }: DeleteBackupRequest): number {
  return parseTime(metadata.creationTimestamp ?? '')
}
