import path from 'node:path'
import { type Backup, type BackupPhase, formatTime } from '@lateen/api'
import {
  type Clock,
  createKubeClient,
  type KubeClient,
  type Logger,
  loadKubeConfig,
  silentLogger,
  systemClock,
} from '@lateen/kube'
import type { BackupProgress } from '../backup/backup-request.ts'
import { observeCluster } from '../backup/observe-facts.ts'
import { performBackup, phaseAfterWork } from '../backup/perform-backup.ts'
import { type PreparedBackup, prepareBackup } from '../backup/prepare/prepare-backup.ts'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { createPluginRegistry } from '../plugin-host/plugin-registry.ts'
import { createBackupEngine } from './backup-controllers.ts'
import { builtInPlugins } from './built-in-plugins.ts'
import { localLocation, openLocalFolder, temporaryFolder } from './local-folder.ts'
import { featuresOf, serverDefaults } from './server-options.ts'

/** A backup that is taken from here, without a server. */
export interface LocalBackupOptions {
  /** Its name and what to take, as `lateen backup create -o yaml` prints it. */
  backup: Backup
  /** Becomes a bucket: a filesystem location can be pointed at it. Made if it is not there. */
  folder: string
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  features?: readonly string[] | undefined
  onProgress?: ((progress: BackupProgress) => void) | undefined
  /** Hears warnings and errors as they come; all lines are in the backup's own log. */
  log?: Logger | undefined
  env: NodeJS.ProcessEnv
}

/** What came of a local backup. */
export interface LocalBackupResult {
  phase: BackupPhase
  failureReason?: string | undefined
  warnings: number
  errors: number
  items: number
  /** Where its files are. */
  folder: string
}

/** A local backup that cannot be taken. */
export class LocalBackupError extends Error {
  override readonly name = 'LocalBackupError'
  readonly code: 'INVALID_BACKUP' | 'NAME_TAKEN'
  readonly hint: string

  constructor(code: LocalBackupError['code'], message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

const locationName = 'default'

/**
 * Takes a backup with the rights of a kubeconfig into a folder laid out like a bucket; the cluster needs nothing
 * installed. Volumes are not taken: that needs the node agent. Throws LocalBackupError, KubeErrors, what the folder's store throws, and
 * the signal's reason.
 */
export async function runLocalBackup(
  options: LocalBackupOptions,
  signal: AbortSignal,
): Promise<LocalBackupResult> {
  const clock = systemClock
  const { kubeconfig, kubecontext, env, log = silentLogger } = options
  const config = await loadKubeConfig({ path: kubeconfig, context: kubecontext, env })
  await using client = await createKubeClient({ config, log, userAgent: 'lateen-cli' })
  const prepared = await prepareLocal(options.backup, { client, clock, signal })
  const startTimestamp = formatTime(clock.now())
  const backup: Backup = { ...prepared.backup, status: { ...prepared.backup.status, startTimestamp } }
  await using place = await openLocalFolder(options.folder, { clock, create: true, accessMode: 'ReadWrite' })
  await requireFreeName(backup, place.store, { folder: options.folder, signal })
  await using scratch = await temporaryFolder()
  // Nobody would wait for snapshots; with the feature on, that is what the volume info says.
  const features = featuresOf({ features: options.features ?? [], csiSnapshots: true })
  const serverOptions = { ...serverDefaults, scratchFolder: scratch.folder, features }
  const plugins = createPluginRegistry({ builtIns: () => builtInPlugins({ client, options: serverOptions }) })
  await using engine = await createBackupEngine({ client, clock, log, options: serverOptions, plugins })
  const { policies, warnings } = prepared
  const { onProgress } = options
  const performed = await performBackup(
    { backup, policies, warnings, store: place.store, ...(onProgress && { onProgress }) },
    engine.perform,
    signal,
  )
  const phase = endOf(phaseAfterWork(performed))
  const status = {
    ...backup.status,
    ...performed.status,
    phase,
    completionTimestamp: formatTime(clock.now()),
  }
  await place.store.putMetadata({ ...backup, status }, signal)
  return {
    phase,
    failureReason: status.failureReason,
    warnings: status.warnings ?? 0,
    errors: status.errors ?? 0,
    items: status.progress?.itemsBackedUp ?? 0,
    folder: path.join(options.folder, 'backups', backup.metadata.name ?? ''),
  }
}

interface Surroundings {
  client: KubeClient
  clock: Clock
  signal: AbortSignal
}

async function prepareLocal(
  backup: Backup,
  { client, clock, signal }: Surroundings,
): Promise<PreparedBackup> {
  const { namespace = serverDefaults.namespace } = backup.metadata
  const facts = await observeCluster(backup, { client, namespace, globalVolumePolicies: '', signal })
  const prepared = prepareBackup({
    backup: { ...backup, spec: { ...backup.spec, storageLocation: locationName } },
    facts: { ...facts, locations: [localLocation(locationName, namespace)], snapshotLocations: [] },
    defaults: serverDefaults.backupDefaults,
    now: clock.now(),
  })
  if (prepared.validationErrors.length === 0) return prepared
  throw new LocalBackupError(
    'INVALID_BACKUP',
    `the backup ${backup.metadata.name} is not valid: ${prepared.validationErrors.join('; ')}`,
    'change what each of these names',
  )
}

async function requireFreeName(
  { metadata }: Backup,
  store: BackupStore,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<void> {
  if (!(await store.hasAny(metadata.name ?? '', signal))) return
  throw new LocalBackupError(
    'NAME_TAKEN',
    `${path.join(folder, 'backups', metadata.name ?? '')} is there already`,
    'choose another name, or remove that folder',
  )
}

/** There is nobody to wait for operations, and nothing to finalize. */
function endOf(phase: BackupPhase): BackupPhase {
  if (phase === 'Failed') return 'Failed'
  return phase.endsWith('PartiallyFailed') ? 'PartiallyFailed' : 'Completed'
}
