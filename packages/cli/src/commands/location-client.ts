import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { isAlreadyExists, isNotFound, type KubeClient, KubeError, type Patch } from '@lateen/kube'
import { CliError } from '../cli-error.ts'

/** Backup storage locations of one namespace, with failures put into words. */
export interface LocationClient {
  get(name: string): Promise<BackupStorageLocation>
  list(labelSelector?: string): Promise<BackupStorageLocation[]>
  create(location: BackupStorageLocation): Promise<void>
  patch(name: string, patch: Patch): Promise<void>
  delete(name: string): Promise<void>
}

/** Opens the locations of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function locationClient(client: KubeClient, namespace: string, signal: AbortSignal): LocationClient {
  const locations = client.resource(BackupStorageLocationKind, namespace)
  const words = (name?: string) => (error: unknown) => {
    throw explainLocationError(error, namespace, name)
  }
  return {
    get: name => locations.get(name, { signal }).catch(words(name)),
    list: labelSelector =>
      locations
        .list({ signal, ...(labelSelector === undefined ? {} : { labelSelector }) })
        .toArray()
        .catch(words()),
    create: async location => {
      await locations.create(location, { signal }).catch(words(location.metadata.name))
    },
    patch: async (name, patch) => {
      await locations.patch(name, patch, { signal }).catch(words(name))
    },
    delete: name => locations.delete(name, { signal }).catch(words(name)),
  }
}

/** Turns the API server's answers about locations into what a person can act on; other errors come back as they are. */
export function explainLocationError(error: unknown, namespace: string, name?: string): unknown {
  if (isAlreadyExists(error)) {
    return new CliError(
      'EXISTS',
      `backup storage location "${name}" already exists in namespace ${namespace}`,
      {
        hint: `choose another name, or change it with 'lateen backup-location set ${name}'`,
        cause: error,
      },
    )
  }
  if (!(error instanceof KubeError) || !isNotFound(error)) return error
  if (error.details?.kind === 'namespaces') {
    return new CliError('NOT_FOUND', `namespace ${namespace} does not exist`, {
      hint: `create it with 'kubectl create namespace ${namespace}', or name another with --namespace`,
      cause: error,
    })
  }
  if (name === undefined || error.details?.name !== name) {
    return new CliError('NOT_FOUND', 'this cluster does not know backup storage locations', {
      hint: "install the CustomResourceDefinitions with 'lateen install --crds-only'",
      cause: error,
    })
  }
  return new CliError(
    'NOT_FOUND',
    `backup storage location "${name}" does not exist in namespace ${namespace}`,
    {
      hint: "'lateen backup-location get' lists those that do",
      cause: error,
    },
  )
}
