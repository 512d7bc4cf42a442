import {
  type DataMovePhase,
  formatTime,
  isTerminal,
  labelNames,
  lateenAnnotation,
  PodVolumeBackupKind,
  parseTime,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isConflict,
  type KubeClient,
  KubeError,
  type KubeObject,
  keyOf,
  type Outcome,
  type ReconcileContext,
  type Source,
  unlessNotFound,
  watching,
} from '@lateen/kube'
import { DataPathError } from '../data-path/data-path-error.ts'
import { decideMove, type MoveStep } from '../data-path/decide-move.ts'
import { removeMover } from '../data-path/expose-volume.ts'
import { takeOverLog } from '../data-path/mover-log.ts'
import { failureWords } from '../data-path/mover-message.ts'
import type { MoverEvent } from '../data-path/mover-reports.ts'
import { resultOf, withResult } from '../data-path/mover-result.ts'
import { type MoverState, moverState, type Pod } from '../data-path/mover-state.ts'
import { followProgress } from './follow-progress.ts'
import type { LatestObjects } from './latest-objects.ts'
import { moveFailure } from './move-failure.ts'
import type { MoveSlots } from './move-slots.ts'
import type { MoveSort, VolumeMove } from './move-sort.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'

export interface VolumeMoveOptions<T extends VolumeMove> {
  client: KubeClient
  clock: Clock
  informer: Informer<T>
  /** The informer's, with what this node agent has written. */
  objects: LatestObjects<T>
  /** Of movers. */
  movers: Informer<Pod>
  /** Of movers, about progress. */
  events: Informer<MoverEvent>
  /** Of movers, about what came of their work; found by `aboutIndex`. */
  results: Informer<MoverEvent>
  /** What else may make an object ready. */
  more?: readonly Source[]
  /** Enqueues these keys when there may be room again for what waits. */
  whenRoom: (waiting: () => Iterable<string>) => readonly Source[]
  sort: MoveSort<T>
  slots: MoveSlots
  prepareTimeoutMs: number
}

/** Takes the work of one sort that is for this node through its phases. Everything it knows it has observed, so a new node agent goes on where one died. */
export function volumeMoveController<T extends VolumeMove>(options: VolumeMoveOptions<T>): ControllerOptions {
  const { informer, objects, movers, events, results, whenRoom, sort, clock } = options
  const cancelSeen = new Map<string, number>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const object = objects.get(key)
    if (object === undefined) {
      cancelSeen.delete(key)
      return done()
    }
    if (object.spec.cancel && !cancelSeen.has(key)) cancelSeen.set(key, clock.now())
    const mover = moverOf(object, movers.get(key))
    const scope: Scope<T> = { ...options, ...context, mover }
    return act(decide(object, cancelSeen.get(key), scope), object, scope)
  }

  const ofLabel = ({ metadata }: KubeObject) => {
    const name = metadata.labels?.[sort.label]
    return name === undefined ? [] : [`${metadata.namespace}/${name}`]
  }
  const ofEvent = ({ involvedObject, metadata }: MoverEvent) =>
    involvedObject.kind === sort.kind.kind ? [`${metadata.namespace}/${involvedObject.name}`] : []
  /** Those that wait for room, on the node or in the queue of pods. */
  const waiting = () =>
    objects
      .list()
      .filter(object => ['New', 'Prepared'].includes(phaseOf(object)))
      .filter(object => sort.isOurs(object, moverOf(object, movers.get(keyOf(object)))))
      .map(keyOf)
  return {
    name: sort.name,
    sources: [
      watching({ informer }),
      watching({ informer: movers, toKeys: ofLabel }),
      watching({ informer: events, toKeys: ofEvent }),
      watching({ informer: results, toKeys: ofEvent }),
      ...whenRoom(waiting),
      ...(options.more ?? []),
    ],
    reconcile,
    concurrency: 4,
  }
}

/** The pod of that name, if it was made for this very object: others are not ours to look at or to remove. */
function moverOf({ metadata }: VolumeMove, pod: Pod | undefined): Pod | undefined {
  return pod?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) ? pod : undefined
}

interface Scope<T extends VolumeMove> extends VolumeMoveOptions<T>, ReconcileContext {
  mover: Pod | undefined
}

function phaseOf({ status }: VolumeMove): DataMovePhase {
  return status?.phase || 'New'
}

function decide<T extends VolumeMove>(
  object: T,
  cancelSeenAt: number | undefined,
  { sort, slots, results, mover, clock, prepareTimeoutMs }: Scope<T>,
): MoveStep {
  const { acceptedTimestamp } = object.status ?? {}
  return decideMove({
    phase: phaseOf(object),
    cancel: object.spec.cancel === true,
    isDeleted: object.metadata.deletionTimestamp !== undefined,
    isHeld: object.metadata.finalizers?.includes(sort.finalizer) ?? false,
    isOurs: sort.isOurs(object, mover),
    isNobodys: sort.isNobodys(object),
    isReady: sort.isReady(object),
    isHere: mover !== undefined && sort.isHere(mover),
    mover: stateOf(object, { mover, results }),
    acceptedAt: acceptedTimestamp ? parseTime(acceptedTimestamp) : undefined,
    cancelSeenAt,
    canStart: slots.canStart(),
    canPrepare: slots.canPrepare(),
    prepareTimeoutMs,
    now: clock.now(),
  })
}

/** What a mover said last, noted on an object for which there is more to do than its mover does: the pod may go before that is done. */
const moverResult = lateenAnnotation('mover-result')

/** How the mover of an object stands, which may be gone after it told its result. */
function stateOf(
  object: VolumeMove,
  { mover, results }: { mover: Pod | undefined; results: Informer<MoverEvent> },
): MoverState {
  const noted = object.metadata.annotations?.[moverResult]
  if (noted !== undefined) return { type: 'ended', well: true, lastWords: noted }
  return withResult(moverState(mover), { phase: phaseOf(object), result: resultOf(object, results) })
}

async function act<T extends VolumeMove>(step: MoveStep, object: T, scope: Scope<T>): Promise<Outcome> {
  const now = formatTime(scope.clock.now())
  switch (step.type) {
    case 'ignore':
      return done()
    case 'wait':
      return (await isForNothing(object, scope)) ? again({ afterMs: 0 }) : again({ afterMs: step.afterMs })
    case 'hold':
      await setFinalizers(object, [...(object.metadata.finalizers ?? []), scope.sort.finalizer], scope)
      return again({ afterMs: 0 })
    case 'accept':
      // What another node agent took will be seen.
      return (await accept(object, now, scope)) ? again({ afterMs: 0 }) : again({ afterMs: EXPOSE_AGAIN_MS })
    case 'expose':
      return expose(object, scope)
    case 'prepared':
      await prepared(object, scope)
      return again({ afterMs: 0 })
    case 'start':
      await start(object, now, scope)
      return done()
    case 'follow':
      await followProgress(object, { ...scope, kind: scope.sort.kind })
      return again({ afterMs: LOOK_AGAIN_MS })
    case 'canceling':
      await move(object, { phase: 'Canceling' }, scope)
      return again({ afterMs: LOOK_AGAIN_MS })
    case 'wantCancel':
      await wantCancel(object, scope)
      return done()
    case 'complete':
      return complete(object, step.lastWords, scope)
    case 'fail':
      await end(object, { phase: 'Failed', message: await moveFailure(step, object, scope) }, scope)
      return again({ afterMs: 0 })
    case 'cancel':
      await end(object, { phase: 'Canceled', ...(step.message && { message: step.message }) }, scope)
      return again({ afterMs: 0 })
    case 'cleanUp':
      return cleanUp(object, scope)
  }
}

/** The label is there until its work begins or ends. */
const preparing = { [labelNames.exposeOnGoing]: 'true' }
const notPreparing = { [labelNames.exposeOnGoing]: null }

/** For what nobody tells: a wish that is not heeded, a pod of the name that goes only now. */
const LOOK_AGAIN_MS = 60_000
const EXPOSE_AGAIN_MS = 5_000

/** False when another node agent was first. */
async function accept<T extends VolumeMove>(object: T, now: string, scope: Scope<T>): Promise<boolean> {
  using _place = scope.slots.preparing()
  const status = { phase: 'Accepted', acceptedTimestamp: now, ...scope.sort.accepted(object) } as const
  return move(object, { ...status, labels: preparing }, scope)
}

async function prepared<T extends VolumeMove>(object: T, scope: Scope<T>): Promise<void> {
  const { sort, mover } = scope
  await move(object, { phase: 'Prepared', ...(mover && sort.prepared?.(object, mover)) }, scope)
}

async function start<T extends VolumeMove>(object: T, now: string, scope: Scope<T>): Promise<void> {
  const { sort, slots, mover } = scope
  using _slot = slots.starting()
  const status = { phase: 'InProgress', startTimestamp: now } as const
  await move(object, { ...status, ...(mover && sort.started?.(object, mover)), labels: notPreparing }, scope)
}

/** Whoever deletes an object no longer wants its work done. */
async function wantCancel<T extends VolumeMove>(
  object: T,
  { client, sort, objects, log, signal }: Scope<T>,
): Promise<void> {
  const body = {
    metadata: { resourceVersion: object.metadata.resourceVersion },
    spec: { cancel: true },
    status: { message: 'it is cancelled because it is being deleted' },
  }
  await patchObject<T>(
    object,
    { kind: sort.kind, patch: { type: 'merge', body } },
    { client, latest: objects, signal },
  )
  log.info({}, 'volume data: what is being deleted is cancelled')
}

async function expose<T extends VolumeMove>(object: T, scope: Scope<T>): Promise<Outcome> {
  const { sort, log, signal } = scope
  try {
    const progressed = await sort.expose(object, scope)
    return again({ afterMs: progressed === 'done' ? EXPOSE_AGAIN_MS : progressed.afterMs })
  } catch (error) {
    signal.throwIfAborted()
    // What may be different at the next try is tried again, until there was time enough to prepare.
    if (error instanceof KubeError && error.retryable) throw error
    const message = failureWords(error)
    log.warn({ err: error }, 'a volume cannot be exposed')
    await failUnlessCancelled(object, `error to expose: ${message}`, scope)
    return again({ afterMs: 0 })
  }
}

/** Fails what is prepared for a volume that is gone: a mover never starts without what it is for. */
async function isForNothing<T extends VolumeMove>(object: T, scope: Scope<T>): Promise<boolean> {
  const { sort, mover } = scope
  if (phaseOf(object) !== 'Accepted' || mover === undefined || !sort.isOurs(object, mover)) return false
  try {
    await sort.confirm?.(object, scope)
    return false
  } catch (error) {
    if (!(error instanceof DataPathError)) throw error
    await failUnlessCancelled(object, error.message, scope)
    return true
  }
}

/** Whoever cancels a move takes away what it is prepared from, and that may be missed before the wish is heard. */
async function failUnlessCancelled<T extends VolumeMove>(
  object: T,
  message: string,
  scope: Scope<T>,
): Promise<void> {
  const { client, sort, signal } = scope
  const { name = '', namespace } = object.metadata
  const now = await client.resource(sort.kind, namespace).get(name, { signal }).catch(unlessNotFound)
  await end(object, now?.spec.cancel ? { phase: 'Canceled' } : { phase: 'Failed', message }, scope)
}

async function complete<T extends VolumeMove>(
  object: T,
  lastWords: string,
  scope: Scope<T>,
): Promise<Outcome> {
  const { sort, mover } = scope
  const result = sort.completed(lastWords)
  const isNoted = object.metadata.annotations?.[moverResult] !== undefined
  if (result === undefined) {
    const message = `the mover ended well, but told no result: ${lastWords}`
    await end(object, { phase: 'Failed', message }, scope)
  } else {
    const more = await finish(object, lastWords, scope)
    if (more !== undefined) return more
    await end(object, { phase: 'Completed', ...result }, scope)
  }
  if (mover !== undefined && !isNoted) await takeOverLog(mover, scope)
  return again({ afterMs: 0 })
}

/** Does what is left after the mover; undefined when that is done. */
async function finish<T extends VolumeMove>(
  object: T,
  lastWords: string,
  scope: Scope<T>,
): Promise<Outcome | undefined> {
  const { sort, mover, client, objects, signal } = scope
  if (sort.finish === undefined) return undefined
  if (object.metadata.annotations?.[moverResult] === undefined) {
    const body = { metadata: { annotations: { [moverResult]: lastWords } } }
    const ports = { client, latest: objects, signal }
    await patchObject<T>(object, { kind: sort.kind, patch: { type: 'merge', body } }, ports)
    if (mover !== undefined) await takeOverLog(mover, scope)
  }
  try {
    const progressed = await sort.finish(object, scope)
    return progressed === 'done' ? undefined : again({ afterMs: progressed.afterMs })
  } catch (error) {
    if (!(error instanceof DataPathError)) throw error
    await end(object, { phase: 'Failed', message: error.message }, scope)
    return again({ afterMs: 0 })
  }
}

async function end<T extends VolumeMove>(
  object: T,
  status: { phase: DataMovePhase; message?: string },
  scope: Scope<T>,
): Promise<void> {
  const now = formatTime(scope.clock.now())
  const startTimestamp = object.status?.startTimestamp ?? now
  await move(object, { ...status, startTimestamp, completionTimestamp: now, labels: notPreparing }, scope)
}

interface NextStatus {
  phase: DataMovePhase
  acceptedTimestamp?: string
  startTimestamp?: string
  completionTimestamp?: string
  message?: string
  /** Of the object; null removes one. */
  labels?: Record<string, string | null>
}

/** Writes a status to an object that is still in the phase that was looked at; false when it is not. */
async function move<T extends VolumeMove>(
  object: T,
  { labels, ...status }: NextStatus,
  { client, sort, objects, log, signal }: Scope<T>,
): Promise<boolean> {
  const body = { ...(labels && { metadata: { labels } }), status }
  const written = await patchInPhase<T>(
    object,
    { kind: sort.kind, body },
    { client, latest: objects, signal },
  )
  if (written !== undefined) log.info({ phase: status.phase }, 'volume data: a phase is reached')
  return written !== undefined
}

async function cleanUp<T extends VolumeMove>(object: T, scope: Scope<T>): Promise<Outcome> {
  const { mover, sort } = scope
  if (mover !== undefined) {
    await removeMover(mover, scope)
    return done()
  }
  const progressed = (await sort.cleanUp?.(object, scope)) ?? 'done'
  if (progressed !== 'done') return again({ afterMs: progressed.afterMs })
  const finalizers = (object.metadata.finalizers ?? []).filter(name => name !== sort.finalizer)
  await setFinalizers(object, finalizers, scope)
  return done()
}

async function setFinalizers<T extends VolumeMove>(
  object: T,
  finalizers: string[],
  { client, sort, objects, signal }: Scope<T>,
): Promise<void> {
  const { resourceVersion } = object.metadata
  const patch = { type: 'merge', body: { metadata: { resourceVersion, finalizers } } } as const
  try {
    await patchObject<T>(object, { kind: sort.kind, patch }, { client, latest: objects, signal })
  } catch (error) {
    // Somebody else wrote to it meanwhile, which will be seen.
    if (!isConflict(error)) throw error
  }
}

/** Whether nothing more will happen to it. */
export function isOver({ status }: VolumeMove): boolean {
  return isTerminal(PodVolumeBackupKind, status?.phase)
}
