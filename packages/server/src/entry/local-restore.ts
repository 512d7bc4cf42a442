import { stat } from 'node:fs/promises'
import path from 'node:path'
import {
  type Backup,
  formatTime,
  labelNames,
  type Restore,
  type RestorePhase,
  type RestoreSpec,
  validLabelValue,
} from '@lateen/api'
import {
  type Clock,
  createKubeClient,
  type KubeClient,
  type Logger,
  loadKubeConfig,
  silentLogger,
  systemClock,
} from '@lateen/kube'
import { createPluginRegistry } from '../plugin-host/plugin-registry.ts'
import type { Results } from '../report/report.ts'
import { type ObservedRestore, observeRestoreOf } from '../restore/observe-facts.ts'
import { performRestore, phaseAfterRestoring } from '../restore/perform-restore.ts'
import { newestBackup } from '../restore/prepare/choose-backup.ts'
import { type PreparedRestore, prepareRestore } from '../restore/prepare/prepare-restore.ts'
import type { RestoreProgress } from '../restore/restore-request.ts'
import { createBackupEngine } from './backup-controllers.ts'
import { builtInPlugins } from './built-in-plugins.ts'
import { type LocalFolder, localLocation, openLocalFolder, temporaryFolder } from './local-folder.ts'
import { serverDefaults } from './server-options.ts'

/** A restore that is made from here, without a server. */
export interface LocalRestoreOptions {
  /** Its name and what to restore, as `lateen restore create -o yaml` prints it. */
  restore: Restore
  /** Laid out like a bucket: the backup is in `backups/<name>/`, and log and results go to `restores/<name>/`. */
  folder: string
  /** For a restore of a schedule: whether a backup that is PartiallyFailed will do. */
  allowPartiallyFailed?: boolean | undefined
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  features?: readonly string[] | undefined
  onProgress?: ((progress: RestoreProgress) => void) | undefined
  /** Hears warnings and errors as they come; all lines are in the restore's own log. */
  log?: Logger | undefined
  env: NodeJS.ProcessEnv
}

/** What came of a local restore. */
export interface LocalRestoreResult {
  phase: RestorePhase
  /** What was restored. */
  backup: string
  failureReason?: string | undefined
  warnings: number
  errors: number
  items: number
  /** All warnings and errors; absent when they could not be stored. */
  results?: Results | undefined
  /** Where log and results are; absent when they could not be stored. */
  folder?: string | undefined
}

/** A local restore that cannot be made. Nothing was restored. */
export class LocalRestoreError extends Error {
  override readonly name = 'LocalRestoreError'
  readonly code: 'INVALID_RESTORE' | 'NAME_TAKEN' | 'NO_FOLDER' | 'NO_BACKUP' | 'UNFINISHED_BACKUP'
  readonly hint: string

  constructor(code: LocalRestoreError['code'], message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/**
 * Restores a backup out of a folder that is laid out like a bucket, with the rights of a kubeconfig; the cluster needs nothing
 * installed. Log and results are stored in the folder, if it can be written to. Throws LocalRestoreError, KubeErrors, what the folder's
 * store throws, and the signal's reason.
 */
export async function runLocalRestore(
  options: LocalRestoreOptions,
  signal: AbortSignal,
): Promise<LocalRestoreResult> {
  const clock = systemClock
  const { kubeconfig, kubecontext, env, log = silentLogger, features = [], onProgress } = options
  await using place = await openLocalBackups(options.folder, clock)
  await requireFreeName(options, place, signal)
  const backups = await localBackups(options, place, signal)
  const config = await loadKubeConfig({ path: kubeconfig, context: kubecontext, env })
  const access = { config, log, userAgent: 'lateen-cli' }
  await using client = await createKubeClient(access)
  const connections = serverDefaults.itemBlockWorkerCount
  await using gatedClient = await createKubeClient({ ...access, retry: { attempts: 1 }, connections })
  const { restore, backup, policies, modifiers } = await prepareLocalRestore(options, backups, {
    client,
    signal,
  })
  const { namespace } = restore.metadata
  await using scratch = await temporaryFolder()
  const serverOptions = { ...serverDefaults, namespace, scratchFolder: scratch.folder, features }
  const plugins = createPluginRegistry({ builtIns: () => builtInPlugins({ client, options: serverOptions }) })
  await using engine = await createBackupEngine({
    client,
    gatedClient,
    clock,
    log,
    options: serverOptions,
    plugins,
  })
  const performed = await performRestore(
    {
      restore: { ...restore, status: { startTimestamp: formatTime(clock.now()) } },
      ...{ backup, policies, modifiers, store: place.store },
      ...(onProgress && { onProgress }),
    },
    engine.performRestore,
    signal,
  )
  const { failureReason, warnings = 0, errors = 0, progress } = performed.status
  return {
    phase: endOf(phaseAfterRestoring(performed)),
    backup: backup.metadata.name ?? '',
    ...{ failureReason, warnings, errors, items: progress?.itemsRestored ?? 0 },
    ...(await storedFiles(restore.metadata.name, { options, place, signal })),
  }
}

/** Opens a folder with backups to read from. Throws LocalRestoreError when there is none. */
export async function openLocalBackups(folder: string, clock: Clock): Promise<LocalFolder> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) {
    return openLocalFolder(folder, { clock, create: false, accessMode: 'ReadOnly' })
  }
  throw new LocalRestoreError(
    'NO_FOLDER',
    found === undefined ? `there is no folder ${folder}` : `${folder} is not a folder`,
    'name the folder that holds the folder backups, as `lateen backup create --local` makes it or as a bucket has it',
  )
}

/** The backup that the restore names, or all in the folder that its schedule made. Throws LocalRestoreError if it is not there. */
export async function localBackups(
  options: LocalSource,
  place: LocalFolder,
  signal: AbortSignal,
): Promise<Backup[]> {
  const { spec } = options.restore
  if (!spec.scheduleName) return [await namedBackup(spec.backupName ?? '', { options, place, signal })]
  const label = validLabelValue(spec.scheduleName)
  const made: Backup[] = []
  for await (const name of place.store.names(signal)) {
    const backup = await place.store.getMetadata(name, signal)
    if (backup?.metadata.labels?.[labelNames.scheduleName] === label) made.push(backup)
  }
  return made
}

/** What is restored, and where it is. */
export type LocalSource = Pick<LocalRestoreOptions, 'restore' | 'folder' | 'allowPartiallyFailed'>

interface Surroundings {
  options: LocalSource
  place: LocalFolder
  signal: AbortSignal
}

async function namedBackup(name: string, { options, place, signal }: Surroundings): Promise<Backup> {
  const backup = await place.store.getMetadata(name, signal)
  if (backup !== undefined) return backup
  const { folder } = options
  if (await place.store.hasAny(name, signal)) {
    const missing = path.join(folder, place.layout.backupKey(name, 'metadata'))
    throw new LocalRestoreError(
      'UNFINISHED_BACKUP',
      `the backup ${name} in ${folder} is not complete: ${missing} is not there`,
      'it was not finished or not copied as a whole: take or copy it again',
    )
  }
  throw new LocalRestoreError(
    'NO_BACKUP',
    `there is no backup ${name} in ${folder}`,
    await whatIsThere(folder, place, signal),
  )
}

const namesShown = 5

async function whatIsThere(folder: string, place: LocalFolder, signal: AbortSignal): Promise<string> {
  const names: string[] = []
  for await (const name of place.store.names(signal)) if (names.push(name) > namesShown) break
  if (names.length > namesShown) names.splice(namesShown, names.length, '…')
  if (names.length > 0) return `it has ${names.join(', ')}`
  const parent = path.dirname(path.resolve(folder))
  if (await place.holds('velero-backup.json', signal)) {
    return `this folder is that of a single backup: name ${path.dirname(parent)}, which holds backups/${path.basename(folder)}`
  }
  return `it has no backups: they would be in ${path.join(folder, place.layout.folder('backups'))}`
}

async function requireFreeName(
  { restore, folder }: LocalRestoreOptions,
  place: LocalFolder,
  signal: AbortSignal,
): Promise<void> {
  const key = place.layout.restoreFolder(restore.metadata.name ?? '')
  if (!(await place.holds(key, signal))) return
  throw new LocalRestoreError(
    'NAME_TAKEN',
    `${path.join(folder, key)} is there already`,
    'choose another name, or remove that folder',
  )
}

/** A restore of a local backup that can be run. */
export interface ReadyRestore extends Pick<PreparedRestore, 'policies'>, Pick<ObservedRestore, 'modifiers'> {
  restore: Restore & { metadata: { name: string; namespace: string } }
  backup: Backup
}

/** Fills in what the restore does not say. Throws LocalRestoreError with everything that is wrong with it, and KubeErrors. */
export async function prepareLocalRestore(
  { restore, allowPartiallyFailed = false }: LocalSource,
  backups: readonly Backup[],
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<ReadyRestore> {
  const { name = '', namespace = serverDefaults.namespace } = restore.metadata
  const spec = allowPartiallyFailed ? withPartialOnes(restore.spec, backups) : restore.spec
  const named = { ...restore, spec }
  const locations = backups.map(backup => localLocation(backup.spec.storageLocation ?? '', namespace))
  const observed = await observeRestoreOf({ backups, locations }, named, { client, namespace, signal })
  const prepared = prepareRestore({
    restore: named,
    facts: observed.facts,
    defaults: serverDefaults.backupDefaults,
  })
  const { backup, policies, validationErrors } = prepared
  if (backup !== undefined && validationErrors.length === 0) {
    const metadata = { ...prepared.restore.metadata, name, namespace }
    return { restore: { ...prepared.restore, metadata }, backup, policies, modifiers: observed.modifiers }
  }
  throw new LocalRestoreError(
    'INVALID_RESTORE',
    `the restore ${name} is not valid: ${validationErrors.join('; ')}`,
    'change what each of these names',
  )
}

function withPartialOnes(spec: RestoreSpec, backups: readonly Backup[]): RestoreSpec {
  const newest = newestBackup(backups, ['Completed', 'PartiallyFailed'])
  if (!spec.scheduleName || newest?.metadata.name === undefined) return spec
  const { scheduleName: _, ...others } = spec
  return { ...others, backupName: newest.metadata.name }
}

async function storedFiles(
  name: string,
  { options, place, signal }: Surroundings,
): Promise<Pick<LocalRestoreResult, 'results' | 'folder'>> {
  const results = await place.store.getJson({ of: 'restore', name, file: 'results' }, signal)
  if (results === undefined) return {}
  return {
    results: results as Results,
    folder: path.join(options.folder, place.layout.restoreFolder(name)),
  }
}

/** There is nobody to wait for operations. */
function endOf(phase: RestorePhase): RestorePhase {
  if (phase === 'Failed') return 'Failed'
  return phase.endsWith('PartiallyFailed') ? 'PartiallyFailed' : 'Completed'
}
