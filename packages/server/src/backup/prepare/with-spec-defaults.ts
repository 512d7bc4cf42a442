import { type BackupSpec, goDurationOf, parseGoDuration } from '@lateen/api'

/** What specs that do not say get. Durations are in milliseconds. */
export interface SpecDefaults {
  ttl: number
  volumeGroupSnapshotLabelKey: string
  csiSnapshotTimeout: number
  itemOperationTimeout: number
  volumesToFsBackup: boolean
  snapshotMoveData: boolean
}

/** The spec with what it does not say; a duration of zero says nothing. The old name of an option becomes the new one. */
export function withSpecDefaults(spec: BackupSpec, defaults: SpecDefaults): BackupSpec {
  const fsBackup = spec.defaultVolumesToRestic === true ? true : spec.defaultVolumesToFsBackup
  return {
    ...spec,
    ttl: durationOr(spec.ttl, defaults.ttl),
    volumeGroupSnapshotLabelKey: spec.volumeGroupSnapshotLabelKey || defaults.volumeGroupSnapshotLabelKey,
    csiSnapshotTimeout: durationOr(spec.csiSnapshotTimeout, defaults.csiSnapshotTimeout),
    itemOperationTimeout: durationOr(spec.itemOperationTimeout, defaults.itemOperationTimeout),
    defaultVolumesToFsBackup: fsBackup ?? defaults.volumesToFsBackup,
    snapshotMoveData: spec.snapshotMoveData ?? defaults.snapshotMoveData,
  }
}

function durationOr(text: string | null | undefined, milliseconds: number): string {
  return !text || isZero(text) ? goDurationOf(milliseconds) : text
}

function isZero(text: string): boolean {
  try {
    return parseGoDuration(text) === 0n
  } catch {
    return false
  }
}
