import { annotationNames, type Backup, type DeleteBackupRequest } from '@lateen/api'
import { alignTabs } from '../output/align-tabs.ts'
import { goTime } from '../output/go-time.ts'
import { cells, type Paint, type Painted } from '../output/paint.ts'
import type { BackupDescription, ResultList } from './backup-description.ts'
import { describeOperations } from './describe-operations.ts'
import { describeSpec } from './describe-spec.ts'
import { describeVolumes } from './describe-volumes.ts'

/** A backup in Velero's layout for people. */
export function describeBackup(description: BackupDescription, paint: Paint): string {
  const { backup, deleteRequests } = description
  const text = [
    metadata(backup, paint),
    phase(backup, paint) + policies(backup),
    ...validationErrors(backup, paint),
    results(description),
    describeSpec(backup.spec),
    status(description),
    ...(deleteRequests.length === 0 ? [] : [deletionAttempts(deleteRequests)]),
  ].join('\n')
  return alignTabs(text)
}

function metadata({ metadata: meta }: Backup, paint: Paint): string {
  return (
    cells`Name:\t${paint.bold(meta.name ?? '')}\nNamespace:\t${meta.namespace ?? ''}\n` +
    mapLines('Labels', meta.labels) +
    mapLines('Annotations', meta.annotations)
  )
}

function mapLines(title: string, map: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => cells`${key}=${value}\n`)
  return `${title}:\t${pairs.join('\t') || '<none>\n'}`
}

function phase({ metadata: meta, status: seen = {} }: Backup, paint: Paint): string {
  const name = seen.phase || 'New'
  const look = ` (run \`lateen backup logs ${meta.name ?? ''}\` for more information)`
  const note = name === 'Failed' || name === 'PartiallyFailed' ? look : ''
  const queue = name === 'Queued' ? `Queue position:\t${seen.queuePosition ?? 0}\n` : ''
  return cells`Phase:\t${paintedPhase(name, paint)}${note}\n${queue}`
}

function paintedPhase(name: string, paint: Paint): string | Painted {
  if (name === 'Completed') return paint.green(name)
  return ['FailedValidation', 'PartiallyFailed', 'Failed'].includes(name) ? paint.red(name) : name
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

function validationErrors({ status: seen }: Backup, paint: Paint): string[] {
  const errors = seen?.validationErrors ?? []
  if (errors.length === 0) return []
  return [`Validation errors:${errors.map(error => cells`\t${paint.red(error)}\n`).join('')}`]
}

function results({ backup, results: file }: BackupDescription): string {
  const { warnings = 0, errors = 0 } = backup.status ?? {}
  if (file === undefined) return ''
  if (file.got === 'nothing') return `Errors:\t${errors}\nWarnings:\t${warnings}\n`
  if (file.got === 'error') {
    const verb = file.while === 'reading' ? 'decoding' : 'getting'
    return (
      cells`Warnings:\t<error ${verb} warnings: ${file.reason}>\n\n` +
      cells`Errors:\t<error ${verb} errors: ${file.reason}>\n`
    )
  }
  return [
    warnings > 0 ? `\n${resultLines('Warnings', file.content.warnings)}` : '',
    errors > 0 ? `\n${resultLines('Errors', file.content.errors)}` : '',
  ].join('')
}

function resultLines(title: string, list: ResultList = {}): string {
  const namespaces = Object.entries(list.namespaces ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    `${title}:\n`,
    itemLines('\t', 'Velero', list.velero),
    itemLines('\t', 'Cluster', list.cluster),
    namespaces.length === 0 ? '\tNamespaces: <none>\n' : '\tNamespaces:\n',
    ...namespaces.map(([namespace, items]) => itemLines('\t\t', namespace, items)),
  ].join('')
}

function itemLines(indent: string, title: string, items: readonly string[] | null | undefined): string {
  const lines = (items ?? []).map(item => cells`${item}\n`)
  // Velero indents `<none>` once more than the items.
  return cells`${indent}${title}:\t` + (lines.join(`${indent}\t`) || `${indent}<none>\n`)
}

function status(description: BackupDescription): string {
  const { status: seen = {} } = description.backup
  const times =
    `Started:\t${seen.startTimestamp ? goTime(seen.startTimestamp) : '<n/a>'}\n` +
    `Completed:\t${seen.completionTimestamp ? goTime(seen.completionTimestamp) : '<n/a>'}\n`
  return [
    cells`Backup Format Version:\t${seen.formatVersion ?? ''}\n`,
    times,
    `Expiration:\t${seen.expiration ? goTime(seen.expiration) : '<nil>'}\n`,
    ...progress(description.backup),
    describeOperations(description) + resourceList(description) + describeVolumes(description),
    ...hookCounts(description.backup),
  ].join('\n')
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

function resourceList({ resourceList: file }: BackupDescription): string {
  if (file === undefined) return ''
  switch (file.got) {
    case 'nothing':
      return 'Resource List:\t<backup resource list not found>\n\n'
    case 'error':
      return cells`Resource List:\t<error ${file.while} backup resource list: ${file.reason}>\n\n`
    case 'content': {
      const kinds = Object.entries(file.content).sort(([a], [b]) => (a < b ? -1 : 1))
      const lines = kinds.map(([kind, names]) => cells`\t${kind}:\n\t\t- ${(names ?? []).join('\n\t\t- ')}\n`)
      return `Resource List:\n${lines.join('')}\n`
    }
  }
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
