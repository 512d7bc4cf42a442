import type { KubeClient, ResourceClient } from '../client.ts'
import { isAlreadyExists, isConflict, unlessNotFound } from '../errors.ts'
import {
  decideLease,
  type Lease,
  LeaseKind,
  type LeaseSpec,
  type Observation,
  observeLease,
  releasedLease,
  renewedLease,
  takenLease,
} from './lease.ts'
import { LeaseFence } from './lease-fence.ts'
import { LinkedAbort } from './linked-abort.ts'
import { RuntimeError } from './runtime-error.ts'
import type { RuntimePorts } from './runtime-ports.ts'
import { startTimer } from './timer.ts'

export interface LeaderElectionOptions {
  /** Where the Lease lives. */
  namespace: string
  /** The Lease's name; candidates for the same name compete. */
  name: string
  /** Unique per process: the pod's or host's name and a random part. */
  identity: string
  /** How long others leave an unrenewed lease alone. Default 15 s. */
  leaseDurationMs?: number
  /** How long the leader tries to renew before it gives up. Shorter than the lease. Default 10 s. */
  renewDeadlineMs?: number
  /** Time between tries. Default 2 s. */
  retryPeriodMs?: number
  /** Opened while we lead, and closed for good afterwards: for one campaign. What it fences must not be the lease itself. */
  fence?: LeaseFence
}

/** `unknown` until the lease was read for the first time. */
export type ElectionState = 'unknown' | 'standby' | 'leading'

export interface CampaignOptions {
  /** Ends waiting for the lease. While leading, it is up to `lead` to return on it. */
  signal: AbortSignal
  /**
   * Called once, when the lease is ours. The lease is renewed until the promise settles. When it resolves, the lease
   * is released; when it rejects, something may still be running, so others wait until the lease expires. `lost`
   * aborts when the lease could not be renewed in time or another holds it: whatever leads must stop at once.
   */
  lead: (lost: AbortSignal) => Promise<void>
}

export interface LeaderElection {
  readonly state: ElectionState
  /** Who holds the lease, as last seen. */
  readonly holder: string | undefined
  /** Why the lease could not be read or written; undefined once it could. */
  readonly lastError: unknown
  /**
   * Waits for the lease, then leads. Resolves when the signal aborts before the lease was ours, or when `lead`
   * returned. Once `lead` has settled, throws a `RuntimeError` LEADERSHIP_LOST after a loss, else what `lead` threw.
   */
  campaign(options: CampaignOptions): Promise<void>
}

/**
 * An election on a `coordination.k8s.io/v1` Lease, in step with client-go's: both can compete for one lease. At most
 * one candidate leads at a time, as long as `renewDeadlineMs` is well below `leaseDurationMs` and a leader that lost
 * stops within the difference; what asks the fence stops at once, even in a process that was stopped and goes on. Waiting is
 * measured in sleeps, which setting a machine's clock does not shorten.
 */
export function createLeaderElection(
  client: KubeClient,
  options: LeaderElectionOptions,
  ports: RuntimePorts,
): LeaderElection {
  return new Candidate(client.resource(LeaseKind, options.namespace), options, ports)
}

type Attempt = 'ours' | 'theirs' | 'failed'

/** One stretch of leading: what aborts it, and the timer that will unless the lease is renewed before. */
interface Term {
  lost: LinkedAbort
  deadline: Disposable
  fence: LeaseFence
}

class Candidate implements LeaderElection {
  state: ElectionState = 'unknown'
  holder: string | undefined
  lastError: unknown
  readonly #leases: ResourceClient<Lease>
  readonly #options: Required<Omit<LeaderElectionOptions, 'fence'>> & Pick<LeaderElectionOptions, 'fence'>
  readonly #ports: RuntimePorts
  #observation: Observation | undefined
  /** How long the holder that was last seen may go on without a renewal. */
  #promisedMs = 0

  constructor(leases: ResourceClient<Lease>, options: LeaderElectionOptions, ports: RuntimePorts) {
    this.#leases = leases
    this.#options = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000, ...options }
    const log = ports.log.child({ lease: `${options.namespace}/${options.name}`, identity: options.identity })
    this.#ports = { ...ports, log }
  }

  async campaign({ signal, lead }: CampaignOptions): Promise<void> {
    const term = await this.#acquire(signal)
    if (term === undefined) return
    this.#become('leading')
    using over = new LinkedAbort()
    const renewing = this.#renewUntil(over.signal, term)
    try {
      await lead(term.lost.signal)
    } catch (error) {
      term.lost.signal.throwIfAborted()
      throw error
    } finally {
      over.abort()
      await renewing
      term.fence.close()
      this.#become('standby')
    }
    term.lost.signal.throwIfAborted()
    await this.#release()
  }

  /** Resolves with the term that began, or with nothing when the signal aborts first. */
  async #acquire(signal: AbortSignal): Promise<Term | undefined> {
    const { retryPeriodMs, renewDeadlineMs, fence = new LeaseFence() } = this.#options
    let passedMs = 0
    while (!signal.aborted) {
      const lost = new LinkedAbort()
      const until = fence.now() + renewDeadlineMs
      const deadline = this.#startDeadline(lost, fence)
      using attempting = new LinkedAbort(signal, lost.signal)
      const attempt = await this.#attempt(attempting.signal, passedMs)
      if (attempt === 'ours' && !lost.signal.aborted && fence.hold(until)) return { lost, deadline, fence }
      deadline[Symbol.dispose]()
      // Candidates that started together drift apart; client-go uses the same factor.
      passedMs = Math.round(retryPeriodMs * (1 + 1.2 * this.#ports.random()))
      await this.#pause(passedMs, signal)
    }
    return undefined
  }

  async #renewUntil(over: AbortSignal, { lost, deadline, fence }: Term): Promise<void> {
    using work = new LinkedAbort(over, lost.signal)
    let current = deadline
    await this.#pause(this.#options.retryPeriodMs, work.signal)
    while (!work.signal.aborted) {
      const until = fence.now() + this.#options.renewDeadlineMs
      const next = this.#startDeadline(lost, fence)
      const attempt = await this.#attempt(work.signal, 0)
      const [keep, drop] = attempt === 'ours' ? [next, current] : [current, next]
      drop[Symbol.dispose]()
      current = keep
      if (attempt === 'ours' && !fence.hold(until)) this.#lose(lost, fence, notRenewed(this.#options))
      if (attempt === 'theirs') this.#lose(lost, fence, `${this.holder || 'nobody'} holds it now`)
      await this.#pause(this.#options.retryPeriodMs, work.signal)
    }
    current[Symbol.dispose]()
  }

  /** One read of the lease, and the write that follows from it. Failures are logged, never thrown. */
  async #attempt(stop: AbortSignal, passedMs: number): Promise<Attempt> {
    using limit = new LinkedAbort(stop)
    using _timer = this.#startAttemptTimer(limit)
    const { signal } = limit
    try {
      const attempt = await this.#takeOrRenew(signal, passedMs).catch(error => {
        if (isConflict(error) || isAlreadyExists(error)) return this.#takeOrRenew(signal, 0)
        throw error
      })
      this.lastError = undefined
      return attempt
    } catch (err) {
      this.lastError = err
      if (!stop.aborted) this.#ports.log.warn({ err }, 'could not read or write the lease')
      return 'failed'
    }
  }

  async #takeOrRenew(signal: AbortSignal, passedMs: number): Promise<Attempt> {
    const { name, identity } = this.#options
    const lease = await this.#leases.get(name, { signal }).catch(unlessNotFound)
    if (lease === undefined) {
      if (this.#isLedElsewhere(passedMs)) return 'theirs'
      await this.#leases.create(this.#newLease(), { signal })
      this.holder = identity
      return 'ours'
    }
    const spec = lease.spec ?? {}
    this.#observation = observeLease(this.#observation, spec, passedMs)
    this.holder = spec.holderIdentity
    this.#promisedMs = (spec.leaseDurationSeconds ?? 0) * 1000
    const step = decideLease(spec, identity, this.#observation)
    if (this.state === 'unknown') this.#become('standby')
    if (step.type === 'wait') return 'theirs'
    const claimed =
      step.type === 'renew' ? renewedLease(spec, this.#claim()) : takenLease(spec, this.#claim())
    await this.#write(lease, claimed, signal)
    this.holder = identity
    return 'ours'
  }

  /** Whether the lease is missing because somebody deleted it, and its holder may not know yet. */
  #isLedElsewhere(passedMs: number): boolean {
    if (this.state === 'leading' || this.#observation === undefined) return false
    this.#observation = observeLease(this.#observation, {}, passedMs)
    return this.#observation.unchangedMs < this.#promisedMs
  }

  async #release(): Promise<void> {
    using limit = new LinkedAbort()
    using _timer = this.#startAttemptTimer(limit)
    try {
      const lease = await this.#leases.get(this.#options.name, { signal: limit.signal })
      if (lease.spec?.holderIdentity !== this.#options.identity) return
      await this.#write(lease, releasedLease(lease.spec, this.#ports.clock.now()), limit.signal)
      this.#ports.log.info({}, 'released the lease')
    } catch (err) {
      this.#ports.log.warn({ err }, 'could not release the lease, others wait until it expires')
    }
  }

  /** Conditional on the version just read, so of several writers exactly one succeeds. */
  async #write(lease: Lease, spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    await this.#leases.update({ ...lease, spec }, { signal })
  }

  #newLease(): Lease {
    const { namespace, name } = this.#options
    const spec = takenLease(undefined, this.#claim())
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec }
  }

  #claim() {
    const { identity, leaseDurationMs } = this.#options
    return { identity, leaseDurationMs, now: this.#ports.clock.now() }
  }

  #become(state: ElectionState): void {
    if (this.state === state) return
    this.state = state
    this.#ports.log.info({ state, holder: this.holder }, 'leadership changed')
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#ports.clock.sleep(ms, signal).catch(() => {})
  }

  /** Counts from before a write is sent, since others count from when it arrives. */
  #startDeadline(lost: LinkedAbort, fence: LeaseFence): Disposable {
    const lose = () => this.#lose(lost, fence, notRenewed(this.#options))
    return startTimer(this.#ports.clock, this.#options.renewDeadlineMs, lose)
  }

  #lose(lost: LinkedAbort, fence: LeaseFence, reason: string): void {
    fence.close()
    lost.abort(this.#leadershipLost(reason))
  }

  /** Half the deadline, so that a request that hangs leaves time for another one. */
  #startAttemptTimer(limit: LinkedAbort): Disposable {
    const tooLong = new DOMException('The API server took too long over the lease', 'TimeoutError')
    return startTimer(this.#ports.clock, this.#options.renewDeadlineMs / 2, () => limit.abort(tooLong))
  }

  #leadershipLost(reason: string): RuntimeError {
    const { namespace, name } = this.#options
    return new RuntimeError('LEADERSHIP_LOST', `Lost the lease ${namespace}/${name}: ${reason}`, {
      hint: 'end this process and start a new one, which waits for the lease again',
    })
  }
}

function notRenewed({ renewDeadlineMs }: { renewDeadlineMs: number }): string {
  return `it could not be renewed for ${renewDeadlineMs} ms`
}
