import { type DataMovePhase, isTerminal, labelNames, PodVolumeBackupKind } from '@lateen/api'
import {
  type Clock,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Logger,
  type ResourceType,
  watchUntil,
} from '@lateen/kube'

/** What tells whether the data of a volume have moved. */
export interface Moved extends KubeObject {
  spec: { cancel?: boolean }
  status?: { phase?: DataMovePhase | ''; message?: string }
}

export interface MovesPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  /** Of the server's own objects. */
  namespace: string
}

/** How long node agents are given to end what was cancelled. */
const CANCEL_PATIENCE_MS = 120_000

/** The objects that one backup or restore has made to have data moved, and how they stand. */
export class MovesOf<T extends Moved> {
  readonly #kind: ResourceType<T>
  readonly #ports: MovesPorts
  readonly #owner: { label: string; uid: string }
  readonly #byName = new Map<string, T>()

  /** `label` is the one that names the owner's UID. */
  constructor(
    kind: ResourceType<T>,
    owner: { label: 'backupUid' | 'restoreUid'; uid: string },
    ports: MovesPorts,
  ) {
    this.#kind = kind
    this.#owner = { label: labelNames[owner.label], uid: owner.uid }
    this.#ports = ports
  }

  /** Makes one. Throws KubeErrors. */
  async begin(object: T, signal: AbortSignal): Promise<T> {
    const created = await this.#ports.client
      .resource(this.#kind, this.#ports.namespace)
      .create(object, { signal })
    this.#byName.set(created.metadata.name ?? '', created)
    return created
  }

  list(): T[] {
    return [...this.#byName.values()]
  }

  /** Waits until all that are chosen are over, and no longer than until the deadline. False when that came first. */
  async ended(
    { deadline, chosen = () => true }: { deadline: number; chosen?: (object: T) => boolean },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock } = this.#ports
    const areOver = () => this.list().filter(chosen).every(isOver)
    if (areOver()) return true
    const late = new AbortController()
    const timer = new AbortController()
    const waiting = clock
      .sleep(Math.max(0, deadline - clock.now()), AbortSignal.any([signal, timer.signal]))
      .then(
        () => late.abort(),
        () => {},
      )
    try {
      return await this.#watch(areOver, AbortSignal.any([signal, late.signal]))
    } catch (error) {
      signal.throwIfAborted()
      if (late.signal.aborted) return areOver()
      throw error
    } finally {
      timer.abort()
      await waiting
    }
  }

  /** Has those stopped that are not over, and waits for that. */
  async cancel(signal: AbortSignal): Promise<void> {
    const { client, clock, namespace } = this.#ports
    const objects = client.resource(this.#kind, namespace)
    for (const { metadata } of this.list().filter(object => !isOver(object))) {
      await objects
        .patch(metadata.name ?? '', { type: 'merge', body: { spec: { cancel: true } } }, { signal })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error
        })
    }
    await this.ended({ deadline: clock.now() + CANCEL_PATIENCE_MS }, signal)
  }

  /** Keeps the list as the cluster has it until that holds. */
  #watch(holds: () => boolean, signal: AbortSignal): Promise<true> {
    const labelSelector = `${this.#owner.label}=${this.#owner.uid}`
    // What is begun later may be unknown to the watch for a while; only what it must know can be missing.
    const known = new Set(this.#byName.keys())
    return watchUntil<T, true>(this.#kind, { ...this.#ports, labelSelector, signal }, objects => {
      for (const { metadata } of objects) known.add(metadata.name ?? '')
      this.#see(objects, known)
      return holds() || undefined
    })
  }

  #see(objects: readonly T[], known: ReadonlySet<string>): void {
    const seen = new Map(objects.map(object => [object.metadata.name ?? '', object]))
    for (const [name, object] of this.#byName) {
      if (known.has(name) && !isOver(object)) this.#byName.set(name, seen.get(name) ?? withoutObject(object))
    }
  }
}

function isOver({ status }: Moved): boolean {
  return isTerminal(PodVolumeBackupKind, status?.phase)
}

/** One that somebody has deleted before it was over. */
function withoutObject<T extends Moved>(object: T): T {
  const status = { ...object.status, phase: 'Failed' as const, message: 'it was deleted before it was over' }
  return { ...object, status }
}
