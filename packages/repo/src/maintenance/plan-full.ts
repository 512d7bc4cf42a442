import type { GoTime } from '../go-json/go-time.ts'
import { mayDeletePacks, mayRewriteContents, safeDropTime, type Verdict } from './history.ts'
import type { SafetyParameters } from './safety.ts'
import { type MaintenanceSchedule, type RunRecord, recordRun } from './schedule.ts'
import type { MaintenanceTask } from './task.ts'

/** A garbage collecting task of a full run, whether it runs, and why. */
export interface FullTask extends Verdict {
  task: CollectingTask
  /** Only when deleted contents are dropped: those deleted at or before this time. */
  dropBefore?: GoTime
}

/** The tasks that decide what stays. */
export type CollectingTask = Extract<
  MaintenanceTask,
  'snapshot-gc' | 'full-rewrite-contents' | 'full-drop-deleted-content' | 'full-delete-blobs'
>

/** What the plan is made from. */
export interface FullFacts {
  schedule: MaintenanceSchedule
  safety: SafetyParameters
  now: GoTime
  /**
   * `kopia` rewrites before it deletes, so that packs can go in every second run only. `ours` deletes first: then one
   * run does both, because the rewrite before it is a whole cycle old. Without a waiting time ours rewrites before it
   * deletes too, but drops first, so that what is dropped need not be moved.
   */
  order: 'kopia' | 'ours'
}

const kopiaOrder = [
  'snapshot-gc',
  'full-rewrite-contents',
  'full-drop-deleted-content',
  'full-delete-blobs',
] as const satisfies CollectingTask[]
const ourOrder = [
  'snapshot-gc',
  'full-drop-deleted-content',
  'full-delete-blobs',
  'full-rewrite-contents',
] as const satisfies CollectingTask[]
const ourOrderAtOnce = [
  'snapshot-gc',
  'full-drop-deleted-content',
  'full-rewrite-contents',
  'full-delete-blobs',
] as const satisfies CollectingTask[]

/**
 * Decides the collecting tasks of a full run before the first has begun. Later tasks are judged as if those before them
 * ended at `now`; they end later in truth, which can only make the same decision safer.
 */
export function planFullTasks(facts: FullFacts): FullTask[] {
  let { schedule } = facts
  const tasks: FullTask[] = []
  for (const task of orderOf(facts)) {
    const planned = planTask(task, { ...facts, schedule })
    tasks.push(planned)
    if (planned.allowed) schedule = recordRun(schedule, task, successfulRun(facts.now))
  }
  return tasks
}

function orderOf({ order, safety }: FullFacts): readonly CollectingTask[] {
  if (order === 'kopia') return kopiaOrder
  return safety.rewriteToDeleteDelay > 0 ? ourOrder : ourOrderAtOnce
}

function planTask(task: CollectingTask, { schedule, safety, now }: FullFacts): FullTask {
  switch (task) {
    case 'snapshot-gc':
      return { task, allowed: true, reason: 'every full run looks for contents that no snapshot needs' }
    case 'full-rewrite-contents':
      return { task, ...mayRewriteContents(schedule, safety) }
    case 'full-delete-blobs':
      return { task, ...mayDeletePacks(schedule, safety, now) }
    case 'full-drop-deleted-content':
      return planDrop(safeDropTime(schedule.runs['snapshot-gc'] ?? [], safety, now))
  }
}

function planDrop(dropBefore: GoTime | undefined): FullTask {
  const task = 'full-drop-deleted-content'
  if (dropBefore === undefined) {
    return { task, allowed: false, reason: 'two collections far enough apart have not succeeded yet' }
  }
  return { task, allowed: true, reason: 'a later collection has undeleted what was still needed', dropBefore }
}

function successfulRun(now: GoTime): RunRecord {
  return { start: now, end: now, success: true, error: '', extra: [], unknown: {} }
}
