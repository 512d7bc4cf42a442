import type { BackupHook, BackupHooks, BackupSpec } from '@lateen/api'
import { cells } from '../output/paint.ts'
import { parseDuration } from '../parse/duration.ts'
import { formatLabelSelector } from '../parse/label-selector.ts'

const none = '<none>'

/** The spec of a backup or of a schedule's template, in Velero's layout. */
export function describeSpec(spec: BackupSpec): string {
  return [
    namespaces(spec),
    resources(spec),
    cells`Label selector:\t${formatLabelSelector(spec.labelSelector)}\n`,
    cells`Or label selector:\t${orSelectors(spec)}\n`,
    cells`Storage Location:\t${spec.storageLocation ?? ''}\n`,
    volumes(spec),
    cells`TTL:\t${goDuration(spec.ttl)}\n`,
    cells`CSISnapshotTimeout:\t${goDuration(spec.csiSnapshotTimeout)}\n` +
      cells`ItemOperationTimeout:\t${goDuration(spec.itemOperationTimeout)}\n`,
    hooks(spec),
    ...(spec.orderedResources ? [orderedResources(spec.orderedResources)] : []),
  ].join('\n')
}

/** Whether a spec uses the filters that do not tell scopes apart. */
export function usesOldFilters(spec: BackupSpec): boolean {
  const lists = [spec.includedResources, spec.excludedResources]
  return typeof spec.includeClusterResources === 'boolean' || lists.some(list => (list?.length ?? 0) > 0)
}

/** A duration of an object in Go's notation; what cannot be read, as it is. */
export function goDuration(text: string | null | undefined): string {
  return parseDuration(text || '0s')?.text ?? text ?? ''
}

/** Items with commas, or a word for no items. */
export function listed(items: readonly string[] | null | undefined, empty: string): string {
  return items == null || items.length === 0 ? empty : items.join(', ')
}

/** One of three words. */
export function wordFor(
  value: boolean | null | undefined,
  words: { yes: string; no: string; unset: string },
): string {
  if (typeof value !== 'boolean') return words.unset
  return value ? words.yes : words.no
}

/** What `auto` stands for is decided by the server. */
export const automatic = { yes: 'true', no: 'false', unset: 'auto' }
export const clusterScoped = { yes: 'included', no: 'excluded', unset: 'auto' }

function namespaces(spec: BackupSpec | BackupHooks, indent = ''): string {
  return (
    cells`${indent}Namespaces:\n` +
    cells`${indent}\tIncluded:\t${listed(spec.includedNamespaces, '*')}\n` +
    cells`${indent}\tExcluded:\t${listed(spec.excludedNamespaces, none)}\n`
  )
}

function resources(spec: BackupSpec): string {
  if (usesOldFilters(spec)) {
    const scope = wordFor(spec.includeClusterResources, clusterScoped)
    return resourceLists(spec) + cells`\tCluster-scoped:\t${scope}\n`
  }
  return (
    'Resources:\n' +
    cells`\tIncluded cluster-scoped:\t${listed(spec.includedClusterScopedResources, none)}\n` +
    cells`\tExcluded cluster-scoped:\t${listed(spec.excludedClusterScopedResources, none)}\n` +
    cells`\tIncluded namespace-scoped:\t${listed(spec.includedNamespaceScopedResources, '*')}\n` +
    cells`\tExcluded namespace-scoped:\t${listed(spec.excludedNamespaceScopedResources, none)}\n`
  )
}

function resourceLists(spec: BackupSpec | BackupHooks, indent = ''): string {
  return (
    cells`${indent}Resources:\n` +
    cells`${indent}\tIncluded:\t${listed(spec.includedResources, '*')}\n` +
    cells`${indent}\tExcluded:\t${listed(spec.excludedResources, none)}\n`
  )
}

function orSelectors({ orLabelSelectors }: BackupSpec): string {
  return orLabelSelectors?.length ? orLabelSelectors.map(formatLabelSelector).join(' or ') : none
}

function volumes(spec: BackupSpec): string {
  const fsBackup = spec.defaultVolumesToFsBackup
  return [
    cells`Velero-Native Snapshot PVs:\t${wordFor(spec.snapshotVolumes, automatic)}\n`,
    typeof fsBackup === 'boolean' ? `File System Backup (Default):\t${fsBackup}\n` : '',
    cells`Snapshot Move Data:\t${wordFor(spec.snapshotMoveData, automatic)}\n`,
    cells`Data Mover:\t${spec.datamover || 'velero'}\n`,
  ].join('')
}

function hooks(spec: BackupSpec): string {
  const all = spec.hooks?.resources ?? []
  if (all.length === 0) return `Hooks:\t${none}\n`
  return `Hooks:\n\tResources:\n${all.map(hooksOfPods).join('')}`
}

function hooksOfPods(hook: BackupHooks): string {
  const indent = '\t\t\t'
  return [
    cells`\t\t${hook.name ?? ''}:\n${namespaces(hook, indent)}`,
    resourceLists(hook, indent),
    cells`${indent}Label selector:\t${formatLabelSelector(hook.labelSelector)}\n`,
    ...(hook.pre ?? []).map(each => execHook('Pre', each)),
    ...(hook.post ?? []).map(each => execHook('Post', each)),
  ].join('\n')
}

function execHook(when: 'Pre' | 'Post', { exec }: BackupHook): string {
  const indent = '\t\t\t'
  return (
    `${indent}${when} Exec Hook:\n` +
    cells`${indent}\tContainer:\t${exec.container ?? ''}\n` +
    cells`${indent}\tCommand:\t${exec.command.join(' ')}\n` +
    cells`${indent}\tOn Error:\t${exec.onError ?? ''}\n` +
    cells`${indent}\tTimeout:\t${goDuration(exec.timeout)}\n`
  )
}

function orderedResources(ordered: Readonly<Record<string, string>>): string {
  const lines = Object.entries(ordered)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([resource, names]) => cells`\t${resource}: ${names}\n`)
  return `OrderedResources:\n${lines.join('')}`
}
