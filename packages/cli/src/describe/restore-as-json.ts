import type { Fetched } from './backup-description.ts'
import { groupPodVolumes } from './pod-volume-groups.ts'
import type { RestoreDescription } from './restore-description.ts'

/**
 * A restore for programs: metadata, spec and status as they are in the object, and beside them what its files say. Velero
 * has no such form. What could not be had is named in `unavailable` with the reason.
 */
export function restoreAsJson(description: RestoreDescription): object {
  const { restore, results, operations, resourceList, volumes, details } = description
  const { metadata, spec, status = {} } = restore
  const files = {
    ...contentOf('results', results),
    ...(details ? contentOf('itemOperations', operations) : {}),
    ...contentOf('resourceList', resourceList),
    ...contentOf('volumes', volumes),
  }
  const unavailable = {
    ...reasonOf('results', results),
    ...reasonOf('itemOperations', operations),
    ...reasonOf('resourceList', resourceList),
    ...reasonOf('volumes', volumes),
  }
  return {
    metadata: {
      name: metadata.name ?? '',
      namespace: metadata.namespace ?? '',
      labels: metadata.labels ?? null,
      annotations: metadata.annotations ?? null,
    },
    phase: status.phase || 'New',
    deleting: metadata.deletionTimestamp !== undefined,
    spec,
    status,
    ...files,
    podVolumeRestores: podVolumes(description),
    ...(Object.keys(unavailable).length === 0 ? {} : { unavailable }),
  }
}

function contentOf(key: string, file: Fetched<unknown> | undefined): object {
  return file?.got === 'content' ? { [key]: file.content } : {}
}

function reasonOf(key: string, file: Fetched<unknown> | undefined): object {
  if (file === undefined || file.got === 'content') return {}
  return { [key]: file.got === 'nothing' ? 'file not found' : `error ${file.while}: ${file.reason}` }
}

function podVolumes({ podVolumeRestores, details }: RestoreDescription): object {
  const groups = groupPodVolumes('restore', podVolumeRestores).map(({ phase, count, pods }) => [
    phase,
    details ? Object.fromEntries(pods.map(({ pod, volumes }) => [pod, volumes])) : count,
  ])
  return Object.fromEntries(groups)
}
