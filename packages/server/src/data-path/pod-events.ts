import { builtInKind, type KubeClient, type KubeObject, type Logger } from '@lateen/kube'
import type { Pod } from './mover-state.ts'

/** What is read of events about pods. */
export interface PodEvent extends KubeObject {
  type?: string
  reason?: string
  message?: string
  lastTimestamp?: string | null
}

const EventKind = builtInKind<PodEvent>('Event')

const MOST_EVENTS = 100

/** What the cluster has recorded about a pod, for people. Events that cannot be read are no reason to stop. */
export async function eventsOfPod(
  { metadata }: Pod,
  { client, log, signal }: { client: KubeClient; log: Logger; signal: AbortSignal },
): Promise<string[]> {
  const { namespace, uid } = metadata
  const fieldSelector = `involvedObject.uid=${uid}`
  const events: PodEvent[] = []
  try {
    for await (const event of client.resource(EventKind, namespace).list({ fieldSelector, signal })) {
      events.push(event)
      if (events.length === MOST_EVENTS) break
    }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, mover: metadata.name }, 'the events of a pod cannot be read')
  }
  return eventLines(events)
}

/** The warnings if there are any, else what else happened: the latest few, each said once. */
export function eventLines(events: readonly PodEvent[], most = 3): string[] {
  const warnings = events.filter(({ type }) => type === 'Warning')
  const chosen = warnings.length > 0 ? warnings : events
  const lines = chosen
    .toSorted((a, b) => (a.lastTimestamp ?? '').localeCompare(b.lastTimestamp ?? ''))
    .map(({ reason = '', message = '' }) => `event ${reason}: ${message.replaceAll(/\s+/g, ' ').trim()}`)
  return [...new Set(lines)].slice(-most)
}
