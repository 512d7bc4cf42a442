import { annotationNames } from '@lateen/api'
import { snapshotGroup, type VolumeSnapshotClass } from '../csi/snapshot-kinds.ts'
import { syncedClassAnnotation } from '../csi/synced-class.ts'

export interface SyncedClasses {
  classes: VolumeSnapshotClass[]
  /** What is wrong with the others. */
  problems: string[]
}

/** The classes in a backup's file, as they are created in this cluster where they are missing. A cluster chooses its default itself. */
export function classesIn(stored: unknown): SyncedClasses {
  if (stored === undefined || stored === null) return { classes: [], problems: [] }
  if (!Array.isArray(stored)) return { classes: [], problems: ['its VolumeSnapshotClasses are no list'] }
  const found: SyncedClasses = { classes: [], problems: [] }
  for (const [index, value] of stored.entries()) {
    const read = classHere(value)
    if (read !== undefined) found.classes.push(read)
    else found.problems.push(`number ${index + 1} of its VolumeSnapshotClasses is none`)
  }
  return found
}

function classHere(value: unknown): VolumeSnapshotClass | undefined {
  const { metadata, driver, deletionPolicy, parameters } = (value ?? {}) as Partial<VolumeSnapshotClass>
  if (!metadata?.name || !driver) return undefined
  if (deletionPolicy !== 'Delete' && deletionPolicy !== 'Retain') return undefined
  const { name, labels, annotations } = metadata
  const { [annotationNames.defaultVolumeSnapshotClass]: _default, ...kept } = annotations ?? {}
  return {
    apiVersion: `${snapshotGroup}/v1`,
    kind: 'VolumeSnapshotClass',
    metadata: { name, ...(labels && { labels }), annotations: { ...kept, [syncedClassAnnotation]: 'true' } },
    driver,
    deletionPolicy,
    ...(parameters && { parameters }),
  }
}
