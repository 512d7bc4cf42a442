import { annotationNames, groupSnapshotClassAnnotation, labelNames } from '@lateen/api'
import { CsiError } from './csi-error.ts'
import type { VolumeGroupSnapshotClass } from './group-snapshot-kinds.ts'

/** What decides about the class of a group snapshot. */
export interface GroupClassFacts {
  driver: string
  /** All classes of the cluster. */
  classes: readonly VolumeGroupSnapshotClass[]
  /** Annotations of a claim of the group. */
  claim: Readonly<Record<string, string>> | undefined
  /** Annotations of the backup. */
  backup: Readonly<Record<string, string>> | undefined
}

const mark = `${labelNames.volumeGroupSnapshotClass}=true`

/** The class for a group snapshot, chosen as Velero does: what the claim names, else the backup for the driver, else the one of the driver with the label. Throws CsiError. */
export function chooseGroupSnapshotClass({ driver, classes, claim, backup }: GroupClassFacts): string {
  const named =
    claim?.[annotationNames.volumeGroupSnapshotClass] || backup?.[groupSnapshotClassAnnotation(driver)]
  if (named) return named
  const marked = classes
    .filter(each => each.driver === driver)
    .filter(({ metadata }) => metadata.labels?.[labelNames.volumeGroupSnapshotClass] === 'true')
    .map(({ metadata }) => metadata.name ?? '')
  const [only, ...others] = marked
  if (only !== undefined && others.length === 0) return only
  if (only === undefined) {
    throw new CsiError('NO_SNAPSHOT_CLASS', {
      reason: `no VolumeGroupSnapshotClass of the CSI driver ${driver} is marked for backups`,
      hint: `Give one the label ${mark}, or take the label of the group from its claims`,
    })
  }
  throw new CsiError('SEVERAL_SNAPSHOT_CLASSES', {
    reason: `several VolumeGroupSnapshotClasses of the CSI driver ${driver} are marked for backups: ${marked.sort().join(', ')}`,
    hint: `Leave the label ${mark} to one of them`,
  })
}
