import type { Route } from './http-server.ts'
import { sendText } from './http-server.ts'
import type { LeaderElection } from './leader-election.ts'

/** What readiness is decided from. */
export interface HealthFacts {
  stopping: boolean
  informers: readonly { name: string; hasSynced: boolean }[]
  /** Absent without leader election. */
  election?: Pick<LeaderElection, 'state' | 'holder' | 'lastError'> | undefined
  /** Results of the owner's own checks: a reason each, or nothing when all is well. */
  checks: readonly { name: string; reason: string | undefined }[]
}

/**
 * Why this process should get no traffic; empty when it is ready. A standby is ready: it serves what needs no leader,
 * and it must not block a rolling update.
 */
export function reasonsNotReady({ stopping, informers, election, checks }: HealthFacts): string[] {
  const behind = informers
    .filter(informer => !informer.hasSynced)
    .map(({ name }) => `informer ${name} has not synced`)
  const failing = checks.flatMap(({ name, reason }) => (reason === undefined ? [] : [`${name}: ${reason}`]))
  return [
    ...(stopping ? ['stopping'] : []),
    ...behind,
    ...(election?.state === 'unknown' ? [notRead(election.lastError)] : []),
    ...failing,
  ]
}

function notRead(error: unknown): string {
  const reason = error instanceof Error ? `: ${error.message}` : ''
  return `the leader election has not read its lease yet${reason}`
}

/** `ok`, and of a standby that it is one and who leads. */
export function describeReady({ election }: Pick<HealthFacts, 'election'>): string {
  if (election?.state !== 'standby') return 'ok'
  return `ok, standby: ${election.holder === undefined ? 'nobody leads' : `${election.holder} leads`}`
}

export interface HealthSources {
  facts: () => Promise<HealthFacts>
  metrics: () => Promise<string>
}

/** `/healthz` (the process answers), `/readyz` (with reasons) and `/metrics`. */
export function healthRoutes({ facts, metrics }: HealthSources): Route[] {
  return [
    { path: '/healthz', handler: (_, response) => sendText(response, 200, 'ok\n') },
    {
      path: '/readyz',
      async handler(_, response) {
        const now = await facts()
        const reasons = reasonsNotReady(now)
        const text = reasons.length === 0 ? describeReady(now) : reasons.join('\n')
        sendText(response, reasons.length === 0 ? 200 : 503, `${text}\n`)
      },
    },
    {
      path: '/metrics',
      async handler(_, response) {
        const body = await metrics()
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body)
      },
    },
  ]
}
