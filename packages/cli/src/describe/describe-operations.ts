import { goTime } from '../output/go-time.ts'
import { cells } from '../output/paint.ts'
import type { BackupDescription, ItemOperation, ResourceIdentifier } from './backup-description.ts'

/** Asynchronous operations of plugins: counts, or with details one by one. Empty when there were none. */
export function describeOperations({ backup, operations, details }: BackupDescription): string {
  const status = backup.status ?? {}
  const attempted = status.backupItemOperationsAttempted ?? 0
  if (attempted === 0) return ''
  if (!details) {
    const completed = status.backupItemOperationsCompleted ?? 0
    const failed = status.backupItemOperationsFailed ?? 0
    return `Backup Item Operations:\t${completed} of ${attempted} completed successfully, ${failed} failed (specify --details for more information)\n`
  }
  if (operations === undefined || operations.got === 'nothing') {
    return 'Backup Item Operations:\t<error getting operation info: file not found>\n'
  }
  if (operations.got === 'error') {
    return cells`Backup Item Operations:\t<error ${operations.while} operation info: ${operations.reason}>\n`
  }
  return `Backup Item Operations:\n${(operations.content ?? []).map(operationLines).join('')}`
}

function operationLines({ spec = {}, status = {} }: ItemOperation): string {
  const items = spec.postOperationItems ?? []
  const { nCompleted = 0, nTotal = 0 } = status
  return [
    cells`\tOperation for ${identified(spec.resourceIdentifier)}:\n`,
    cells`\t\tBackup Item Action Plugin:\t${spec.backupItemAction ?? ''}\n`,
    cells`\t\tOperation ID:\t${spec.operationID ?? ''}\n`,
    items.length === 0 ? '' : '\t\tItems to Update:\n',
    ...items.map(item => cells`\t\t\t${identified(item)}\n`),
    cells`\t\tPhase:\t${status.phase ?? ''}\n`,
    status.error ? cells`\t\tOperation Error:\t${status.error}\n` : '',
    nTotal > 0 || nCompleted > 0
      ? cells`\t\tProgress:\t${nCompleted} of ${nTotal} complete (${status.operationUnits ?? ''})\n`
      : '',
    status.description ? cells`\t\tProgress description:\t${status.description}\n` : '',
    timeLine('Created', status.created),
    timeLine('Started', status.started),
    timeLine('Updated', status.updated),
  ].join('')
}

function timeLine(title: string, time: string | null | undefined): string {
  return time ? cells`\t\t${title}:\t${goTime(time)}\n` : ''
}

function identified(item: ResourceIdentifier = {}): string {
  const { Group = '', Resource = '', Namespace = '', Name = '' } = item
  return `${Group === '' ? Resource : `${Resource}.${Group}`} ${Namespace}/${Name}`
}
