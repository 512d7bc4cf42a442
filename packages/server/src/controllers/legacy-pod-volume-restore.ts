import { formatTime, type PodVolumeRestore, PodVolumeRestoreKind } from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  keyOf,
  type Outcome,
  type ReconcileContext,
  type Source,
  watching,
} from '@lateen/kube'
import type { Pod } from '../data-path/mover-state.ts'
import { decideLegacyRestore, type LegacyRestoreStep } from '../restic/decide-legacy-restore.ts'
import type { VolumeProgress } from '../restic/restore-progress.ts'
import type { LegacyRestoreRun } from '../restic/restore-volume.ts'
import { CancelWatch } from './cancel-watch.ts'
import type { LatestObjects } from './latest-objects.ts'
import type { MoveSlots } from './move-slots.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'
import { isLegacyRestore, isWaiting } from './pod-volume-restore.ts'
import { ProgressPatches } from './progress-patches.ts'

export interface LegacyPodVolumeRestoreOptions {
  client: KubeClient
  clock: Clock
  informer: Informer<PodVolumeRestore>
  /** The informer's, with what this node agent has written. */
  objects: LatestObjects<PodVolumeRestore>
  /** Of this node. */
  pods: Informer<Pod>
  node: string
  slots: MoveSlots
  /** Enqueues these keys when there may be room again for what waits. */
  whenRoom(toKeys: () => Iterable<string>): readonly Source[]
  /** Restores one volume and returns its bytes. */
  restore(
    object: PodVolumeRestore,
    pod: Pod | undefined,
    run: LegacyRestoreRun & Pick<ReconcileContext, 'log'>,
  ): Promise<number>
}

/** One more than these at a time is too much for any node, whatever its settings say. */
const MOST = 32

const PROGRESS_EVERY_MS = 2_000

const LONGEST_MESSAGE = 4_096

/**
 * Restores volumes of this node's pods from restic's format, by the restic program and in this process. What is under way ends with it, and is
 * failed by the next one.
 */
export function legacyPodVolumeRestoreController(options: LegacyPodVolumeRestoreOptions): ControllerOptions {
  const { informer, objects, pods, clock } = options
  const cancelSeen = new Map<string, number>()
  const results = new Map<string, Result>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const object = objects.get(key)
    if (object === undefined) {
      cancelSeen.delete(key)
      results.delete(key)
      return done()
    }
    const scope: Scope = { ...options, ...context, results }
    if (results.has(key)) return report(object, scope)
    if (object.spec.cancel && !cancelSeen.has(key)) cancelSeen.set(key, clock.now())
    return act(decide(object, cancelSeen.get(key), options), object, scope)
  }

  const ofPod = ({ metadata }: Pod) =>
    informer
      .list()
      .filter(isLegacyRestore)
      .filter(({ spec }) => spec.pod.namespace === metadata.namespace && spec.pod.name === metadata.name)
      .map(keyOf)
  const waiting = () =>
    objects
      .list()
      .filter(object => isLegacyRestore(object) && (object.status?.phase || 'New') === 'New')
      .map(keyOf)
  return {
    name: 'pod-volume-restore-legacy',
    sources: [
      watching({ informer, predicate: ({ object }) => isLegacyRestore(object) }),
      watching({ informer: pods, toKeys: ofPod }),
      ...options.whenRoom(waiting),
    ],
    reconcile,
    concurrency: MOST,
  }
}

/** How a restore ended, for its status. */
interface Result {
  uid: string | undefined
  phase: 'Completed' | 'Failed' | 'Canceled'
  message?: string
  progress?: VolumeProgress
}

interface Scope extends LegacyPodVolumeRestoreOptions, ReconcileContext {
  /** Those that are not written yet. */
  results: Map<string, Result>
}

function decide(
  object: PodVolumeRestore,
  cancelSeenAt: number | undefined,
  { pods, node, slots, clock }: LegacyPodVolumeRestoreOptions,
): LegacyRestoreStep {
  const pod = podOf(object, pods)
  const { status } = object
  return decideLegacyRestore({
    phase: status?.phase || 'New',
    cancel: object.spec.cancel === true,
    cancelSeenAt,
    isOurs: status?.node ? status.node === node : pod !== undefined,
    isReady: isWaiting(pod),
    canStart: slots.canStart(),
    now: clock.now(),
  })
}

async function act(step: LegacyRestoreStep, object: PodVolumeRestore, scope: Scope): Promise<Outcome> {
  const key = keyOf(object)
  const { uid } = object.metadata
  switch (step.type) {
    case 'ignore':
      return done()
    case 'wait':
      return again({ afterMs: step.afterMs })
    case 'cancel':
      scope.results.set(key, { uid, phase: 'Canceled', message: 'the restore of the volume was cancelled' })
      return report(object, scope)
    case 'fail':
      scope.results.set(key, { uid, phase: 'Failed', message: lost })
      return report(object, scope)
    case 'start':
      return start(object, scope)
  }
}

const lost =
  "the node agent was restarted while it restored this volume, and a restore from restic's format does not survive that. Restore again"

async function start(object: PodVolumeRestore, scope: Scope): Promise<Outcome> {
  const { clock, node, results } = scope
  const status = { phase: 'InProgress' as const, startTimestamp: formatTime(clock.now()), node }
  let begun: PodVolumeRestore | undefined
  {
    using _slot = scope.slots.starting()
    begun = await write(object, status, scope)
  }
  if (begun === undefined) return done()
  results.set(keyOf(begun), await run(begun, scope))
  return report(begun, scope)
}

/** Restores to the end, whatever it is. Throws only when the node agent stops. */
async function run(object: PodVolumeRestore, scope: Scope): Promise<Result> {
  const { client, clock, objects, pods, log, signal } = scope
  const key = keyOf(object)
  const { uid } = object.metadata
  const isRequested = () => {
    const now = objects.get(key)
    return now?.metadata.uid !== uid || now?.spec.cancel === true
  }
  await using canceling = new CancelWatch({ clock, isRequested })
  await using patches = new ProgressPatches<VolumeProgress>({
    clock,
    everyMs: PROGRESS_EVERY_MS,
    patch: (progress, abort) => {
      const patch = { type: 'merge', body: { status: { progress } } } as const
      return patchObject(
        object,
        { kind: PodVolumeRestoreKind, patch },
        { client, latest: objects, signal: abort },
      )
    },
  })
  try {
    const bytes = await scope.restore(object, podOf(object, pods), {
      log,
      signal: AbortSignal.any([signal, canceling.signal]),
      onProgress: progress => patches.report(progress),
    })
    return { uid, phase: 'Completed', progress: { bytesDone: bytes, totalBytes: bytes } }
  } catch (error) {
    signal.throwIfAborted()
    if (canceling.signal.aborted)
      return { uid, phase: 'Canceled', message: 'the restore of the volume was cancelled' }
    log.warn({ err: error }, "a volume cannot be restored from restic's format")
    return { uid, phase: 'Failed', message: messageOf(error) }
  }
}

/** Writes how a restore ended. Until that has succeeded the result is kept, for the next try. */
async function report(object: PodVolumeRestore, scope: Scope): Promise<Outcome> {
  const { results, clock, log, objects } = scope
  const key = keyOf(object)
  const result = results.get(key)
  const latest = objects.get(key) ?? object
  if (result !== undefined && result.uid === latest.metadata.uid) {
    const { uid: _, ...status } = result
    const now = formatTime(clock.now())
    const startTimestamp = latest.status?.startTimestamp ?? now
    await write(latest, { ...status, startTimestamp, completionTimestamp: now }, scope)
    log.info({ phase: status.phase }, "a restore from restic's format is over")
  }
  results.delete(key)
  return done()
}

function write(object: PodVolumeRestore, status: object, { client, objects, signal }: Scope) {
  return patchInPhase<PodVolumeRestore>(
    object,
    { kind: PodVolumeRestoreKind, body: { status } },
    { client, latest: objects, signal },
  )
}

function podOf({ spec }: PodVolumeRestore, pods: Informer<Pod>): Pod | undefined {
  return pods.get({ namespace: spec.pod.namespace ?? '', name: spec.pod.name ?? '' })
}

/** The reason and what to do about it. */
function messageOf(error: unknown): string {
  const { message, hint } = error as { message?: string; hint?: string }
  const reason = message ?? String(error)
  const text = hint === undefined || reason.includes(hint) ? reason : `${reason}. ${hint}`
  return text.slice(0, LONGEST_MESSAGE)
}
