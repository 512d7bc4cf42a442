import { apiVersionOf, type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { parseLabelSelector, parseOrSelectors } from '../parse/label-selector.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { restoreCreateFlags, restoreSpecFlags } from '../tree/restore.ts'
import type { RestoreSource } from './restore-source.ts'

export type RestoreSpecFlags = FlagValues<typeof restoreSpecFlags>
export type RestoreCreateFlags = FlagValues<typeof restoreCreateFlags>
/** What makes a restore, whatever is then done with it. */
export type NewRestoreFlags = Omit<
  RestoreCreateFlags,
  'local' | 'wait' | 'output' | 'label-columns' | 'show-labels'
> & { readonly local?: string | undefined }

/** A restore to be made from flags. */
export interface NewRestore {
  readonly name: string
  readonly namespace: string
  readonly source: RestoreSource
  readonly flags: NewRestoreFlags
}

/** Builds the object that Velero's command line would send. Throws a CliError for texts that cannot be read. */
export function newRestore({ name, namespace, source, flags }: NewRestore): Restore {
  return {
    apiVersion: apiVersionOf(RestoreKind),
    kind: RestoreKind.kind,
    metadata: {
      name,
      namespace,
      ...mapField('labels', flags.labels),
      ...mapField('annotations', flags.annotations),
    },
    spec: { ...source, ...restoreSpecOf(flags) },
  }
}

/** The spec that flags ask for. What is left to the server is `0s` or empty, as Velero writes it. */
function restoreSpecOf(flags: RestoreSpecFlags): RestoreSpec {
  const modifier = flags['resource-modifier-configmap']
  const policies = flags['resource-policies-configmap']
  return {
    hooks: {},
    ...filtersOf(flags),
    ...statusOf(flags),
    ...mapField('namespaceMapping', flags['namespace-mappings']),
    ...booleanField('restorePVs', flags['restore-volumes']),
    ...booleanField('preserveNodePorts', flags['preserve-nodeports']),
    ...textField('existingResourcePolicy', flags['existing-resource-policy']),
    itemOperationTimeout: flags['item-operation-timeout']?.text ?? '0s',
    ...(modifier ? { resourceModifier: { apiGroup: '', kind: 'configmap', name: modifier } } : {}),
    ...(policies ? { resourcePolicy: { kind: 'configmap', name: policies } } : {}),
    uploaderConfig: uploaderConfigOf(flags),
  }
}

function filtersOf(flags: RestoreSpecFlags): RestoreSpec {
  const { selector } = flags
  const orSelector = flags['or-selector']
  return {
    ...listField('includedNamespaces', flags['include-namespaces']),
    ...listField('excludedNamespaces', flags['exclude-namespaces']),
    ...listField('includedResources', flags['include-resources']),
    ...listField('excludedResources', flags['exclude-resources']),
    ...booleanField('includeClusterResources', flags['include-cluster-resources']),
    ...(selector === undefined ? {} : { labelSelector: parseLabelSelector('selector', selector) }),
    ...(orSelector === undefined ? {} : { orLabelSelectors: parseOrSelectors('or-selector', orSelector) }),
  }
}

function statusOf(flags: RestoreSpecFlags): RestoreSpec {
  const includedResources = flags['status-include-resources']
  const excludedResources = flags['status-exclude-resources']
  if (includedResources.length === 0) return {}
  return {
    restoreStatus: { includedResources, ...(excludedResources.length === 0 ? {} : { excludedResources }) },
  }
}

function uploaderConfigOf(flags: RestoreSpecFlags): NonNullable<RestoreSpec['uploaderConfig']> {
  const parallelFilesDownload = flags['parallel-files-download']
  const writeSparseFiles = flags['write-sparse-files']
  return {
    ...(writeSparseFiles === undefined ? {} : { writeSparseFiles }),
    ...(parallelFilesDownload > 0 ? { parallelFilesDownload } : {}),
  }
}

/** Throws a CliError in Velero's words for flags that contradict each other or are missing. */
export function checkRestoreFlags(flags: NewRestoreFlags): void {
  if (Boolean(flags['from-backup']) === Boolean(flags['from-schedule'])) {
    throw new CliError('USAGE', 'either a backup or schedule must be specified, but not both')
  }
  if (flags.selector !== undefined && flags['or-selector'] !== undefined) {
    throw new CliError('USAGE', "either a 'selector' or an 'or-selector' can be specified, but not both")
  }
  if (!['', 'none', 'update'].includes(flags['existing-resource-policy'] ?? '')) {
    throw new CliError(
      'USAGE',
      'existing-resource-policy has invalid value, it accepts only none, update as value',
    )
  }
  if (flags.local === '') throw new CliError('USAGE', '--local needs a folder')
  if (flags['parallel-files-download'] < 0) {
    throw new CliError('USAGE', 'parallel-files-download cannot be negative')
  }
}

function listField<K extends keyof RestoreSpec>(key: K, list: string[]): RestoreSpec {
  return list.length === 0 ? {} : { [key]: list }
}

function booleanField<K extends keyof RestoreSpec>(key: K, value: boolean | undefined): RestoreSpec {
  return value === undefined ? {} : { [key]: value }
}

function textField<K extends keyof RestoreSpec>(key: K, value: string | undefined): RestoreSpec {
  return value ? { [key]: value } : {}
}

function mapField<K extends string>(
  key: K,
  map: Record<string, string>,
): { [P in K]?: Record<string, string> } {
  return Object.keys(map).length === 0 ? {} : ({ [key]: map } as { [P in K]?: Record<string, string> })
}
