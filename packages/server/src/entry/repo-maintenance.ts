import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { BackupStorageLocationKind } from '@lateen/api'
import { createKubeClient, loadKubeConfig, systemClock } from '@lateen/kube'
import { findRepository } from '../backup-repository/ensure-repository.ts'
import { failureMark } from '../backup-repository/maintenance-runs.ts'
import { managedRepository } from '../backup-repository/managed-repository.ts'
import { RepositoryError } from '../backup-repository/repository-error.ts'
import { createCredentialFiles } from '../backup-store/credential-files.ts'
import { secretReader } from '../backup-store/read-secret-key.ts'
import { messageOf } from '../item/item-error.ts'
import { findRestic } from '../restic/find-restic.ts'
import { createScratchFolder } from '../scratch/scratch-folder.ts'
import { createLog } from './log.ts'
import type { LogLevel } from './server-options.ts'

/** Which repository is maintained, by whom. */
export interface RepoMaintenanceOptions {
  namespace: string
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  volumeNamespace: string
  backupStorageLocation: string
  repositoryType: string
  logLevel: LogLevel
  logFormat: 'text' | 'json'
  version: string
}

/**
 * Does what is due of a repository's maintenance and ends. False when it failed: the last thing on stdout is then the reason, where the
 * server finds it.
 */
export async function runRepoMaintenance(
  options: RepoMaintenanceOptions,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await maintainOnce(options, signal)
    return true
  } catch (error) {
    process.stdout.write(`${failureMark}${messageOf(error)}`)
    return false
  }
}

async function maintainOnce(options: RepoMaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { namespace, volumeNamespace, backupStorageLocation, repositoryType } = options
  const { env } = process
  const log = createLog({ level: options.logLevel, format: options.logFormat, out: process.stdout })
  const config = await loadKubeConfig({ path: options.kubeconfig, context: options.kubecontext, env })
  await using client = await createKubeClient({
    config,
    log,
    userAgent: `lateen-maintenance/${options.version}`,
  })
  const key = { volumeNamespace, backupStorageLocation, repositoryType }
  const repository = await findRepository(key, { client, namespace, signal })
  if (repository === undefined) throw noRepository(options)
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(backupStorageLocation, { signal })
  await using scratch = await createScratchFolder(tmpdir(), 'lateen-maintenance')
  await using credentialFiles = createCredentialFiles(scratch.folder, () => randomBytes(8).toString('hex'))
  const ports = { readSecretKey: secretReader(client, namespace), credentialFiles, env }
  const restic = await findRestic(env)
  const managed = await managedRepository(repository, location, {
    ...{ ...ports, restic, clock: systemClock, log, signal },
  })
  await managed.maintain(signal)
}

function noRepository({ namespace, volumeNamespace, backupStorageLocation }: RepoMaintenanceOptions) {
  return new RepositoryError('NOT_READY', {
    reason: `the namespace ${namespace} has no BackupRepository of ${volumeNamespace} in ${backupStorageLocation}`,
    hint: 'Maintenance is for repositories that exist',
  })
}
