import { annotationNames, type Backup, type DeleteBackupRequest } from '@lateen/api'
import { alignTabs } from '../output/align-tabs.ts'
import { goTime } from '../output/go-time.ts'
import { cells, type Paint } from '../output/paint.ts'
import type { BackupDescription } from './backup-description.ts'
import { describeMetadata, paintedByPhase, validationErrorBlocks } from './describe-metadata.ts'
import { describeOperations } from './describe-operations.ts'
import { describeResourceList } from './describe-resource-list.ts'
import { missingResults, resultLines } from './describe-results.ts'
import { describeSpec } from './describe-spec.ts'
import { describeVolumes } from './describe-volumes.ts'

/** A backup in Velero's layout for people. */
export function describeBackup(description: BackupDescription, paint: Paint): string {
  const { backup, deleteRequests } = description
  const text = [
    describeMetadata(backup, paint),
    phase(backup, paint) + policies(backup),
    ...validationErrorBlocks(backup.status?.validationErrors, paint),
    results(description),
    describeSpec(backup.spec),
    status(description),
    ...(deleteRequests.length === 0 ? [] : [deletionAttempts(deleteRequests)]),
  ].join('\n')
  return alignTabs(text)
}

function phase({ metadata: meta, status: seen = {} }: Backup, paint: Paint): string {
  const name = seen.phase || 'New'
  const look = ` (run \`lateen backup logs ${meta.name ?? ''}\` for more information)`
  const note = name === 'Failed' || name === 'PartiallyFailed' ? look : ''
  const queue = name === 'Queued' ? `Queue position:\t${seen.queuePosition ?? 0}\n` : ''
  return cells`Phase:\t${paintedByPhase(name, name, paint)}${note}\n${queue}`
}

function policies({ metadata: meta, spec }: Backup): string {
  const { resourcePolicy, uploaderConfig } = spec
  const global = meta.annotations?.[annotationNames.globalBackupVolumePolicyConfigMap]
  const parallel = uploaderConfig?.parallelFilesUpload ?? 0
  return [
    resourcePolicy
      ? cells`\nResource policies:\n\tType:\t${resourcePolicy.kind}\n\tName:\t${resourcePolicy.name}\n`
      : '',
    global ? cells`\nGlobal volume policies:\n\tType:\tconfigmap\n\tName:\t${global}\n` : '',
    parallel > 0 ? `\nUploader config:\n\tParallel files upload:\t${parallel}\n` : '',
  ].join('')
}

function results({ backup, results: file }: BackupDescription): string {
  const { warnings = 0, errors = 0 } = backup.status ?? {}
  if (file === undefined) return ''
  if (file.got === 'nothing') return `Errors:\t${errors}\nWarnings:\t${warnings}\n`
  if (file.got === 'error') return missingResults(file.while, file.reason)
  return [
    warnings > 0 ? `\n${resultLines('Warnings', file.content.warnings)}` : '',
    errors > 0 ? `\n${resultLines('Errors', file.content.errors)}` : '',
  ].join('')
}

function status(description: BackupDescription): string {
  const { status: seen = {} } = description.backup
  const times =
    `Started:\t${seen.startTimestamp ? goTime(seen.startTimestamp) : '<n/a>'}\n` +
    `Completed:\t${seen.completionTimestamp ? goTime(seen.completionTimestamp) : '<n/a>'}\n`
  return [
    cells`Backup Format Version:\t${seen.formatVersion ?? ''}\n`,
    times,
    `Expiration:\t${seen.expiration ? goTime(seen.expiration) : '<nil>'}\n${kept(description)}`,
    ...progress(description.backup),
    operations(description) + resources(description) + describeVolumes(description),
    ...hookCounts(description.backup),
  ].join('\n')
}

/** What keeps a backup although it has expired, or will have. */
function kept({ keptFor }: BackupDescription): string {
  if (keptFor === undefined) return ''
  return cells`Kept:\tas the last Completed backup of schedule ${keptFor}, even after its expiration\n`
}

function progress({ status: seen }: Backup): string[] {
  if (!seen?.progress) return []
  const { totalItems = 0, itemsBackedUp = 0 } = seen.progress
  const [total, done] =
    seen.phase === 'InProgress'
      ? ['Estimated total items to be backed up', 'Items backed up so far']
      : ['Total items to be backed up', 'Items backed up']
  return [`${total}:\t${totalItems}\n${done}:\t${itemsBackedUp}\n`]
}

function operations({ backup, operations: file, details }: BackupDescription): string {
  const { status: seen = {} } = backup
  return describeOperations({
    of: 'Backup',
    attempted: seen.backupItemOperationsAttempted ?? 0,
    completed: seen.backupItemOperationsCompleted ?? 0,
    failed: seen.backupItemOperationsFailed ?? 0,
    file: details ? file : undefined,
  })
}

function resources({ resourceList }: BackupDescription): string {
  return resourceList === undefined ? '' : `${describeResourceList('backup', resourceList)}\n`
}

function hookCounts({ status: seen }: Backup): string[] {
  if (!seen?.hookStatus) return []
  const { hooksAttempted = 0, hooksFailed = 0 } = seen.hookStatus
  return [`HooksAttempted:\t${hooksAttempted}\nHooksFailed:\t${hooksFailed}\n`]
}

function deletionAttempts(requests: readonly DeleteBackupRequest[]): string {
  const failed = failedDeletions(requests)
  const attempts = requests.map(({ metadata: meta, status: seen = {} }) => {
    const errors = (seen.errors ?? []).map(error => cells`\t\t${error}\n`)
    const time = meta.creationTimestamp ? goTime(meta.creationTimestamp) : ''
    return (
      cells`\t${time}: ${seen.phase ?? ''}\n` + (errors.length === 0 ? '' : `\tErrors:\n${errors.join('')}`)
    )
  })
  return `Deletion Attempts${failed > 0 ? ` (${failed} failed)` : ''}:\n${attempts.join('\n')}`
}

/** How many deletions ended with errors. */
export function failedDeletions(requests: readonly DeleteBackupRequest[]): number {
  return requests.filter(({ status: seen }) => seen?.phase === 'Processed' && (seen.errors?.length ?? 0) > 0)
    .length
}
