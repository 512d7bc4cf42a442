/** The ways of backing up volume data, by the names that Velero's volume info has; `any` stands for all of them. */
export type VolumeApproach = 'podvolume' | 'csiSnapshot' | 'volumeSnapshot' | 'any'

/** A persistent volume whose data are not in the backup. */
export interface SkippedVolume {
  name: string
  reasons: { approach: VolumeApproach; reason: string }[]
}

/** Remembers why volumes were not backed up, one reason for each way; forgets them once one way has succeeded. */
export class SkippedVolumes {
  readonly #reasons = new Map<string, Map<VolumeApproach, string>>()
  readonly #taken = new Set<string>()

  skip(volume: string, approach: VolumeApproach, reason: string): void {
    if (volume === '' || this.#taken.has(volume)) return
    const reasons = this.#reasons.get(volume) ?? new Map<VolumeApproach, string>()
    this.#reasons.set(volume, reasons.set(approach, reason))
  }

  /** The data are backed up after all. */
  take(volume: string): void {
    this.#taken.add(volume)
    this.#reasons.delete(volume)
  }

  /** By name, the reasons by approach. */
  list(): SkippedVolume[] {
    return [...this.#reasons].sort(byKey).map(([name, reasons]) => ({
      name,
      reasons: [...reasons].sort(byKey).map(([approach, reason]) => ({ approach, reason })),
    }))
  }
}

/** `approach: reason;` one after the other, as the volume info has it. */
export function skippedReasonText({ reasons }: SkippedVolume): string {
  return reasons.map(({ approach, reason }) => `${approach}: ${reason};`).join('')
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
