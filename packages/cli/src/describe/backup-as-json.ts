import { annotationNames, type Backup, type BackupHook, type BackupSpec } from '@lateen/api'
import { goTime } from '../output/go-time.ts'
import { formatLabelSelector } from '../parse/label-selector.ts'
import type { BackupDescription, ResultList } from './backup-description.ts'
import { failedDeletions } from './describe-backup.ts'
import { automatic, clusterScoped, goDuration, listed, wordFor } from './describe-spec.ts'
import { volumesAsJson } from './volumes-as-json.ts'

const none = '<none>'

/** A backup with the keys of Velero's `describe -o json`. */
export function backupAsJson(description: BackupDescription): object {
  const { backup, deleteRequests } = description
  const { metadata, spec, status = {} } = backup
  const global = metadata.annotations?.[annotationNames.globalBackupVolumePolicyConfigMap]
  const { resourcePolicy: policy } = spec
  return {
    metadata: {
      name: metadata.name ?? '',
      namespace: metadata.namespace ?? '',
      labels: metadata.labels ?? null,
      annotations: metadata.annotations ?? null,
    },
    phase: status.phase ?? '',
    ...(policy ? { resourcePolicies: { type: policy.kind, name: policy.name } } : {}),
    ...(global ? { globalVolumePolicies: { type: 'configmap', name: global } } : {}),
    ...(status.validationErrors?.length ? { validationErrors: status.validationErrors } : {}),
    ...results(description),
    spec: specAsJson(spec),
    status: statusAsJson(description),
    ...(deleteRequests.length === 0 ? {} : { deletionAttempts: deletionAttempts(deleteRequests) }),
  }
}

function results({ backup, results: file }: BackupDescription): object {
  const { warnings = 0, errors = 0 } = backup.status ?? {}
  if (file === undefined) return {}
  if (file.got === 'nothing') return { errors: { count: errors }, warnings: { count: warnings } }
  if (file.got === 'error') {
    const verb = file.while === 'reading' ? 'decoding' : 'getting'
    return {
      errors: { errorGettingErrors: `<error ${verb} errors: ${file.reason}>` },
      warnings: { errorGettingWarnings: `<error ${verb} warnings: ${file.reason}>` },
    }
  }
  return {
    errors: errors > 0 ? resultList(file.content.errors) : {},
    warnings: warnings > 0 ? resultList(file.content.warnings) : {},
  }
}

function resultList({ velero, cluster, namespaces }: ResultList = {}): object {
  const hasNamespaces = Object.keys(namespaces ?? {}).length > 0
  return { velero: velero ?? [], cluster: cluster ?? [], namespace: hasNamespaces ? namespaces : [] }
}

function specAsJson(spec: BackupSpec): object {
  return {
    namespaces: {
      included: listed(spec.includedNamespaces, '*'),
      excluded: listed(spec.excludedNamespaces, none),
    },
    resources: {
      included: listed(spec.includedResources, '*'),
      excluded: listed(spec.excludedResources, none),
      clusterScoped: wordFor(spec.includeClusterResources, clusterScoped),
    },
    labelSelector: formatLabelSelector(spec.labelSelector),
    storageLocation: spec.storageLocation ?? '',
    veleroNativeSnapshotPVs: wordFor(spec.snapshotVolumes, automatic),
    veleroSnapshotMoveData: wordFor(spec.snapshotMoveData, automatic),
    dataMover: spec.datamover || none,
    TTL: goDuration(spec.ttl),
    CSISnapshotTimeout: goDuration(spec.csiSnapshotTimeout),
    ...hooks(spec),
    ...(spec.orderedResources ? { orderedResources: spec.orderedResources } : {}),
  }
}

function hooks(spec: BackupSpec): object {
  const all = spec.hooks?.resources ?? []
  if (all.length === 0) return {}
  const resources = all.map(hook => [
    hook.name,
    {
      namespaces: {
        included: listed(hook.includedNamespaces, '*'),
        excluded: listed(hook.excludedNamespaces, none),
      },
      resources: {
        included: listed(hook.includedResources, '*'),
        excluded: listed(hook.excludedResources, none),
      },
      labelSelector: formatLabelSelector(hook.labelSelector),
      preExecHook: (hook.pre ?? []).map(execHook),
      postExecHook: (hook.post ?? []).map(execHook),
    },
  ])
  return { hooks: { resources: Object.fromEntries(resources) } }
}

function execHook({ exec }: BackupHook): object {
  return {
    container: exec.container ?? '',
    command: exec.command.join(' '),
    // The colon is part of Velero's key.
    'onError:': exec.onError ?? '',
    timeout: goDuration(exec.timeout),
  }
}

function statusAsJson(description: BackupDescription): object {
  const { status = {} } = description.backup
  return {
    backupFormatVersion: status.formatVersion ?? '',
    started: status.startTimestamp ? goTime(status.startTimestamp) : '<n/a>',
    completed: status.completionTimestamp ? goTime(status.completionTimestamp) : '<n/a>',
    expiration: status.expiration ? goTime(status.expiration) : '<nil>',
    ...(description.keptFor !== undefined && { keptForSchedule: description.keptFor }),
    ...progress(description.backup),
    ...resourceList(description),
    backupVolumes: volumesAsJson(description),
    ...(status.hookStatus
      ? {
          hooksAttempted: status.hookStatus.hooksAttempted ?? 0,
          hooksFailed: status.hookStatus.hooksFailed ?? 0,
        }
      : {}),
  }
}

function progress({ status }: Backup): object {
  if (!status?.progress) return {}
  const { totalItems = 0, itemsBackedUp = 0 } = status.progress
  return status.phase === 'InProgress'
    ? { estimatedTotalItemsToBeBackedUp: totalItems, itemsBackedUpSoFar: itemsBackedUp }
    : { totalItemsToBeBackedUp: totalItems, itemsBackedUp }
}

function resourceList({ resourceList: file }: BackupDescription): object {
  if (file === undefined) return {}
  switch (file.got) {
    case 'content':
      return { resourceList: file.content }
    case 'nothing':
      return { errorGettingResourceList: '<backup resource list not found>' }
    case 'error':
      return { errorGettingResourceList: `<error ${file.while} backup resource list: ${file.reason}>` }
  }
}

function deletionAttempts(requests: BackupDescription['deleteRequests']): object {
  const failed = failedDeletions(requests)
  return {
    ...(failed > 0 ? { failed } : {}),
    deleteBackupRequests: requests.map(({ metadata, status }) => ({
      creationTimestamp: metadata.creationTimestamp ? goTime(metadata.creationTimestamp) : '',
      phase: status?.phase ?? '',
      ...(status?.errors?.length ? { errors: status.errors } : {}),
    })),
  }
}
