import {
  type Backup,
  BackupKind,
  type BackupPhase,
  type BackupStorageLocation,
  InvalidTextError,
  isTerminal,
  labelNames,
  parseTime,
  type Restore,
  validLabelValue,
} from '@lateen/api'

/** What a restore reads from. */
export interface ChosenBackup {
  /** Absent when there is none that can be restored. */
  backup?: Backup | undefined
  /** Absent when the backup's does not exist. */
  location?: BackupStorageLocation | undefined
  errors: readonly string[]
}

/** What `chooseBackup` chooses from, all of the restore's namespace. */
export interface BackupChoices {
  /** At least the one that the restore names, or those of the schedule that it names. */
  backups: readonly Backup[]
  locations: readonly BackupStorageLocation[]
}

const restorable: ReadonlySet<BackupPhase> = new Set(['Completed', 'PartiallyFailed'])

/**
 * The backup that a restore names, or the newest completed one of the schedule that it names, and where it is. The backup must have
 * come to its end and its location must be known to work.
 */
export function chooseBackup(restore: Restore, choices: BackupChoices): ChosenBackup {
  const { backupName, scheduleName } = restore.spec
  if ((backupName ? 1 : 0) + (scheduleName ? 1 : 0) !== 1) {
    return {
      errors: ['Either a backup or schedule must be specified as a source for the restore, but not both'],
    }
  }
  if (scheduleName) return withLocation(newestOf(scheduleName, choices.backups), choices)
  const backup = choices.backups.find(({ metadata }) => metadata.name === backupName)
  if (backup !== undefined) return withLocation({ backup, errors: phaseErrors(backup) }, choices)
  const where = `${restore.metadata.namespace ?? ''}/${backupName}`
  return {
    errors: [
      `Error retrieving backup: can't find backup ${where}: Backup.velero.io ${JSON.stringify(backupName)} not found; ` +
        'restore one that "lateen backup get" shows',
    ],
  }
}

function newestOf(schedule: string, backups: readonly Backup[]): ChosenBackup {
  const label = validLabelValue(schedule)
  const made = backups.filter(({ metadata }) => metadata.labels?.[labelNames.scheduleName] === label)
  const backup = newestBackup(made, ['Completed'])
  if (backup !== undefined) return { backup, errors: [] }
  return {
    errors: [
      ...(made.length === 0 ? ['No backups found for schedule'] : []),
      'No completed backups found for schedule',
    ],
  }
}

/** The backup that started last among those in one of these phases. */
export function newestBackup(backups: readonly Backup[], phases: readonly BackupPhase[]): Backup | undefined {
  return backups
    .filter(({ status }) => phases.includes(status?.phase ?? 'New'))
    .reduce<Backup | undefined>(
      (best, each) => (best === undefined || startOf(each) > startOf(best) ? each : best),
      undefined,
    )
}

/** Before all others if the backup does not tell. */
function startOf({ status }: Backup): number {
  try {
    return parseTime(status?.startTimestamp ?? '')
  } catch (error) {
    if (error instanceof InvalidTextError) return 0
    throw error
  }
}

function phaseErrors({ metadata, status }: Backup): string[] {
  const phase = status?.phase ?? 'New'
  if (restorable.has(phase)) return []
  const remedy =
    isTerminal(BackupKind, phase) || phase === 'Deleting'
      ? 'choose another backup'
      : 'wait until it has ended'
  return [
    `The backup ${metadata.name} is in the phase ${phase}: only backups that are Completed or PartiallyFailed can be restored; ${remedy}`,
  ]
}

function withLocation({ backup, errors }: ChosenBackup, { locations }: BackupChoices): ChosenBackup {
  if (backup === undefined) return { errors }
  const name = backup.spec.storageLocation ?? ''
  const location = locations.find(({ metadata }) => metadata.name === name)
  if (location === undefined) {
    const missing =
      `Error retrieving backup: BackupStorageLocation.velero.io ${JSON.stringify(name)} not found; ` +
      `create the location again that ${backup.metadata.name} is stored in`
    return { backup, errors: [...errors, missing] }
  }
  if (location.status?.phase === 'Available') return { backup, location, errors }
  const reason = location.status?.message ? `: ${location.status.message}` : ''
  const unavailable = `The BSL ${name} is unavailable, cannot retrieve the backup${reason}; restore again when it is Available`
  return { backup, location, errors: [...errors, unavailable] }
}
