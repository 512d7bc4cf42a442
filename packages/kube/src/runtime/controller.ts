import type { Backoff } from './backoff.ts'
import { LinkedAbort } from './linked-abort.ts'
import { type Outcome, type Reconcile, TerminalError } from './reconcile.ts'
import { RuntimeError } from './runtime-error.ts'
import type { RuntimePorts } from './runtime-ports.ts'
import type { Source } from './source.ts'
import { startTimer } from './timer.ts'
import { type QueueObserver, WorkQueue } from './work-queue.ts'

/**
 * A source emits an event, a predicate filters, a handler enqueues, a controller calls reconcile, a manager runs all.
 */
export interface ControllerOptions {
  /** Names the controller in logs and metrics. */
  name: string
  sources: readonly Source[]
  reconcile: Reconcile
  /** Reconciles at the same time, each of another key. Default 1. */
  concurrency?: number
  /** Aborts a reconcile's signal after this time; its key stays taken until the reconcile ends. Default: never. */
  timeoutMs?: number
  /** Waits between failures of one key. Default: `defaultBackoff`. */
  backoff?: Backoff
  /** Hears about depth, adds, retries and latency. */
  observer?: QueueObserver
}

export interface ControllerScope {
  /** Ends the controller: running reconciles finish, waiting keys are dropped. */
  signal: AbortSignal
  /** Also aborts the signals of running reconciles. */
  abort: AbortSignal
}

export interface Controller {
  readonly name: string
  readonly sources: readonly Source[]
  /** Keys whose reconcile is running. */
  readonly running: readonly string[]
  /** Reconciles the key soon, whatever the sources say. */
  enqueue(key: string): void
  /** Resolves when the signal has aborted and every running reconcile has ended. Runs once. */
  run(scope: ControllerScope): Promise<void>
}

/** Wires sources, queue and reconcile together. Nothing happens before `run`. */
export function createController(options: ControllerOptions, ports: RuntimePorts): Controller {
  const { name, sources, concurrency = 1 } = options
  const log = ports.log.child({ controller: name })
  const { clock, random } = ports
  const { backoff, observer } = options
  const queue = new WorkQueue({
    clock,
    random,
    ...(backoff === undefined ? {} : { backoff }),
    ...(observer === undefined ? {} : { observer }),
  })
  const enqueue = (key: string) => queue.add(key)
  return {
    name,
    sources,
    enqueue,
    get running() {
      return queue.running
    },
    async run({ signal, abort }) {
      const emitting = sources.map(source => source.run(enqueue, { log, clock, random, signal }))
      const work = (key: string) =>
        reconcileKey(key, { options, queue, ports: { log, clock, random }, abort })
      await Promise.all([queue.run({ workers: concurrency, signal, work }), ...emitting])
    },
  }
}

interface KeyScope {
  options: ControllerOptions
  queue: WorkQueue
  ports: RuntimePorts
  abort: AbortSignal
}

/** Calls reconcile once and turns its outcome into the key's future. Never throws. */
async function reconcileKey(key: string, { options, queue, ports, abort }: KeyScope): Promise<void> {
  const log = ports.log.child({ key })
  const startedAt = ports.clock.now()
  const tookMs = () => ports.clock.now() - startedAt
  try {
    const outcome = await reconcileInTime(key, { options, queue, ports: { ...ports, log }, abort })
    queue.forget(key)
    if (outcome.type === 'again') queue.addAfter(key, outcome.afterMs)
    log.debug({ outcome, tookMs: tookMs() }, 'reconciled')
  } catch (err) {
    if (abort.aborted) {
      log.info({ err, tookMs: tookMs() }, 'reconcile aborted')
    } else if (err instanceof TerminalError) {
      queue.forget(key)
      log.error({ err, tookMs: tookMs() }, 'reconcile failed for good')
    } else {
      const retryInMs = queue.retry(key)
      log.warn(
        { err, failures: queue.failures(key), retryInMs, tookMs: tookMs() },
        'reconcile failed, will retry',
      )
    }
  }
}

async function reconcileInTime(key: string, { options, queue, ports, abort }: KeyScope): Promise<Outcome> {
  const { timeoutMs, name, reconcile } = options
  using work = new LinkedAbort(abort)
  const expire = () => work.abort(reconcileTimedOut(name, key, timeoutMs ?? 0))
  using _timer = timeoutMs === undefined ? undefined : startTimer(ports.clock, timeoutMs, expire)
  return await reconcile(key, { signal: work.signal, log: ports.log, failures: queue.failures(key) })
}

function reconcileTimedOut(controller: string, key: string, timeoutMs: number): RuntimeError {
  const message = `Controller ${controller} did not finish ${key} within ${timeoutMs} ms`
  return new RuntimeError('RECONCILE_TIMED_OUT', message, {
    hint: 'it is tried again; if it never succeeds, find what it waits for or raise the timeout',
  })
}
