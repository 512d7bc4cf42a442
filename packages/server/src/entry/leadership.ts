import { hostname } from 'node:os'
import {
  createKubeClient,
  type Fence,
  type KubeClientOptions,
  LeaseFence,
  type Logger,
  type Manager,
  type ManagerOptions,
  noFence,
  RuntimeError,
} from '@lateen/kube'
import { ServerOptionError, type ServerOptions } from './server-options.ts'

/** How this server and others of its namespace take turns. */
export interface Leadership extends AsyncDisposable {
  /** Open while this server leads. Everything that changes something asks it, but for the lease itself. */
  readonly fence: Fence
  /** What the manager needs for it. */
  readonly election: Pick<ManagerOptions, 'leaderElection' | 'leaseClient'>
}

export interface LeadershipAccess extends Pick<KubeClientOptions, 'config' | 'log' | 'userAgent'> {
  randomName: () => string
}

/** The same for all servers of a namespace, whatever their version. */
const LEASE_NAME = 'lateen-server'

/**
 * Makes what leading takes. The lease has a client and connections of its own: no fence stands before it, no other request holds it
 * up, and repeating is up to the election.
 */
export async function openLeadership(
  options: Pick<ServerOptions, 'leaderElection' | 'namespace' | 'lease'>,
  { randomName, ...access }: LeadershipAccess,
): Promise<Leadership> {
  if (!options.leaderElection) {
    return { fence: noFence, election: {}, [Symbol.asyncDispose]: async () => undefined }
  }
  const { namespace, lease } = options
  const leaseClient = await createKubeClient({ ...access, retry: { attempts: 1 }, connections: 2 })
  const fence = new LeaseFence()
  const identity = `${hostname()}_${randomName()}`
  return {
    fence,
    election: {
      leaseClient,
      leaderElection: {
        ...{ namespace, name: LEASE_NAME, identity, fence },
        leaseDurationMs: lease.duration,
        renewDeadlineMs: lease.renewDeadline,
        retryPeriodMs: lease.retryPeriod,
      },
    },
    [Symbol.asyncDispose]: () => leaseClient[Symbol.asyncDispose](),
  }
}

/** How long a server that lost its lease may take to tidy up before it ends. */
const LAST_MS = 10_000

/**
 * Runs the manager. A server that lost its lease is of no use until it is started again, so nothing may keep its process from ending.
 * Throws what the manager throws.
 */
export async function runAsLeader(manager: Manager, signal: AbortSignal, log: Logger): Promise<void> {
  try {
    await manager.run(signal)
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'LEADERSHIP_LOST') {
      setTimeout(() => {
        log.error({ error }, 'the server does not come to its end, ending it')
        process.exit(1)
      }, LAST_MS).unref()
    }
    throw error
  }
}

/** A renewal that is sent at the last moment has this long until another may lead. */
const LEAST_MARGIN_MS = 500

/** Throws `ServerOptionError` for times with which two servers could lead at once, or none for long. */
export function checkLease({ duration, renewDeadline, retryPeriod }: ServerOptions['lease']): void {
  if (!(duration >= 1_000 && duration <= 3_600_000)) {
    throw new ServerOptionError(
      `the lease lasts for ${duration} ms`,
      'Set --leader-elect-lease-duration to something from 1s to 1h',
    )
  }
  if (!(renewDeadline > 0 && renewDeadline <= duration - LEAST_MARGIN_MS)) {
    throw new ServerOptionError(
      `the lease of ${duration} ms has to be renewed within ${renewDeadline} ms`,
      `Set --leader-elect-renew-deadline to less than the lease lasts, by ${LEAST_MARGIN_MS} ms at least`,
    )
  }
  // Two tries have to fit, or one lost answer ends the leader.
  if (!(retryPeriod > 0 && retryPeriod * 2 <= renewDeadline)) {
    throw new ServerOptionError(
      `the lease is renewed every ${retryPeriod} ms, with a deadline of ${renewDeadline} ms`,
      'Set --leader-elect-retry-period to at most half of the deadline',
    )
  }
}
