import type { BackupSpec, BackupStorageLocation } from '@lateen/api'

/** Where a backup goes. */
export interface ChosenLocation {
  name: string
  /** Absent when there is none of that name. */
  found?: BackupStorageLocation | undefined
  errors: readonly string[]
}

/**
 * The location that a backup names, else the one marked as default, else the server's. It must exist, be writable and be
 * known to work.
 */
export function chooseStorageLocation(
  { storageLocation }: BackupSpec,
  locations: readonly BackupStorageLocation[],
  serverDefault: string,
): ChosenLocation {
  const sorted = locations.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const marked = sorted.find(({ spec }) => spec.default === true)
  const name = storageLocation || (marked ? nameOf(marked) : serverDefault)
  const found = locations.find(location => nameOf(location) === name)
  const errors = found ? locationErrors(found) : [missingLocation(name, !storageLocation)]
  return { name, found, errors }
}

function nameOf({ metadata }: BackupStorageLocation): string {
  return metadata.name ?? ''
}

function locationErrors(location: BackupStorageLocation): string[] {
  const name = nameOf(location)
  const errors: string[] = []
  if (location.spec.accessMode === 'ReadOnly') {
    errors.push(
      `backup can't be created because backup storage location ${name} is currently in read-only mode`,
    )
  }
  if (location.status?.phase !== 'Available') {
    errors.push(`backup can't be created because BackupStorageLocation ${name} is in Unavailable status.`)
  }
  return errors
}

function missingLocation(name: string, byServer: boolean): string {
  const which = byServer ? `the server default ${name} does not exist` : `the default ${name} was not found`
  return (
    `an existing backup storage location was not specified at backup creation time and ${which}. ` +
    'Please address this issue (see `velero backup-location -h` for options) and create a new backup. ' +
    `Error: BackupStorageLocation.velero.io "${name}" not found`
  )
}
