import { formatTime, parseTime } from '@lateen/api'
import type { OperationProgress } from '@lateen/plugin'
import { cutText, longestTexts } from './cut-text.ts'
import type { OperationStatus } from './operation-status.ts'

/** What an action said about an operation. */
export type Answer =
  | { type: 'progress'; progress: OperationProgress }
  /** The action, or whoever knows the actions, says that there will be no progress. */
  | { type: 'refused'; reason: string }
  /** Nobody answered: the same question may get an answer later. */
  | { type: 'unreachable'; reason: string }

export interface AskedOperation {
  status: OperationStatus
  answer: Answer
  /** Milliseconds since 1970. */
  now: number
  /** How long an operation may take from its creation. */
  timeoutMs: number
}

/** How an operation stands now. */
export interface AfterAsking {
  status: OperationStatus
  /** Set when it has just failed. */
  failure?: string
  /** Its time is over: the action is to be told to stop. */
  timedOut: boolean
}

/** Velero's own words, which people search for. */
const timeoutError = 'Asynchronous action timed out'

/** How an operation stands after its action was asked about it. It must not have ended before. An answer of no use is a refusal. */
export function afterAsking(asked: AskedOperation): AfterAsking {
  try {
    return understood(asked)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return failed(asked.status, `how it stands cannot be told: ${reason}`)
  }
}

function understood({ status, answer, now, timeoutMs }: AskedOperation): AfterAsking {
  if (answer.type === 'refused') return failed(status, answer.reason)
  const seen = answer.type === 'progress' ? withProgress(status, answer.progress) : status
  if (answer.type === 'progress' && answer.progress.completed) {
    if (answer.progress.error !== '') return failed(seen, answer.progress.error)
    return { status: { ...seen, phase: 'Completed' }, timedOut: false }
  }
  if (isOverdue(status, now, timeoutMs)) {
    const because = answer.type === 'unreachable' ? `; its plugin does not answer: ${answer.reason}` : ''
    return { ...failed(seen, timeoutError + because), timedOut: true }
  }
  const started = seen.phase === 'New' && seen.started !== undefined
  return { status: started ? { ...seen, phase: 'InProgress' } : seen, timedOut: false }
}

function failed(status: OperationStatus, reason: string): AfterAsking {
  const error = cutText(reason, longestTexts.error)
  return { status: { ...status, phase: 'Failed', error }, failure: error, timedOut: false }
}

/** Every operation that is begun here has a time of creation; for one without, there is no telling how long it was waited for. */
function isOverdue({ created }: OperationStatus, now: number, timeoutMs: number): boolean {
  return created === undefined || parseTime(created) + timeoutMs < now
}

function withProgress(status: OperationStatus, progress: OperationProgress): OperationStatus {
  const { nCompleted, nTotal } = progress
  const operationUnits = cutText(progress.operationUnits, longestTexts.operationUnits)
  const description = cutText(progress.description, longestTexts.description)
  return {
    phase: status.phase,
    ...(status.error !== undefined && { error: status.error }),
    ...(nCompleted !== 0 && { nCompleted }),
    ...(nTotal !== 0 && { nTotal }),
    ...(operationUnits !== '' && { operationUnits }),
    ...(description !== '' && { description }),
    ...(status.created !== undefined && { created: status.created }),
    ...timed('started', progress.started, status.started),
    ...timed('updated', progress.updated, status.updated),
  }
}

/** What the action does not know any more is still what it said before. */
function timed<Name extends string>(name: Name, time: number | undefined, before: string | undefined) {
  const text = isKnown(time) ? formatTime(time) : before
  return text === undefined ? {} : ({ [name]: text } as Record<Name, string>)
}

/** 10000-01-01, from when on a time is not written as Velero reads it. */
const BEYOND_TIME_MS = 253_402_300_800_000

// Go's zero time is the year 1, and the design has actions say 1970 for a time that they do not know.
function isKnown(time: number | undefined): time is number {
  return time !== undefined && time > 0 && time < BEYOND_TIME_MS
}
