import type { Clock, KubeObject, ObjectEvent } from '@lateen/kube'
import type { Histogram } from './registry.ts'

interface Phased extends KubeObject {
  status?: { phase?: string } | undefined
}

export interface PhaseTimesOptions {
  kind: string
  clock: Clock
  seconds: Histogram<'kind' | 'phase'>
  /** Phases that objects stay in. */
  isLast: (phase: string) => boolean
}

/**
 * Measures how long objects stay in their phases, as far as this process has seen them come and go. Remembers objects that are
 * on their way only.
 */
export class PhaseTimes {
  readonly #options: PhaseTimesOptions
  /** By uid. */
  readonly #since = new Map<string, number>()

  constructor(options: PhaseTimesOptions) {
    this.#options = options
  }

  see(event: ObjectEvent<Phased>): void {
    const uid = event.object.metadata.uid ?? ''
    if (event.type === 'deleted') this.#since.delete(uid)
    else if (event.type === 'updated') this.#change(uid, phaseOf(event.previous), phaseOf(event.object))
    else if (event.type === 'added' && phaseOf(event.object) === 'New') this.#enter(uid, 'New')
  }

  #change(uid: string, from: string, to: string): void {
    if (from === to) return
    const { kind, clock, seconds } = this.#options
    const since = this.#since.get(uid)
    if (since !== undefined) seconds.observe({ kind, phase: from }, (clock.now() - since) / 1_000)
    this.#enter(uid, to)
  }

  #enter(uid: string, phase: string): void {
    const { clock, isLast } = this.#options
    if (isLast(phase)) this.#since.delete(uid)
    else this.#since.set(uid, clock.now())
  }
}

function phaseOf({ status }: Phased): string {
  return status?.phase || 'New'
}
