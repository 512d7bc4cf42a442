import type { Backup, DeleteBackupRequest } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  periodically,
  type ReconcileContext,
} from '@lateen/kube'
import type { StuckGauge } from '../metrics/stuck-gauge.ts'
import { abandonedDeletions } from '../watchdog/abandoned-deletions.ts'
import { findStuck, type StuckObject, stuckFinding } from '../watchdog/find-stuck.ts'
import type { PhasedObject } from '../watchdog/stuck-rules.ts'
import type { LatestObjects } from './latest-objects.ts'
import { recordEvent } from './record-event.ts'

export interface WatchdogOptions {
  client: KubeClient
  clock: Clock
  gauge: StuckGauge
  backups: LatestObjects<Backup>
  requests: Informer<DeleteBackupRequest>
  /** All other objects that could be stuck. */
  others: () => Iterable<PhasedObject>
}

const EVERY_MS = 60_000

/**
 * Tells of objects that sit in a phase for longer than that takes: each once by log and event, and by a metric as long as it lasts. Of those that hinge
 * on others it tells when it has seen them so in two looks, one after the other.
 */
export function watchdogController(options: WatchdogOptions): ControllerOptions {
  const { clock, gauge } = options
  let told = new Set<string>()
  let suspects = new Set<string>()

  async function reconcile(_key: string, context: ReconcileContext): Promise<Outcome> {
    const { backups, requests, others } = options
    const seen = [
      ...findStuck([...backups.list(), ...requests.list(), ...others()], clock.now()),
      ...abandonedDeletions(backups.list(), requests.list()),
    ]
    // What was waited for may just have ended, or its follower have begun, and only one of the two be seen so far.
    const stuck = seen.filter(each => !each.hingesOnOthers || suspects.has(identityOf(each)))
    suspects = new Set(seen.map(identityOf))
    gauge.set(
      'objects',
      stuck.map(({ object, phase }) => ({ kind: object.kind, phase })),
    )
    const news = stuck.filter(each => !told.has(identityOf(each)))
    told = new Set(stuck.map(identityOf))
    for (const each of news) await tell(each, { ...options, ...context })
    return done()
  }

  return {
    name: 'watchdog',
    sources: [periodically({ everyMs: EVERY_MS, keys: () => ['objects'] })],
    reconcile,
  }
}

function identityOf({ object, phase }: StuckObject): string {
  return `${object.kind} ${object.metadata.uid} ${phase}`
}

async function tell(stuck: StuckObject, scope: WatchdogOptions & ReconcileContext): Promise<void> {
  const { client, clock, log, signal } = scope
  const { object, phase } = stuck
  const { problem, since, mend } = stuckFinding(stuck)
  const { name, namespace } = object.metadata
  log.warn({ kind: object.kind, namespace, name, phase, since }, 'an object is stuck')
  const message = `It ${problem}${since === undefined ? '' : `, since ${since}`}. To mend it: ${mend}`
  await recordEvent(
    { about: object, type: 'Warning', reason: 'Stuck', message },
    { client, clock, log, signal },
  )
}
