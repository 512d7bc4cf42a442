import type { VolumeSnapshotLocation } from '@lateen/api'
import { type ActionItem, PluginError, type VolumeSnapshotter } from '@lateen/plugin'
import type { Snapshotters } from '../snapshotters.ts'

/** Snapshots that exist in memory alone, and every call that was made. */
export class MemorySnapshotter {
  readonly calls: unknown[][] = []
  readonly snapshots = new Set<string>()
  /** The volumes that it knows. */
  readonly #volumes: ReadonlySet<string>
  /** Calls that fail. */
  readonly #failing: ReadonlySet<string>

  constructor({ volumes, failing = [] }: { volumes: readonly string[]; failing?: readonly string[] }) {
    this.#volumes = new Set(volumes)
    this.#failing = new Set(failing)
  }

  get snapshotter(): VolumeSnapshotter {
    return {
      init: async ({ config }) => this.#call('init', config),
      getVolumeId: async ({ persistentVolume }) => {
        const { name = '' } = persistentVolume.metadata
        this.#call('getVolumeId', name)
        return this.#volumes.has(name) ? `vol-${name}` : undefined
      },
      getVolumeInfo: async ({ volumeId, volumeZone }) => {
        this.#call('getVolumeInfo', volumeId, volumeZone)
        return { volumeType: 'memory', iops: 7 }
      },
      createSnapshot: async ({ volumeId, volumeZone, tags }) => {
        this.#call('createSnapshot', volumeId, volumeZone, tags)
        this.snapshots.add(`snap-${volumeId}`)
        return `snap-${volumeId}`
      },
      deleteSnapshot: async ({ snapshotId }) => {
        this.#call('deleteSnapshot', snapshotId)
        this.snapshots.delete(snapshotId)
      },
      createVolumeFromSnapshot: async ({ snapshotId, volumeType, volumeZone, iops }) => {
        this.#call('createVolume', snapshotId, volumeType, volumeZone, iops)
        return 'vol-new'
      },
      setVolumeId: async ({ persistentVolume, volumeId }): Promise<ActionItem> => {
        this.#call('setVolumeId', volumeId)
        const spec = persistentVolume.spec as object | undefined
        return { ...persistentVolume, spec: { ...spec, volumeId } }
      },
      cancel: async ({ snapshotId }) => this.#call('cancel', snapshotId),
    }
  }

  #call(name: string, ...args: unknown[]): void {
    this.calls.push([name, ...args])
    if (this.#failing.has(name)) throw new PluginError('FAILED', { reason: `${name} does not work` })
  }
}

/** Snapshotters by the names of their locations; a missing one cannot be opened. */
export function snapshottersOf(byLocation: Readonly<Record<string, MemorySnapshotter>>): Snapshotters {
  const named = async (name: string) => {
    const found = byLocation[name]
    if (found === undefined) throw new Error(`no location ${name}`)
    return found.snapshotter
  }
  return { named, of: ({ metadata }) => named(metadata.name ?? '') }
}

export function memoryLocation(
  name: string,
  spec: Partial<VolumeSnapshotLocation['spec']> = {},
): VolumeSnapshotLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'VolumeSnapshotLocation',
    metadata: { name, namespace: 'velero' },
    spec: { provider: 'example.com/memory', ...spec },
  }
}
