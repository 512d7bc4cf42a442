import { goTime } from '../output/go-time.ts'
import { cells } from '../output/paint.ts'
import type { Fetched, ItemOperation, ResourceIdentifier } from './backup-description.ts'

/** What is known of the operations of a backup or restore. */
export interface OperationsReport {
  readonly of: 'Backup' | 'Restore'
  readonly attempted: number
  readonly completed: number
  readonly failed: number
  /** The operations one by one; undefined when only counts are wanted. */
  readonly file: Fetched<readonly ItemOperation[]> | undefined
}

/** Asynchronous operations of plugins: counts, or one by one. Empty when there were none. */
export function describeOperations({ of, attempted, completed, failed, file }: OperationsReport): string {
  const title = `${of} Item Operations`
  if (attempted === 0) return ''
  if (file === undefined) {
    return `${title}:\t${completed} of ${attempted} completed successfully, ${failed} failed (specify --details for more information)\n`
  }
  if (file.got === 'nothing') return `${title}:\t<error getting operation info: file not found>\n`
  if (file.got === 'error') return cells`${title}:\t<error ${file.while} operation info: ${file.reason}>\n`
  return `${title}:\n${(file.content ?? []).map(operation => operationLines(operation, of)).join('')}`
}

function operationLines({ spec = {}, status = {} }: ItemOperation, of: 'Backup' | 'Restore'): string {
  const action = of === 'Backup' ? spec.backupItemAction : spec.restoreItemAction
  const items = spec.postOperationItems ?? []
  const { nCompleted = 0, nTotal = 0 } = status
  return [
    cells`\tOperation for ${identified(spec.resourceIdentifier)}:\n`,
    cells`\t\t${of} Item Action Plugin:\t${action ?? ''}\n`,
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

/** Go's zero time, and 1970, stand for a time that nobody knows. */
function timeLine(title: string, time: string | null | undefined): string {
  return time && !(Date.parse(time) <= 0) ? cells`\t\t${title}:\t${goTime(time)}\n` : ''
}

function identified(item: ResourceIdentifier = {}): string {
  const { Group = '', Resource = '', Namespace = '', Name = '' } = item
  return `${Group === '' ? Resource : `${Resource}.${Group}`} ${Namespace}/${Name}`
}
