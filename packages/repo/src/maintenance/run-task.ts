import { RepoError } from '../errors/repo-error.ts'
import { goTimeFromMillis } from '../go-json/go-time.ts'
import { cleanLogs } from './clean-logs.ts'
import { collectGarbage } from './collect-garbage.ts'
import { deleteOrphans } from './delete-orphans.ts'
import { dropDeletedContents } from './drop-deleted.ts'
import {
  dropEffects,
  type Effect,
  garbageEffects,
  lockEffects,
  logEffects,
  orphanEffects,
  rewriteEffects,
} from './effect.ts'
import { runEpochTask } from './epoch-tasks.ts'
import { extendLocks } from './extend-locks.ts'
import type { PlannedStep } from './plan.ts'
import { rewriteShortPacks } from './rewrite-short-packs.ts'
import { dropExtra, garbageExtra, lockExtra, logExtra, orphanExtra, rewriteExtra } from './run-extra.ts'
import type { RunExtra } from './schedule.ts'
import type { TaskContext } from './task-context.ts'

/** What a task did, for people and for the history. */
export interface TaskOutcome {
  effects: Effect[]
  extra: RunExtra[]
}

/** Does what one step of a plan says, or without a lease tells what it would do. Throws what the task throws. */
export async function runTask(step: PlannedStep, context: TaskContext): Promise<TaskOutcome> {
  switch (step.task) {
    case 'snapshot-gc': {
      const report = await collectGarbage(context)
      return { effects: garbageEffects(report), extra: [garbageExtra(report)] }
    }
    case 'full-rewrite-contents': {
      const report = await rewriteShortPacks(context)
      return { effects: rewriteEffects(report), extra: [rewriteExtra(report)] }
    }
    case 'full-drop-deleted-content':
      return dropStep(step, context)
    case 'full-delete-blobs': {
      const report = await deleteOrphans(context, step.dropBefore)
      return { effects: orphanEffects(report), extra: [orphanExtra(report)] }
    }
    case 'cleanup-logs': {
      const report = await cleanLogs(context)
      return { effects: logEffects(report), extra: [logExtra(report)] }
    }
    case 'extend-blob-retention-time': {
      const report = await extendLocks(context)
      return report === undefined
        ? { effects: [], extra: [] }
        : { effects: lockEffects(report), extra: [lockExtra(report)] }
    }
    default:
      return runEpochTask(step.task, context)
  }
}

async function dropStep(step: PlannedStep, context: TaskContext): Promise<TaskOutcome> {
  // Without two collections everything goes that is marked by now, also what this very run has marked.
  const dropBefore = context.safety.requireTwoGcCycles
    ? step.dropBefore
    : goTimeFromMillis(context.repository.clock.now())
  if (dropBefore === undefined) {
    throw new RepoError('INVALID_ARGUMENT', { message: 'The plan drops deleted contents without a time' })
  }
  const hidden = await dropDeletedContents(context, dropBefore)
  return { effects: dropEffects(hidden, dropBefore), extra: [dropExtra(dropBefore)] }
}
