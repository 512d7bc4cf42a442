import { allKinds, formatTime, goDurationOf } from '@lateen/api'
import { type Finding, quoted } from './finding.ts'
import { HOUR_MS, type PhasedObject, type StuckRule, stuckRules } from './stuck-rules.ts'

/** An object that does not go on by itself. */
export interface StuckObject {
  readonly object: PhasedObject
  /** `Terminating` for one whose deletion does not come to an end. */
  readonly phase: string
  /** As the rest of a sentence that begins with the object. */
  readonly problem: string
  /** Milliseconds since 1970, if it is known. */
  readonly since?: number
  readonly mend: string
}

/** Finalizers have an hour to let go. */
const TERMINATING_MS = HOUR_MS

/**
 * Those of the objects that have been where they are for longer than they may at `now` (milliseconds since 1970). Kinds without rules
 * never have.
 */
export function findStuck(objects: Iterable<PhasedObject>, now: number): StuckObject[] {
  const stuck: StuckObject[] = []
  for (const object of objects) {
    const stay = object.metadata.deletionTimestamp ? terminating(object) : stayInPhase(object)
    // A time that cannot be read is none.
    if (stay === undefined || !(now - stay.since > stay.limitMs)) continue
    const { phase, since, limitMs, mend } = stay
    const problem = `is ${phase} for longer than ${shortDuration(limitMs)}`
    stuck.push({ object, phase, problem, since, mend })
  }
  return stuck
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
  mend: string
}

function stayInPhase(object: PhasedObject): Stay | undefined {
  const phase = object.status?.phase || 'New'
  const rule = stuckRules.get(object.kind)?.find(({ phases }) => phases.includes(phase))
  if (rule === undefined || rule.except?.(object)) return undefined
  const limitMs = rule.limitMs + (rule.allowedMs?.(object) ?? 0)
  return { phase, since: sinceOf(object, rule), limitMs, mend: rule.mend(object) }
}

function sinceOf(object: PhasedObject, rule: StuckRule): number {
  return Date.parse(rule.since?.(object) ?? object.metadata.creationTimestamp ?? '')
}

function terminating(object: PhasedObject): Stay {
  const { name = '', namespace = '', deletionTimestamp = '' } = object.metadata
  const plural = allKinds.find(({ kind }) => kind === object.kind)?.plural ?? object.kind
  const patch = `'{"metadata":{"finalizers":null}}'`
  return {
    phase: 'Terminating',
    since: Date.parse(deletionTimestamp),
    limitMs: TERMINATING_MS,
    mend: `kubectl patch ${plural}.velero.io ${quoted(name)} --namespace ${quoted(namespace)} --type merge --patch ${patch}`,
  }
}

/** Without the units at its end that are zero. */
export function shortDuration(milliseconds: number): string {
  return goDurationOf(milliseconds)
    .replace(/(?<=[hm])0s$/, '')
    .replace(/(?<=h)0m$/, '')
}
