import type { BlobRetention } from '../format/blob-config.ts'
import { formatGoTime, type GoTime } from '../go-json/go-time.ts'
import type { Effect } from './effect.ts'
import type { MaintenanceParams } from './params.ts'
import { planFullTasks } from './plan-full.ts'
import type { SafetyParameters } from './safety.ts'
import type { MaintenanceSchedule } from './schedule.ts'
import { destructiveTasks, type MaintenanceMode, type MaintenanceTask } from './task.ts'

/** One task of a plan: whether it runs, why, and what it would do when somebody has looked. */
export interface PlannedStep {
  task: MaintenanceTask
  runs: boolean
  reason: string
  /** The lease is read again before it. */
  destructive: boolean
  /**
   * When contents are dropped and when packs are deleted: contents marked deleted at or before this time are gone by
   * then.
   */
  dropBefore?: GoTime
  /** What it would delete, rewrite, write and keep; absent when nobody has looked. */
  effects?: readonly Effect[]
}

/** The tasks of one maintenance run, in order. */
export interface MaintenancePlan {
  mode: MaintenanceMode
  now: GoTime
  steps: readonly PlannedStep[]
}

/** What a plan is made from. */
export interface PlanFacts {
  mode: MaintenanceMode
  params: Pick<MaintenanceParams, 'extendObjectLocks'>
  /** How the repository protects blobs; undefined when it does not. */
  retention?: BlobRetention | undefined
  schedule: MaintenanceSchedule
  safety: SafetyParameters
  now: GoTime
  /** What a look at the repository found, per task. */
  survey?: Partial<Record<MaintenanceTask, readonly Effect[]>>
}

/** Decides what a run does. Nothing is read or changed. */
export function planMaintenance(facts: PlanFacts): MaintenancePlan {
  const steps = facts.mode === 'quick' ? quickSteps() : fullSteps(facts)
  return { mode: facts.mode, now: facts.now, steps: steps.map(step => surveyed(step, facts.survey)) }
}

/** The plan as lines of text. */
export function formatPlan(plan: MaintenancePlan): string[] {
  return [
    `${plan.mode} maintenance, planned at ${formatGoTime(plan.now)}`,
    ...plan.steps.flatMap(step => [
      `${step.runs ? 'run ' : 'skip'} ${step.task}: ${step.reason}`,
      ...(step.effects ?? []).map(effect => `       ${formatEffect(effect)}`),
    ]),
  ]
}

function formatEffect({ verb, what, count, bytes, why }: Effect): string {
  return `${verb} ${count} ${what.replaceAll('-', ' ')} (${bytes} bytes): ${why}`
}

function quickSteps(): PlannedStep[] {
  return [
    always('compact-single-epoch', 'one settled epoch at a time becomes one set of index blobs'),
    always('advance-epoch', 'a new epoch begins when the current one is old and has many index blobs'),
  ]
}

function fullSteps({ params, retention, ...facts }: PlanFacts): PlannedStep[] {
  const tasks = planFullTasks({ ...facts, order: 'ours' })
  const dropBefore = tasks.find(({ dropBefore: time }) => time !== undefined)?.dropBefore
  const collecting = tasks.map(
    ({ task, allowed, reason }): PlannedStep => ({
      task,
      runs: allowed,
      reason,
      destructive: destructiveTasks.has(task),
      ...(dropBefore !== undefined && afterDrop.has(task) ? { dropBefore } : {}),
    }),
  )
  return [
    ...collecting,
    extendLocks(params.extendObjectLocks, retention),
    ...quickSteps(),
    always('generate-epoch-range-index', 'many settled epochs become one range'),
    always('cleanup-epoch-markers', 'markers of epochs long gone and old watermarks say nothing'),
    always('delete-superseded-epoch-indexes', 'index blobs whose compaction everybody has seen are not read'),
    always('cleanup-logs', 'logs are kept within limits'),
  ]
}

const afterDrop: ReadonlySet<MaintenanceTask> = new Set(['full-drop-deleted-content', 'full-delete-blobs'])

function extendLocks(wanted: boolean, retention: BlobRetention | undefined): PlannedStep {
  const step = { task: 'extend-blob-retention-time', destructive: false } as const
  if (!wanted) return { ...step, runs: false, reason: 'the parameters do not ask for it' }
  return retention === undefined
    ? { ...step, runs: false, reason: 'the repository locks no blobs' }
    : { ...step, runs: true, reason: 'the locks of what is still there last for another period' }
}

function always(task: MaintenanceTask, reason: string): PlannedStep {
  return { task, runs: true, reason, destructive: destructiveTasks.has(task) }
}

function surveyed(step: PlannedStep, survey: PlanFacts['survey']): PlannedStep {
  const effects = step.runs ? survey?.[step.task] : undefined
  return effects === undefined ? step : { ...step, effects }
}
