import { gauge } from './family.ts'
import type { MetricsRegistry } from './registry.ts'

/** What is counted together. */
export interface StuckCount {
  readonly kind: string
  readonly phase: string
}

/** How many things sit where they should not, as `lateen_stuck_objects`. Kinds and phases that once had something remain, with 0. */
export interface StuckGauge {
  /** Replaces what was said of this part: all objects, or one bucket. Without anything, the part is forgotten. */
  set(part: string, stuck: readonly StuckCount[]): void
}

export function createStuckGauge(registry: MetricsRegistry): StuckGauge {
  const parts = new Map<string, readonly StuckCount[]>()
  const objects = registry.gauge(
    gauge(
      'lateen_stuck_objects',
      'Objects in a phase for longer than that takes, and folders of buckets that nothing refers to',
      ['kind', 'phase'],
    ),
  )
  return {
    set(part, stuck) {
      for (const { kind, phase } of [...(parts.get(part) ?? []), ...stuck]) objects.set({ kind, phase }, 0)
      if (stuck.length === 0) parts.delete(part)
      else parts.set(part, stuck)
      const counts = Map.groupBy([...parts.values()].flat(), ({ kind, phase }) => `${kind}\n${phase}`)
      for (const [first, ...more] of counts.values()) {
        if (first !== undefined) objects.set({ kind: first.kind, phase: first.phase }, 1 + more.length)
      }
    },
  }
}
