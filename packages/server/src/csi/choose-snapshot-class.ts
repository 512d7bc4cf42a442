import { annotationNames, labelNames, snapshotClassAnnotation } from '@lateen/api'
import { CsiError } from './csi-error.ts'
import type { VolumeSnapshotClass } from './snapshot-kinds.ts'
import { ownClasses } from './synced-class.ts'

/** What decides about the class of a snapshot. */
export interface ClassFacts {
  driver: string
  /** All classes of the cluster. */
  classes: readonly VolumeSnapshotClass[]
  /** Annotations of the claim. */
  claim: Readonly<Record<string, string>> | undefined
  /** Annotations of the backup. */
  backup: Readonly<Record<string, string>> | undefined
}

/**
 * The class for a snapshot, chosen as Velero does: the one that the claim names, else the one that the backup names for the driver, else
 * the first with the label, else the default, else the only one of the driver. A name that stands for no class of the driver is
 * passed over. Classes that came with backups of other clusters count only where the driver has no others. Throws CsiError when nothing decides, and where Kubernetes could not decide either: two defaults.
 */
export function chooseSnapshotClass({ driver, classes, claim, backup }: ClassFacts): VolumeSnapshotClass {
  const ofDriver = classes.filter(each => sameText(each.driver, driver)).sort(byName)
  const named = (name: string | undefined) =>
    name === undefined ? undefined : ofDriver.find(({ metadata }) => sameText(metadata.name, name))
  const own = ownClasses(ofDriver)
  const [defaultClass, ...otherDefaults] = own.filter(isDefault)
  const chosen =
    named(claim?.[annotationNames.volumeSnapshotClass]) ??
    named(backup?.[snapshotClassAnnotation(driver.toLowerCase())]) ??
    own.find(({ metadata }) => metadata.labels?.[labelNames.volumeSnapshotClass] !== undefined)
  if (chosen !== undefined) return chosen
  if (defaultClass !== undefined && otherDefaults.length > 0) throw severalDefaults(driver, own)
  const only = own.length === 1 ? own[0] : undefined
  const last = defaultClass ?? only
  if (last === undefined) throw noClass(driver, own, classes)
  return last
}

function isDefault({ metadata }: VolumeSnapshotClass): boolean {
  return metadata.annotations?.[annotationNames.defaultVolumeSnapshotClass] === 'true'
}

function byName(one: VolumeSnapshotClass, other: VolumeSnapshotClass): number {
  return (one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1
}

function sameText(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase()
}

const label = labelNames.volumeSnapshotClass

function severalDefaults(driver: string, ofDriver: readonly VolumeSnapshotClass[]): CsiError {
  return new CsiError('SEVERAL_SNAPSHOT_CLASSES', {
    reason: `the CSI driver ${driver} has several default VolumeSnapshotClasses: ${namesOf(ofDriver.filter(isDefault))}`,
    hint: `Leave the annotation ${annotationNames.defaultVolumeSnapshotClass} to one of them, or give the one for backups the label ${label}`,
  })
}

function noClass(
  driver: string,
  ofDriver: readonly VolumeSnapshotClass[],
  all: readonly VolumeSnapshotClass[],
): CsiError {
  if (ofDriver.length > 0) {
    return new CsiError('NO_SNAPSHOT_CLASS', {
      reason: `the CSI driver ${driver} has several VolumeSnapshotClasses, of which none is marked: ${namesOf(ofDriver)}`,
      hint: `Give the one for backups the label ${label}, or name it in that annotation of the claim`,
    })
  }
  const others = all.map(each => `${each.metadata.name} (${each.driver})`).join(', ')
  return new CsiError('NO_SNAPSHOT_CLASS', {
    reason: `there is no VolumeSnapshotClass for the CSI driver ${driver}; there are: ${others || 'none at all'}`,
    hint: 'Create one, or choose another way for its volumes with a volume policy',
  })
}

function namesOf(classes: readonly VolumeSnapshotClass[]): string {
  return classes.map(({ metadata }) => metadata.name).join(', ')
}
