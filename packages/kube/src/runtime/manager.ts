import type { KubeClient } from '../client.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { type Controller, type ControllerOptions, createController } from './controller.ts'
import { type HealthFacts, healthRoutes } from './health.ts'
import { type HttpServer, type HttpServerOptions, type Route, startHttpServer } from './http-server.ts'
import { type AnyInformer, Informer, type InformerOptions } from './informer.ts'
import { createLeaderElection, type LeaderElection, type LeaderElectionOptions } from './leader-election.ts'
import { LinkedAbort } from './linked-abort.ts'
import { runUnits, type Unit } from './run-units.ts'
import { RuntimeError } from './runtime-error.ts'
import type { RuntimePorts } from './runtime-ports.ts'
import { startTimer } from './timer.ts'

/** How long requests in flight may go on after everything else has stopped. */
const httpGraceMs = 5_000

export interface ManagerOptions {
  client: KubeClient
  log: Logger
  /** Default: the system's. */
  clock?: Clock
  /** Uniform in [0, 1); spreads retries. Default: the system's. */
  random?: () => number
  /** Default: none, controllers run at once. */
  leaderElection?: LeaderElectionOptions
  /** For the lease alone, so that nothing holds up its renewal, and no fence does. Default: the client. */
  leaseClient?: KubeClient
  /** Default: no server. */
  http?: HttpServerOptions
  /** How long informers may take for their first list. Default 2 min. */
  syncTimeoutMs?: number
  /** How long running reconciles may go on after a stop before they are aborted. Default 30 s. */
  stopGraceMs?: number
  /** How long aborted ones may take then to say what became of their work; after a lost lease it is 4 s. Default 15 s. */
  stopLastWordsMs?: number
  /** What leading waits for, the lease in hand. The signal aborts on a stop or when the lease is lost. Default: nothing. */
  beforeLeading?: (signal: AbortSignal) => Promise<void>
}

/** Work besides controllers, on the leader only. */
export interface Task {
  name: string
  /** Returns when the signal aborts, or earlier when its work is done. A throw stops the manager. */
  run(signal: AbortSignal): Promise<void>
}

/** One of the owner's conditions for traffic. */
export interface ReadinessCheck {
  name: string
  /** Why not, or nothing. A throw is a reason, too. */
  check: () => string | undefined | Promise<string | undefined>
}

export interface SharedInformerOptions<T extends KubeObject> extends InformerOptions<T> {
  /** Default: all namespaces. */
  namespace?: string
}

/** Runs informers, controllers, election and HTTP server as one. Everything is registered before `run`. */
export interface Manager {
  /** Whether controllers run here; without an election, true once informers have synced. */
  readonly isLeading: boolean
  /** Where the HTTP server listens, while it does. */
  readonly httpPort: number | undefined
  /**
   * The one informer for this kind, namespace and selectors; later calls add their indexes to it. Throws
   * INFORMER_OPTIONS_DIFFER when they ask for another transform or resync.
   */
  informer<T extends KubeObject>(type: ResourceType<T>, options?: SharedInformerOptions<T>): Informer<T>
  addController(options: ControllerOptions): Controller
  addTask(task: Task): void
  /** Serves a path on every replica, leading or not. Throws ROUTE_TAKEN for a path that has a handler. */
  addRoute(route: Route): void
  /** Adds text in Prometheus' exposition format to `/metrics`. */
  addMetrics(provide: () => string | Promise<string>): void
  addReadinessCheck(check: ReadinessCheck): void
  /**
   * Resolves after a graceful stop on the signal. Throws once, after everything has been stopped, when it cannot
   * start (HTTP_LISTEN_FAILED, INFORMERS_NOT_SYNCED), when the lease is lost (LEADERSHIP_LOST), when a task throws,
   * or when something does not stop (STOP_TIMED_OUT). The process should end then.
   */
  run(signal: AbortSignal): Promise<void>
}

/** Nothing happens before `run`. */
export function createManager(options: ManagerOptions): Manager {
  return new RunningManager(options)
}

class RunningManager implements Manager {
  readonly #client: KubeClient
  readonly #ports: RuntimePorts
  readonly #options: ManagerOptions
  readonly #election: LeaderElection | undefined
  readonly #shared = new Map<string, AnyInformer>()
  readonly #informers = new Set<AnyInformer>()
  readonly #units: Unit[] = []
  readonly #routes: Route[]
  readonly #metrics: (() => string | Promise<string>)[] = []
  readonly #checks: ReadinessCheck[] = []
  #http: HttpServer | undefined
  #signal: AbortSignal | undefined
  #leading: 'no' | 'yes' = 'no'

  constructor(options: ManagerOptions) {
    const { client, leaseClient = client, log, clock = systemClock, random = Math.random } = options
    const { leaderElection } = options
    this.#client = client
    this.#ports = { log, clock, random }
    this.#options = options
    this.#election =
      leaderElection === undefined
        ? undefined
        : createLeaderElection(leaseClient, leaderElection, this.#ports)
    this.#routes = healthRoutes({ facts: () => this.#healthFacts(), metrics: () => this.#allMetrics() })
  }

  get isLeading(): boolean {
    return this.#leading === 'yes'
  }

  get httpPort(): number | undefined {
    return this.#http?.port
  }

  informer<T extends KubeObject>(type: ResourceType<T>, options: SharedInformerOptions<T> = {}): Informer<T> {
    this.#mustNotRun('an informer')
    const { namespace, indexes = {} } = options
    const name = informerName(type, options)
    const known = this.#shared.get(name) as Informer<T> | undefined
    if (known !== undefined) {
      if (!known.isLike(options)) throw informerOptionsDiffer(name)
      known.addIndexes(indexes)
      return known
    }
    const informer = new Informer(name, this.#client.resource(type, namespace), {
      ...options,
      ports: this.#ports,
    })
    this.#shared.set(name, informer)
    this.#informers.add(informer)
    return informer
  }

  addController(options: ControllerOptions): Controller {
    this.#mustNotRun(`controller ${options.name}`)
    const controller = createController(options, this.#ports)
    for (const { informer } of controller.sources) if (informer !== undefined) this.#informers.add(informer)
    this.#units.push(controller)
    return controller
  }

  addTask({ name, run }: Task): void {
    this.#mustNotRun(`task ${name}`)
    this.#units.push({ name, running: [], run: ({ signal }) => run(signal) })
  }

  addRoute(route: Route): void {
    if (this.#routes.some(({ path }) => path === route.path)) throw routeTaken(route.path)
    this.#routes.push(route)
  }

  addMetrics(provide: () => string | Promise<string>): void {
    this.#metrics.push(provide)
  }

  addReadinessCheck(check: ReadinessCheck): void {
    this.#checks.push(check)
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#mustNotRun('a second run')
    this.#signal = signal
    await this.#serve()
    using informing = new LinkedAbort()
    const informers = [...this.#informers].map(informer => informer.run(informing.signal))
    try {
      if (await this.#allSynced(signal)) await this.#lead(signal)
    } finally {
      informing.abort()
      await Promise.all([...informers, this.#stopServing()])
      this.#ports.log.info({}, 'manager stopped')
    }
  }

  async #serve(): Promise<void> {
    const { http, log } = this.#options
    if (http === undefined) return
    this.#http = await startHttpServer(http, this.#routes, log)
    log.info({ port: this.#http.port }, 'serving http')
  }

  /** False when the signal aborted before. Throws INFORMERS_NOT_SYNCED when it takes too long. */
  async #allSynced(signal: AbortSignal): Promise<boolean> {
    const { syncTimeoutMs = 120_000 } = this.#options
    using limit = new LinkedAbort(signal)
    const expire = () => limit.abort(informersNotSynced([...this.#informers], syncTimeoutMs))
    using _timer = startTimer(this.#ports.clock, syncTimeoutMs, expire)
    try {
      await Promise.all([...this.#informers].map(informer => informer.synced(limit.signal)))
      return !signal.aborted
    } catch (error) {
      if (signal.aborted) return false
      throw error
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const {
      stopGraceMs: graceMs = 30_000,
      stopLastWordsMs: lastWordsMs = 15_000,
      beforeLeading,
    } = this.#options
    const lead = async (lost: AbortSignal) => {
      await beforeLeading?.(AbortSignal.any([signal, lost]))
      this.#leading = 'yes'
      this.#ports.log.info({ units: this.#units.map(({ name }) => name) }, 'controllers started')
      try {
        await runUnits(this.#units, { signal, lost, graceMs, lastWordsMs, clock: this.#ports.clock })
      } finally {
        this.#leading = 'no'
      }
    }
    if (this.#election === undefined) await lead(new AbortController().signal)
    else await this.#election.campaign({ signal, lead })
  }

  async #stopServing(): Promise<void> {
    if (this.#http === undefined) return
    const http = this.#http
    this.#http = undefined
    using _timer = startTimer(this.#ports.clock, httpGraceMs, () => http.cut())
    await http[Symbol.asyncDispose]()
  }

  async #healthFacts(): Promise<HealthFacts> {
    const checks = this.#checks.map(async ({ name, check }) => ({ name, reason: await reasonOf(check) }))
    return {
      stopping: this.#signal?.aborted ?? false,
      informers: [...this.#informers],
      election: this.#election,
      checks: await Promise.all(checks),
    }
  }

  async #allMetrics(): Promise<string> {
    const texts = await Promise.all(this.#metrics.map(provide => provide()))
    return texts.map(text => (text.endsWith('\n') || text === '' ? text : `${text}\n`)).join('')
  }

  #mustNotRun(what: string): void {
    if (this.#signal === undefined) return
    throw new RuntimeError('ALREADY_RUNNING', `The manager already runs and cannot take ${what}`, {
      hint: 'register everything before run, and run a manager once',
    })
  }
}

async function reasonOf(check: ReadinessCheck['check']): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function informerName<T extends KubeObject>(
  { group, version, plural }: ResourceType<T>,
  { namespace = '*', labelSelector, fieldSelector }: SharedInformerOptions<T>,
): string {
  const kind = group === '' ? `${version}/${plural}` : `${group}/${version}/${plural}`
  return [`${kind} in ${namespace}`, labelSelector, fieldSelector]
    .filter(part => part !== undefined)
    .join(' ')
}

function informersNotSynced(informers: readonly AnyInformer[], afterMs: number): RuntimeError {
  const behind = informers.filter(({ hasSynced }) => !hasSynced)
  const reasons = behind.map(({ name, lastError }) =>
    lastError instanceof Error ? `${name}: ${lastError.message}` : `${name}: no answer yet`,
  )
  return new RuntimeError('INFORMERS_NOT_SYNCED', `Not listed within ${afterMs} ms: ${reasons.join('; ')}`, {
    hint: 'check that the API server answers, that the kinds are installed, and that we may list and watch them',
    cause: behind.find(({ lastError }) => lastError !== undefined)?.lastError,
  })
}

function informerOptionsDiffer(name: string): RuntimeError {
  return new RuntimeError(
    'INFORMER_OPTIONS_DIFFER',
    `The informer ${name} exists with another transform or resync`,
    {
      hint: 'share one options object between the controllers that read this kind',
    },
  )
}

function routeTaken(path: string): RuntimeError {
  return new RuntimeError('ROUTE_TAKEN', `The path ${path} already has a handler`, {
    hint: 'choose another path; /healthz, /readyz and /metrics belong to the manager',
  })
}
