import {
  builtInKind,
  type Clock,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Logger,
} from '@lateen/kube'

interface CoreEvent extends KubeObject {
  involvedObject: object
  reason: string
  message: string
  type: 'Normal' | 'Warning'
  firstTimestamp: string
  lastTimestamp: string
  count: number
  source: { component: string }
}

const EventKind = builtInKind<CoreEvent>('Event')

/** The API server refuses longer ones: they are cut. */
export const longestMessage = 1024

/** Something about an object that `kubectl describe` should show. */
export interface RecordedEvent {
  about: KubeObject
  type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  reason: string
  message: string
}

export interface EventPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/** Records an event. It is a courtesy: when it cannot be stored, that is logged, as a warning where a right is missing, and nothing else happens. */
export async function recordEvent(
  { about, type, reason, message }: RecordedEvent,
  { client, clock, log, signal }: EventPorts,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = about.metadata
  const time = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
  const event: CoreEvent = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: `${name?.slice(0, 200)}.`, ...(namespace !== undefined && { namespace }) },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      namespace,
      name,
      uid,
      resourceVersion,
    },
    type,
    reason,
    message: message.slice(0, longestMessage),
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    source: { component: 'lateen' },
  }
  try {
    await client.resource(EventKind, namespace).create(event, { signal })
  } catch (error) {
    if (signal.aborted) return
    const fields = { err: error, reason }
    if (isForbidden(error)) log.warn(fields, 'an event could not be recorded')
    else log.debug(fields, 'an event could not be recorded')
  }
}
