import type { Restore, RestoreSpec } from '@lateen/api'
import { alignTabs } from '../output/align-tabs.ts'
import { goTime } from '../output/go-time.ts'
import { cells, type Paint } from '../output/paint.ts'
import { formatLabelSelector } from '../parse/label-selector.ts'
import { describeMetadata, mapLines, paintedByPhase, validationErrorBlocks } from './describe-metadata.ts'
import { describeOperations } from './describe-operations.ts'
import { describeResourceList } from './describe-resource-list.ts'
import { describeRestoredVolumes, podVolumeRestoreBlocks } from './describe-restored-volumes.ts'
import { missingResults, resultLines } from './describe-results.ts'
import { automatic, clusterScoped, goDuration, listed, wordFor } from './describe-spec.ts'
import type { RestoreDescription } from './restore-description.ts'

const none = '<none>'

/** A restore in Velero's layout for people. */
export function describeRestore(description: RestoreDescription, paint: Paint): string {
  const { restore, podVolumeRestores, volumes, details, resourceList } = description
  const { spec } = restore
  const text = [
    describeMetadata(restore, paint),
    phase(restore, paint) + progress(restore),
    [times(restore), ...validationErrorBlocks(restore.status?.validationErrors, paint)].join('\n') +
      results(description),
    cells`Backup:\t${spec.backupName ?? ''}\n`,
    filters(spec),
    [
      `Restore PVs:\t${wordFor(spec.restorePVs, automatic)}\n`,
      ...podVolumeRestoreBlocks(podVolumeRestores, details),
    ].join('\n') + describeRestoredVolumes(volumes, details),
    cells`Existing Resource Policy: \t${spec.existingResourcePolicy || none}\n` +
      cells`ItemOperationTimeout:\t${goDuration(spec.itemOperationTimeout)}\n`,
    `Preserve Service NodePorts:\t${wordFor(spec.preserveNodePorts, automatic)}\n`,
    ...references(spec),
    ...uploaderConfig(spec),
    operations(description),
    ...hookCounts(restore),
    ...(resourceList === undefined ? [] : [describeResourceList('restore', resourceList)]),
  ].join('\n')
  return alignTabs(text)
}

function phase({ metadata, status }: Restore, paint: Paint): string {
  const name = status?.phase || 'New'
  const text = metadata.deletionTimestamp ? `${name} (Deleting)` : name
  const look = ` (run 'lateen restore logs ${metadata.name ?? ''}' for more information)`
  const note = name === 'Failed' || name === 'PartiallyFailed' ? look : ''
  return cells`Phase:\t${paintedByPhase(name, text, paint)}${note}\n`
}

function progress({ status }: Restore): string {
  if (!status?.progress) return ''
  const { totalItems = 0, itemsRestored = 0 } = status.progress
  const [total, done] =
    status.phase === 'InProgress'
      ? ['Estimated total items to be restored', 'Items restored so far']
      : ['Total items to be restored', 'Items restored']
  return `${total}:\t${totalItems}\n${done}:\t${itemsRestored}\n`
}

function times({ status = {} }: Restore): string {
  const { startTimestamp, completionTimestamp } = status
  return (
    `Started:\t${startTimestamp ? goTime(startTimestamp) : '<n/a>'}\n` +
    `Completed:\t${completionTimestamp ? goTime(completionTimestamp) : '<n/a>'}\n`
  )
}

function results({ restore, results: file }: RestoreDescription): string {
  const { warnings = 0, errors = 0 } = restore.status ?? {}
  if (file === undefined) return ''
  if (file.got === 'nothing') return missingResults('getting', 'file not found')
  if (file.got === 'error') return missingResults(file.while, file.reason)
  return [
    warnings > 0 ? `\n${resultLines('Warnings', file.content.warnings)}` : '',
    errors > 0 ? `\n${resultLines('Errors', file.content.errors)}` : '',
  ].join('')
}

function filters(spec: RestoreSpec): string {
  const { includedNamespaces: namespaces, orLabelSelectors } = spec
  const every = namespaces?.length === 1 && namespaces[0] === '*'
  const included = listed(every ? [] : namespaces, 'all namespaces found in the backup')
  return [
    cells`Namespaces:\n\tIncluded:\t${included}\n\tExcluded:\t${listed(spec.excludedNamespaces, none)}\n`,
    cells`Resources:\n\tIncluded:\t${listed(spec.includedResources, '*')}\n` +
      cells`\tExcluded:\t${listed(spec.excludedResources, none)}\n` +
      `\tCluster-scoped:\t${wordFor(spec.includeClusterResources, clusterScoped)}\n`,
    mapLines('Namespace mappings', spec.namespaceMapping),
    cells`Label selector:\t${formatLabelSelector(spec.labelSelector)}\n`,
    cells`Or label selector:\t${listedSelectors(orLabelSelectors)}\n`,
  ].join('\n')
}

function listedSelectors(selectors: RestoreSpec['orLabelSelectors']): string {
  return selectors?.length ? selectors.map(formatLabelSelector).join(' or ') : none
}

function references({ resourceModifier, resourcePolicy }: RestoreSpec): string[] {
  const named = { 'Resource modifier': resourceModifier, 'Resource policies': resourcePolicy }
  return Object.entries(named).flatMap(([title, reference]) =>
    reference ? [cells`${title}:\n\tType:\t${reference.kind}\n\tName:\t${reference.name}\n`] : [],
  )
}

function uploaderConfig({ uploaderConfig: config }: RestoreSpec): string[] {
  if (!config) return []
  const parallel = config.parallelFilesDownload ?? 0
  return [
    'Uploader config:\n' +
      (config.writeSparseFiles ? '\tWrite Sparse Files:\ttrue\n' : '') +
      (parallel > 0 ? `\tParallel Restore:\t${parallel}\n` : ''),
  ]
}

function operations({ restore, operations: file, details }: RestoreDescription): string {
  const { status = {} } = restore
  return describeOperations({
    of: 'Restore',
    attempted: status.restoreItemOperationsAttempted ?? 0,
    completed: status.restoreItemOperationsCompleted ?? 0,
    failed: status.restoreItemOperationsFailed ?? 0,
    file: details ? file : undefined,
  })
}

function hookCounts({ status }: Restore): string[] {
  if (!status?.hookStatus) return []
  const { hooksAttempted = 0, hooksFailed = 0 } = status.hookStatus
  return [`HooksAttempted: \t${hooksAttempted}\nHooksFailed: \t${hooksFailed}\n`]
}
