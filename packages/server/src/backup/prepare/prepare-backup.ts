import {
  annotationNames,
  type Backup,
  type BackupSpec,
  type BackupStatus,
  type BackupStorageLocation,
  durationMilliseconds,
  formatTime,
  goDurationOf,
  InvalidTextError,
  labelNames,
  type ObjectMeta,
  type VolumeSnapshotLocation,
  validLabelValue,
} from '@lateen/api'
import type { DiscoveredResource } from '@lateen/kube'
import type { ResourcePolicies } from '../../filters/policies/resource-policies.ts'
import { resourceResolver } from '../../filters/resource-names.ts'
import type { ScopeWarning } from '../../filters/scope.ts'
import { chooseSnapshotLocations } from './choose-snapshot-locations.ts'
import { chooseStorageLocation } from './choose-storage-location.ts'
import { prepareFilters } from './prepare-filters.ts'
import { preparePolicies } from './prepare-policies.ts'
import { hookErrors, schemaErrors, selectorErrors, ttlErrors } from './validate-spec.ts'
import { type SpecDefaults, withSpecDefaults } from './with-spec-defaults.ts'

/** What backups that do not say get. Durations are in milliseconds. */
export interface BackupDefaults extends SpecDefaults {
  /** Unless a location is marked as the default one. */
  storageLocation: string
  /** Provider to location, for providers with several. */
  snapshotLocations: Readonly<Record<string, string>>
  /** Told to plugins. */
  resourceTimeout: number
  /** The ConfigMap with volume policies for all backups; empty: none. */
  globalVolumePolicies: string
}

/** What was observed for a backup, in the backup's namespace where things have one. */
export interface BackupFacts {
  locations: readonly BackupStorageLocation[]
  snapshotLocations: readonly VolumeSnapshotLocation[]
  /** Names of the namespaces labelled `velero.io/exclude-from-backup=true`. */
  excludedNamespaces: readonly string[]
  /** `/version` of the API server. */
  serverVersion: { gitVersion: string; major: string; minor: string }
  /** Every resource that the cluster serves, in the server's order. */
  discovery: readonly DiscoveredResource[]
  /** The data of the ConfigMap that `spec.resourcePolicy` names; undefined when there is none. */
  policies?: Readonly<Record<string, string>> | undefined
  /** The data of the ConfigMap with the volume policies of the server; undefined when there is none. */
  globalPolicies?: Readonly<Record<string, string>> | undefined
}

/** A backup that can be run, or the reasons why it cannot. */
export interface PreparedBackup {
  /**
   * With defaults in spec, labels and annotations, and `version`, `formatVersion` and `expiration` in its status. Phase and
   * times are the caller's to set.
   */
  backup: Backup
  /** All of them, in the order in which the spec is looked at; empty: the backup can be run. */
  validationErrors: readonly string[]
  /** Where it goes, if it exists. */
  storageLocation?: BackupStorageLocation | undefined
  snapshotLocations: readonly VolumeSnapshotLocation[]
  /** The backup's policies with the server's volume policies after them. */
  policies?: ResourcePolicies | undefined
  warnings: readonly ScopeWarning[]
}

/** What `prepareBackup` works on. */
export interface PrepareBackupOptions {
  /** Is not changed. */
  backup: Backup
  facts: BackupFacts
  defaults: BackupDefaults
  /** Milliseconds since 1970. */
  now: number
}

const majorVersion = 1
const formatVersion = '1.1.0'

/**
 * Fills in what a backup does not say and finds everything that is wrong with it. Pure; never throws for what users
 * write. Preparing a prepared backup again changes nothing but its expiration.
 */
export function prepareBackup({ backup, facts, defaults, now }: PrepareBackupOptions): PreparedBackup {
  const given = backup.spec
  const location = chooseStorageLocation(given, facts.locations, defaults.storageLocation)
  const snapshots = chooseSnapshotLocations(given, facts.snapshotLocations, defaults.snapshotLocations)
  const filters = prepareFilters(given, facts.excludedNamespaces, resourceResolver(facts.discovery))
  const policies = preparePolicies({
    backup,
    own: facts.policies,
    global: facts.globalPolicies,
    globalName: defaults.globalVolumePolicies,
  })
  const spec = {
    ...withSpecDefaults(given, defaults),
    ...filters.lists,
    storageLocation: location.name,
    ...(snapshots.locations?.length && { volumeSnapshotLocations: namesOf(snapshots.locations) }),
  }
  const metadata = preparedMetadata(backup.metadata, { spec, facts, defaults })
  return {
    backup: { ...backup, metadata, spec, status: { ...backup.status, ...preparedStatus(spec, now) } },
    validationErrors: [
      ...schemaErrors(given),
      ...ttlErrors(given),
      ...location.errors,
      ...snapshots.errors,
      ...filters.errors,
      ...selectorErrors(given),
      ...policies.errors,
      ...hookErrors(given),
    ],
    storageLocation: location.found,
    snapshotLocations: snapshots.locations ?? [],
    policies: policies.policies,
    warnings: [...deprecations(given), ...policies.warnings],
  }
}

function namesOf(locations: readonly VolumeSnapshotLocation[]): string[] {
  return locations.map(({ metadata }) => metadata.name ?? '')
}

function preparedMetadata(
  metadata: ObjectMeta,
  { spec, facts, defaults }: { spec: BackupSpec; facts: BackupFacts; defaults: BackupDefaults },
): ObjectMeta {
  const { gitVersion, major, minor } = facts.serverVersion
  const globalPolicies = defaults.globalVolumePolicies
  return {
    ...metadata,
    labels: {
      ...metadata.labels,
      [labelNames.storageLocation]: validLabelValue(spec.storageLocation ?? ''),
    },
    annotations: {
      ...metadata.annotations,
      [annotationNames.sourceClusterGitVersion]: gitVersion,
      [annotationNames.sourceClusterMajorVersion]: major,
      [annotationNames.sourceClusterMinorVersion]: minor,
      [annotationNames.resourceTimeout]: goDurationOf(defaults.resourceTimeout),
      ...(globalPolicies !== '' && { [annotationNames.globalBackupVolumePolicyConfigMap]: globalPolicies }),
    },
  }
}

function preparedStatus({ ttl }: BackupSpec, now: number): BackupStatus {
  return { version: majorVersion, formatVersion, expiration: formatTime(now + millisecondsOr0(ttl)) }
}

/** A duration that cannot be read is among the validation errors. */
function millisecondsOr0(text: string | undefined): number {
  try {
    return durationMilliseconds(text) ?? 0
  } catch (error) {
    if (error instanceof InvalidTextError) return 0
    throw error
  }
}

function deprecations({ defaultVolumesToRestic }: BackupSpec): ScopeWarning[] {
  if (defaultVolumesToRestic !== true) return []
  const fields = { old: 'defaultVolumesToRestic', new: 'defaultVolumesToFsBackup' }
  return [{ message: 'The backup uses the old name of an option', fields }]
}
