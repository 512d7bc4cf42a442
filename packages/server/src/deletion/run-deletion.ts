import { messageOf } from '../item/item-error.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'

/**
 * Removes what belongs to a backup, step by step, and returns what could not be removed; the backup is gone when that is nothing. `done`
 * has the names of the steps that an earlier attempt has done for good. Throws the signal's reason.
 */
export async function runDeletion(
  steps: readonly DeletionStep[],
  scope: DeletionScope,
  done: Set<string>,
): Promise<string[]> {
  const errors: string[] = []
  for (const step of steps) {
    if (done.has(step.name)) continue
    if (errors.length > 0 && step.runs === 'if-all-went-well') continue
    const failures = await runStep(step, scope)
    errors.push(...failures)
    if (failures.length === 0 && step.once) done.add(step.name)
  }
  return errors
}

async function runStep(step: DeletionStep, scope: DeletionScope): Promise<readonly string[]> {
  const { backup, log, signal } = scope
  signal.throwIfAborted()
  try {
    log.debug({ backup: backup.metadata.name, step: step.name }, 'a step of a deletion begins')
    return await step.run(scope)
  } catch (error) {
    signal.throwIfAborted()
    return [messageOf(error)]
  }
}
