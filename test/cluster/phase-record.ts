import type { DataMovePhase } from '@lateen/api'
import type { KubeClient, KubeObject, ResourceType } from '@lateen/kube'

/** An object that goes from phase to phase. */
export interface Phased extends KubeObject {
  spec: { cancel?: boolean }
  status?: { phase?: DataMovePhase | ''; message?: string }
}

/** What became of the objects of a kind in a namespace, seen from outside. */
export interface PhaseRecord<T extends Phased> extends AsyncDisposable {
  /** Every change of phase that was seen, as `from > to`, with the names of the objects. */
  readonly edges: ReadonlyMap<string, readonly string[]>
  /** As it is, or was when it went. */
  get(name: string): T | undefined
  isGone(name: string): boolean
  /** Waits until an object is so. */
  until(name: string, what: string, holds: (object: T, isGone: boolean) => boolean): Promise<T>
  reaches(name: string, ...phases: DataMovePhase[]): Promise<T>
}

const LONGEST_MS = 180_000

/** Watches every change of the objects of a kind, from now on. */
export async function recordPhases<T extends Phased>(
  client: KubeClient,
  kind: ResourceType<T>,
  namespace: string,
): Promise<PhaseRecord<T>> {
  const objects = client.resource<T>(kind, namespace)
  const ending = new AbortController()
  const { signal } = ending
  const seen = new Map<string, { object: T; isGone: boolean }>()
  const edges = new Map<string, string[]>()
  const waiting = new Set<() => void>()
  const listing = objects.list({ signal })
  for await (const object of listing) seen.set(object.metadata.name ?? '', { object, isGone: false })

  function note(object: T, isGone: boolean): void {
    const { name = '' } = object.metadata
    const earlier = seen.get(name)?.object
    const [from, to] = [phaseOf(earlier), phaseOf(object)]
    if (earlier?.metadata.uid === object.metadata.uid && from !== to) {
      const edge = `${from} > ${to}`
      edges.set(edge, [...(edges.get(edge) ?? []), name])
    }
    seen.set(name, { object, isGone })
    for (const look of waiting) look()
  }

  async function watch(): Promise<void> {
    for await (const event of objects.watch({ resourceVersion: listing.resourceVersion, signal })) {
      if (event.type !== 'BOOKMARK') note(event.object, event.type === 'DELETED')
    }
  }
  const watching = watch().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })

  const record: PhaseRecord<T> = {
    edges,
    get: name => seen.get(name)?.object,
    isGone: name => seen.get(name)?.isGone ?? false,
    async until(name, what, holds) {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const look = () => {
        const state = seen.get(name)
        if (state !== undefined && holds(state.object, state.isGone)) resolve(state.object)
      }
      waiting.add(look)
      const timer = setTimeout(() => {
        reject(new Error(`${kind.kind} ${name}: ${what} was not seen; ${JSON.stringify(seen.get(name))}`))
      }, LONGEST_MS)
      look()
      return await Promise.race([promise, watching.then(() => promise)]).finally(() => {
        waiting.delete(look)
        clearTimeout(timer)
      })
    },
    reaches: (name, ...phases) =>
      record.until(name, phases.join(' or '), object => phases.some(phase => phase === phaseOf(object))),
    async [Symbol.asyncDispose]() {
      ending.abort()
      await watching
    },
  }
  return record
}

function phaseOf(object: Phased | undefined): DataMovePhase {
  return object?.status?.phase || 'New'
}
