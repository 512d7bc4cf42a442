import {
  apiVersionOf,
  type BackupRepository,
  type BackupRepositoryKey,
  BackupRepositoryKind,
  backupRepositoryLabels,
  backupRepositoryName,
} from '@lateen/api'
import { type Clock, isAlreadyExists, type KubeClient } from '@lateen/kube'
import { RepositoryError } from './repository-error.ts'

export interface EnsurePorts {
  client: KubeClient
  clock: Clock
  /** Of the server's own objects. */
  namespace: string
  /** How long to wait for its controller. */
  timeoutMs: number
  signal: AbortSignal
}

const POLL_MS = 100

/**
 * The repository of a namespace in a location, ready to be used; its object is made when there is none. Throws `NOT_READY` with what its
 * controller says, or when that says nothing in time, `AMBIGUOUS` when there are two of them, and KubeErrors.
 */
export async function ensureRepository(
  key: BackupRepositoryKey,
  ports: EnsurePorts,
): Promise<BackupRepository> {
  const { clock, timeoutMs, signal } = ports
  const deadline = clock.now() + timeoutMs
  if ((await findRepository(key, ports)) === undefined) await createRepository(key, ports)
  for (;;) {
    const found = await findRepository(key, ports)
    if (found?.status?.phase === 'Ready') return found
    if (found?.status?.phase === 'NotReady') throw notReady(key, found.status.message)
    if (clock.now() >= deadline)
      throw notReady(key, `nothing was heard of it for ${Math.round(timeoutMs / 1000)} s`)
    await clock.sleep(POLL_MS, signal)
  }
}

/** The object of a repository, by its labels: names have changed between releases. Throws `AMBIGUOUS` and KubeErrors. */
export async function findRepository(
  key: BackupRepositoryKey,
  { client, namespace, signal }: Pick<EnsurePorts, 'client' | 'namespace' | 'signal'>,
): Promise<BackupRepository | undefined> {
  const labelSelector = Object.entries(backupRepositoryLabels(key))
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
  const found = await client
    .resource(BackupRepositoryKind, namespace)
    .list({ labelSelector, signal })
    .toArray()
  if (found.length <= 1) return found[0]
  throw new RepositoryError('AMBIGUOUS', {
    reason: `there are ${found.length} BackupRepositories of ${described(key)}: ${found.map(({ metadata }) => metadata.name).join(', ')}`,
    hint: 'Delete all but one of them; what they hold stays in the bucket',
  })
}

async function createRepository(
  key: BackupRepositoryKey,
  { client, namespace, signal }: EnsurePorts,
): Promise<void> {
  const repository: BackupRepository = {
    apiVersion: apiVersionOf(BackupRepositoryKind),
    kind: BackupRepositoryKind.kind,
    metadata: { name: backupRepositoryName(key), namespace, labels: backupRepositoryLabels(key) },
    spec: {
      volumeNamespace: key.volumeNamespace,
      backupStorageLocation: key.backupStorageLocation,
      repositoryType: key.repositoryType === 'kopia' ? 'kopia' : 'restic',
      // Its controller replaces it by the one that fits.
      maintenanceFrequency: '0s',
    },
  }
  await client
    .resource(BackupRepositoryKind, namespace)
    .create(repository, { signal })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
}

function notReady(key: BackupRepositoryKey, message: string | undefined): RepositoryError {
  return new RepositoryError('NOT_READY', {
    reason: `backup repository is not ready: ${message || 'no reason is given'}`,
    hint: `Look at the BackupRepository ${backupRepositoryName(key)} and at its location`,
  })
}

function described({ volumeNamespace, backupStorageLocation, repositoryType }: BackupRepositoryKey): string {
  return `the namespace ${volumeNamespace} in the location ${backupStorageLocation}, type ${repositoryType}`
}
