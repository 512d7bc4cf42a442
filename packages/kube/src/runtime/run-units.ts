import type { Clock } from '../clock.ts'
import type { ControllerScope } from './controller.ts'
import { aborted, LinkedAbort } from './linked-abort.ts'
import { RuntimeError } from './runtime-error.ts'

/** How long a unit may take to notice that the lease is lost. Within the time between that and the next leader. */
const noticeMs = 4_000

/** Something that runs until told to stop: a controller or a task. */
export interface Unit {
  readonly name: string
  /** What it is busy with, for the error that says what did not stop. */
  readonly running: readonly string[]
  run(scope: ControllerScope): Promise<void>
}

export interface RunUnitsOptions {
  /** Stops gracefully: units finish what they began, within `graceMs`. */
  signal: AbortSignal
  /** Stops at once: units are aborted. */
  lost: AbortSignal
  graceMs: number
  /** How long units that were aborted then may take to say what became of their work. */
  lastWordsMs: number
  clock: Clock
}

/**
 * Runs all units until a signal aborts or one of them throws, which stops the others too. Resolves when all have
 * ended; throws the first unit's error, or STOP_TIMED_OUT when units run on although they were aborted.
 */
export async function runUnits(units: readonly Unit[], options: RunUnitsOptions): Promise<void> {
  using stop = new LinkedAbort(options.signal, options.lost)
  using abort = new LinkedAbort(options.lost)
  using finished = new LinkedAbort()
  const ended = new Set<Unit>()
  const running = units.map(async unit => {
    try {
      await unit.run({ signal: stop.signal, abort: abort.signal })
    } catch (error) {
      stop.abort(error)
      throw error
    } finally {
      ended.add(unit)
    }
  })
  const inTime = stopInTime({ stop: stop.signal, abort, finished: finished.signal, options })
  const outcome = await Promise.race([Promise.allSettled([...running, aborted(stop.signal)]), inTime])
  finished.abort()
  if (outcome === 'late') throw stopTimedOut(units.filter(unit => !ended.has(unit)))
  for (const result of outcome) if (result.status === 'rejected') throw result.reason
}

interface StopOptions {
  stop: AbortSignal
  abort: LinkedAbort
  finished: AbortSignal
  options: RunUnitsOptions
}

async function stopInTime({ stop, abort, finished, options }: StopOptions): Promise<'late'> {
  await aborted(stop)
  using grace = new LinkedAbort(finished, abort.signal)
  await options.clock.sleep(options.graceMs, grace.signal).catch(() => {})
  if (!finished.aborted) abort.abort(new DOMException('The stop ran out of time', 'AbortError'))
  using words = new LinkedAbort(finished, options.lost)
  await options.clock.sleep(options.lastWordsMs, words.signal).catch(() => {})
  if (options.lost.aborted) await options.clock.sleep(noticeMs, finished).catch(() => {})
  return 'late'
}

function stopTimedOut(units: readonly Unit[]): RuntimeError {
  const names = units.map(unit =>
    unit.running.length === 0 ? unit.name : `${unit.name} (${unit.running.join(', ')})`,
  )
  return new RuntimeError('STOP_TIMED_OUT', `Did not stop when aborted: ${names.join('; ')}`, {
    hint: 'end the process; work that ignores its AbortSignal is a defect of that controller or task',
  })
}
