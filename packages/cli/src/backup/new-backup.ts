import { apiVersionOf, type Backup, BackupKind, type BackupSpec } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { Duration } from '../parse/duration.ts'
import { parseLabelSelector, parseOrSelectors } from '../parse/label-selector.ts'
import { parseOrderedResources } from '../parse/ordered-resources.ts'
import type { backupCreateFlags, backupSpecFlags } from '../tree/backup.ts'
import type { FlagValues } from '../tree/flag.ts'
import { namespaceProblems } from './check-namespaces.ts'

export type BackupSpecFlags = FlagValues<typeof backupSpecFlags>
export type BackupCreateFlags = FlagValues<typeof backupCreateFlags>

/** A backup to be made from flags. */
export interface NewBackup {
  readonly name: string
  readonly namespace: string
  readonly flags: BackupCreateFlags
}

/** Builds the object that Velero's command line would send. Throws a CliError for texts that cannot be read. */
export function newBackup({ name, namespace, flags }: NewBackup): Backup {
  return {
    apiVersion: apiVersionOf(BackupKind),
    kind: BackupKind.kind,
    metadata: {
      name,
      namespace,
      ...mapField('labels', flags.labels),
      ...mapField('annotations', flags.annotations),
    },
    spec: backupSpecOf(flags),
  }
}

/** The spec that flags ask for. What is left to the server is `0s` or empty, as Velero writes it. */
export function backupSpecOf(flags: BackupSpecFlags): BackupSpec {
  return {
    metadata: {},
    hooks: {},
    ...filtersOf(flags),
    ...volumesOf(flags),
    ttl: durationText(flags.ttl),
    csiSnapshotTimeout: durationText(flags['csi-snapshot-timeout']),
    itemOperationTimeout: durationText(flags['item-operation-timeout']),
    ...textField('storageLocation', flags['storage-location']),
    ...(flags['ordered-resources']
      ? { orderedResources: parseOrderedResources(flags['ordered-resources']) }
      : {}),
    ...(flags['resource-policies-configmap']
      ? { resourcePolicy: { kind: 'configmap', name: flags['resource-policies-configmap'] } }
      : {}),
  }
}

function filtersOf(flags: BackupSpecFlags): BackupSpec {
  return {
    ...listField('includedNamespaces', flags['include-namespaces']),
    ...listField('excludedNamespaces', flags['exclude-namespaces']),
    ...listField('includedResources', flags['include-resources']),
    ...listField('excludedResources', flags['exclude-resources']),
    ...listField('includedClusterScopedResources', flags['include-cluster-scoped-resources']),
    ...listField('excludedClusterScopedResources', flags['exclude-cluster-scoped-resources']),
    ...listField('includedNamespaceScopedResources', flags['include-namespace-scoped-resources']),
    ...listField('excludedNamespaceScopedResources', flags['exclude-namespace-scoped-resources']),
    ...booleanField('includeClusterResources', flags['include-cluster-resources']),
    ...(flags.selector === undefined
      ? {}
      : { labelSelector: parseLabelSelector('selector', flags.selector) }),
    ...(flags['or-selector'] === undefined
      ? {}
      : { orLabelSelectors: parseOrSelectors('or-selector', flags['or-selector']) }),
  }
}

function volumesOf(flags: BackupSpecFlags): BackupSpec {
  const parallelFilesUpload = flags['parallel-files-upload']
  return {
    ...booleanField('snapshotVolumes', flags['snapshot-volumes']),
    ...booleanField('snapshotMoveData', flags['snapshot-move-data']),
    ...booleanField('defaultVolumesToFsBackup', flags['default-volumes-to-fs-backup']),
    ...textField('datamover', flags['data-mover']),
    ...textField('volumeGroupSnapshotLabelKey', flags['volume-group-snapshot-label-key']),
    ...listField('volumeSnapshotLocations', flags['volume-snapshot-locations']),
    ...(parallelFilesUpload > 0 ? { uploaderConfig: { parallelFilesUpload } } : {}),
  }
}

/** Throws a CliError in Velero's words for flags that contradict each other. */
export function checkBackupFlags(flags: BackupSpecFlags): void {
  if (flags.selector !== undefined && flags['or-selector'] !== undefined) {
    throw new CliError('USAGE', "either a 'selector' or an 'or-selector' can be specified, but not both")
  }
  const problems = namespaceProblems(flags['include-namespaces'], flags['exclude-namespaces'])
  if (problems.length === 1) throw new CliError('USAGE', problems.join())
  if (problems.length > 1) throw new CliError('USAGE', `[${problems.join(', ')}]`)
  if (hasOldFilters(flags) && hasNewFilters(flags)) {
    throw new CliError(
      'USAGE',
      'include-resources, exclude-resources and include-cluster-resources are old filter parameters. ' +
        'include-cluster-scoped-resources, exclude-cluster-scoped-resources, include-namespace-scoped-resources and ' +
        'exclude-namespace-scoped-resources are new filter parameters. They cannot be used together',
    )
  }
}

function hasOldFilters(flags: BackupSpecFlags): boolean {
  const lists = [flags['include-resources'], flags['exclude-resources']]
  return flags['include-cluster-resources'] !== undefined || lists.some(list => list.length > 0)
}

function hasNewFilters(flags: BackupSpecFlags): boolean {
  return [
    flags['include-cluster-scoped-resources'],
    flags['exclude-cluster-scoped-resources'],
    flags['include-namespace-scoped-resources'],
    flags['exclude-namespace-scoped-resources'],
  ].some(list => list.length > 0)
}

function durationText(value: Duration | undefined): string {
  return value?.text ?? '0s'
}

function listField<K extends keyof BackupSpec>(key: K, list: string[]): BackupSpec {
  return list.length === 0 ? {} : { [key]: list }
}

function booleanField<K extends keyof BackupSpec>(key: K, value: boolean | undefined): BackupSpec {
  return value === undefined ? {} : { [key]: value }
}

function textField<K extends keyof BackupSpec>(key: K, value: string | undefined): BackupSpec {
  return value ? { [key]: value } : {}
}

function mapField(key: 'labels' | 'annotations', map: Record<string, string>): Backup['metadata'] {
  return Object.keys(map).length === 0 ? {} : { [key]: map }
}
