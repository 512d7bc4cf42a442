import type { Route } from './http-server.ts'
import { sendText } from './http-server.ts'
import type { ElectionState } from './leader-election.ts'

/** What readiness is decided from. */
export interface HealthFacts {
  stopping: boolean
  informers: readonly { name: string; hasSynced: boolean }[]
  /** Absent without leader election. */
  election?: ElectionState | undefined
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
    ...(election === 'unknown' ? ['the leader election has not read its lease yet'] : []),
    ...failing,
  ]
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
        const reasons = reasonsNotReady(await facts())
        sendText(response, reasons.length === 0 ? 200 : 503, `${reasons.join('\n') || 'ok'}\n`)
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
