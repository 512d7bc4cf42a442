import { randomUUID } from 'node:crypto'
import { formatTime } from '@lateen/api'
import { builtInKind, type Clock, type KubeClient, type KubeObject, type Logger } from '@lateen/kube'
import { moverReasons, serializeWords } from './mover-message.ts'

/** What a mover said. */
export interface MoverEvent extends KubeObject {
  involvedObject: { kind?: string; name?: string; uid?: string | undefined }
  reason: string
  message: string
  type: 'Normal'
  firstTimestamp: string
  lastTimestamp: string
  count: number
  source: { component: string; host: string }
}

/** The kind of what movers report by. */
export const MoverEventKind = builtInKind<MoverEvent>('Event')

/** By which a mover tells how far it is. Whatever cannot be told is logged; the work goes on. */
export interface MoverReports {
  tell(reason: keyof typeof moverReasons, message: string): Promise<void>
  /** Replaces what was said of progress before. Called as often as one likes: what comes too soon after the last is left out. */
  progress(done: { bytesDone: number; totalBytes: number | undefined }): void
  /** Resolves when all was told. */
  settled(): Promise<void>
}

export interface ReportPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  node: string
  signal: AbortSignal
}

/** The API server should not be asked for more, and nobody looks more often. */
const PROGRESS_EVERY_MS = 5_000

const longestMessage = 1024

/** Reports about an object, as events that `kubectl describe` shows with it. */
export function moverReports(about: KubeObject, ports: ReportPorts): MoverReports {
  const { client, clock, log, node, signal } = ports
  const { namespace = '', name = '', uid } = about.metadata
  const events = client.resource(MoverEventKind, namespace)
  const { apiVersion, kind } = about
  const involved = { apiVersion, kind, namespace, name, uid }
  const progressName = `${name}.${randomUUID()}`
  let last = Promise.resolve()
  let told = 0
  let toldAt = Number.NEGATIVE_INFINITY

  const eventOf = (eventName: string, reason: string, message: string): MoverEvent => {
    const now = formatTime(clock.now())
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName, namespace },
      involvedObject: involved,
      reason,
      message: message.slice(0, longestMessage),
      type: 'Normal',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component: name, host: node },
    }
  }
  const inTurn = (step: () => Promise<unknown>) => {
    last = last.then(step).then(
      () => {},
      (error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'an event of the mover could not be recorded')
      },
    )
    return last
  }
  return {
    tell: (reason, message) =>
      inTurn(() =>
        events.create(eventOf(`${name}.${randomUUID()}`, moverReasons[reason], message), { signal }),
      ),
    progress({ bytesDone, totalBytes = 0 }) {
      const now = clock.now()
      if (now - toldAt < PROGRESS_EVERY_MS) return
      toldAt = now
      told += 1
      const count = told
      const event = eventOf(
        progressName,
        moverReasons.progress,
        serializeWords({ totalBytes, doneBytes: bytesDone }),
      )
      const { message, lastTimestamp } = event
      const body = { message, lastTimestamp, count }
      void inTurn(() =>
        count === 1
          ? events.create(event, { signal })
          : events.patch(progressName, { type: 'merge', body }, { signal }),
      )
    },
    settled: () => last,
  }
}
