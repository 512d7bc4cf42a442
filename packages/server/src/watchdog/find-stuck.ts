import { formatTime, goDurationOf } from '@lateen/api'
import type { Finding } from './finding.ts'
import { patchCommand } from './patch-command.ts'
import {
  type Ahead,
  HOUR_MS,
  isMove,
  isOfOtherMover,
  type PhasedObject,
  type StuckRule,
  stuckRules,
  TAKE_UP_MS,
} from './stuck-rules.ts'

/** An object that does not go on by itself. */
export interface StuckObject {
  readonly object: PhasedObject
  /** `Terminating` for one whose deletion does not come to an end. */
  readonly phase: string
  /** As the rest of a sentence that begins with the object. */
  readonly problem: string
  /** Milliseconds since 1970, if it is known. */
  readonly since?: number
  /** Whether another object could have made it go on: two objects are not seen at the same moment, so that one look alone may be wrong. */
  readonly hingesOnOthers?: boolean
  readonly mend: string
}

/** Finalizers have an hour to let go. Movers have one to hear that they are cancelled, before what was made for them is removed. */
const TERMINATING_MS = { move: 2 * HOUR_MS, other: HOUR_MS } as const

/**
 * Those of a namespace's objects that have been where they are for longer than they may at `now` (milliseconds since 1970), though nothing
 * is at work that they wait for. Kinds without rules never have, nor has what data movers do that are not Lateen's.
 */
export function findStuck(objects: Iterable<PhasedObject>, now: number): StuckObject[] {
  const all = [...objects].filter(object => !isOfOtherMover(object))
  const isBusy = busyTest(all, now)
  const stuck: StuckObject[] = []
  for (const object of all) {
    const stay = object.metadata.deletionTimestamp ? terminating(object) : stayInPhase(object, all)
    // A time that cannot be read is none.
    if (stay === undefined || !(now - stay.since > stay.limitMs)) continue
    if (stay.behind !== undefined && isBusy(stay.behind)) continue
    const { phase, since, limitMs, behind, mend } = stay
    const problem = `is ${phase} for longer than ${shortDuration(limitMs)}`
    stuck.push({ object, phase, problem, since, hingesOnOthers: behind !== undefined, mend })
  }
  return stuck
}

/** Tells whether one of those is at work, or has just ended: the next one is taken up a moment later. */
function busyTest(all: readonly PhasedObject[], now: number): (ahead: Ahead) => boolean {
  const answers = new Map<Ahead, boolean>()
  return ahead => {
    const answer = answers.get(ahead) ?? all.some(object => isAhead(object, ahead, now))
    answers.set(ahead, answer)
    return answer
  }
}

function isAhead({ kind, status }: PhasedObject, { kinds, phases }: Ahead, now: number): boolean {
  if (!kinds.includes(kind)) return false
  const endedForMs = now - Date.parse(status?.completionTimestamp ?? '')
  return phases.includes(status?.phase ?? '') || (endedForMs >= 0 && endedForMs <= TAKE_UP_MS)
}

/** A stuck object for people. */
export function stuckFinding({ object, problem, since, mend }: StuckObject): Finding {
  return {
    type: 'stuck',
    subject: `${object.kind} ${object.metadata.name}`,
    problem,
    ...(since !== undefined && { since: formatTime(since) }),
    mend,
  }
}

interface Stay {
  phase: string
  since: number
  limitMs: number
  behind?: Ahead | undefined
  mend: string
}

function stayInPhase(object: PhasedObject, all: readonly PhasedObject[]): Stay | undefined {
  const phase = object.status?.phase || 'New'
  const rule = stuckRules.get(object.kind)?.find(({ phases }) => phases.includes(phase))
  if (rule === undefined || rule.except?.(object)) return undefined
  const limitMs = rule.limitMs + (rule.allowedMs?.(object, all) ?? 0)
  return { phase, since: sinceOf(object, rule), limitMs, behind: rule.behind, mend: rule.mend(object) }
}

function sinceOf(object: PhasedObject, rule: StuckRule): number {
  return Date.parse(rule.since?.(object) ?? object.metadata.creationTimestamp ?? '')
}

function terminating(object: PhasedObject): Stay {
  return {
    phase: 'Terminating',
    since: Date.parse(object.metadata.deletionTimestamp ?? ''),
    limitMs: isMove(object) ? TERMINATING_MS.move : TERMINATING_MS.other,
    mend: patchCommand(object, { metadata: { finalizers: null } }),
  }
}

/** Without the units at its end that are zero. */
export function shortDuration(milliseconds: number): string {
  return goDurationOf(milliseconds)
    .replace(/(?<=[hm])0s$/, '')
    .replace(/(?<=h)0m$/, '')
}
