import type { MoveStep } from '../data-path/decide-move.ts'
import { moverEnds, takeOverLog } from '../data-path/mover-log.ts'
import { diagnosePod, moverState, type Pod } from '../data-path/mover-state.ts'
import { eventsOfPod } from '../data-path/pod-events.ts'
import type { MoveScope, MoveSort, VolumeMove } from './move-sort.ts'

/** What is said of a failure: the reason, what is wrong with a pod that did not come up, and the last lines of the log of one that did. */
export async function moveFailure<T extends VolumeMove>(
  { message, diagnose }: Extract<MoveStep, { type: 'fail' }>,
  object: T,
  scope: MoveScope & { sort: MoveSort<T>; mover: Pod | undefined },
): Promise<string> {
  const { sort, mover, client, log, signal } = scope
  if (diagnose) {
    const events = mover === undefined ? [] : await eventsOfPod(mover, { client, log, signal })
    // What cannot be found out is no reason to say nothing.
    const more = (await sort.diagnose?.(object, scope).catch((error: unknown) => [String(error)])) ?? []
    signal.throwIfAborted()
    return `${message}: ${[diagnosePod(mover, events), ...more].join('; ')}`
  }
  if (mover === undefined || moverState(mover).type !== 'ended') return message
  const lines = await takeOverLog(mover, { client, log, signal })
  const more = lines.filter(line => !line.includes(moverEnds))
  return more.length === 0 ? message : `${message} (its log ends with: ${more.join(' | ')})`
}
