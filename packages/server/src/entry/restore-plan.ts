import { randomBytes, randomUUID } from 'node:crypto'
import {
  type Backup,
  backupSelector,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type Restore,
} from '@lateen/api'
import { type Clock, type KubeClient, silentLogger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { csiRestoreActions } from '../builtin-actions/csi/csi-restore-actions.ts'
import { builtInRestoreActions } from '../builtin-actions/restore/built-in-restore-actions.ts'
import { initRestoreHookAction } from '../builtin-actions/restore/init-restore-hook-action.ts'
import { createSecretMask, type SecretMask, showSecrets } from '../diff/mask-secrets.ts'
import { type ChangeDetail, type ShownChange, showChange } from '../diff/shown-change.ts'
import type { Results } from '../report/report.ts'
import { openBackupArchive } from '../restore/archive/open-backup-archive.ts'
import { labelMapOf, restoreLabelsOf } from '../restore/items/reset-object.ts'
import type { RestoreAction } from '../restore/items/restored-item.ts'
import { copyJson } from '../restore/modifiers/copy-json.ts'
import { observeRestore } from '../restore/observe-facts.ts'
import { type PlanRequest, planRestore } from '../restore/plan/plan-restore.ts'
import type { PlannedItem } from '../restore/plan/planned-item.ts'
import { prepareRestore } from '../restore/prepare/prepare-restore.ts'
import type { RestoreProgress } from '../restore/restore-request.ts'
import { noVolumeRestore, type VolumeRestore } from '../restore/volumes/volume-restore.ts'
import { createDataDownloads } from '../volumes/data-downloads.ts'
import type { NativeSnapshot } from '../volumes/volume-backup.ts'
import type { VolumeInfo } from '../volumes/volume-info.ts'
import { createBlockWorkers } from '../workers/block-workers.ts'
import { doNotWaitForPodVolumes, waitForPodVolumes } from './built-in-plugins.ts'
import { temporaryFolder } from './local-folder.ts'
import { type LocalSource, localBackups, openLocalBackups, prepareLocalRestore } from './local-restore.ts'
import { serverDefaults } from './server-options.ts'

/** Brings the files of backups, from wherever they are. */
export interface PlanFiles {
  /** The archive. */
  contents(backup: Backup): AsyncIterable<Uint8Array>
  /** A JSON file; undefined when the backup does not have it. */
  json(backup: Backup, file: 'volumeInfo' | 'snapshots' | 'csiSnapshots'): Promise<unknown>
}

/** A restore to be planned from here. */
export interface RestorePlanOptions {
  /** With the rights of whoever asks. */
  client: KubeClient
  clock: Clock
  /** As it would be sent to the server. */
  restore: Restore
  /** Where the server's own objects are. */
  namespace: string
  features: readonly string[]
  /** Where the backup is: where the server has it, or in a folder laid out like a bucket. */
  source: { files: PlanFiles } | { folder: string; allowPartiallyFailed?: boolean | undefined }
  /** How much of each object is shown. */
  detail: ChangeDetail
  /** Whether the values of Secrets are shown as they are. */
  showSecrets: boolean
  onProgress?: ((progress: RestoreProgress) => void) | undefined
}

/** What the restore would do about an object: `create` where its report says `created`, and so on. */
export const plannedActions = {
  created: 'create',
  updated: 'update',
  skipped: 'skip',
  failed: 'fail',
} as const satisfies Record<RestoreAction, string>

export type PlannedAction = (typeof plannedActions)[RestoreAction]

/** An object of a plan, as it is shown. */
export interface ShownItem extends ShownChange {
  readonly action: PlannedAction
  readonly apiVersion: string
  readonly kind: string
  /** Where it would be; empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly reason: string
  /** Such as `not dry-run: namespace absent`. */
  readonly note?: string | undefined
}

/** A plan, as it is shown. Disposing removes it from scratch. */
export interface ShownPlan extends AsyncDisposable {
  /** What would be restored. */
  readonly backup: string
  readonly counts: Readonly<Record<PlannedAction, number>>
  readonly warnings: number
  readonly errors: number
  readonly results: Results
  readonly remarks: readonly string[]
  /** By type, namespace and name. May be asked for several times. */
  items(): AsyncIterable<ShownItem>
}

/** A restore that would not be begun. */
export class RestorePlanError extends Error {
  override readonly name = 'RestorePlanError'
  readonly code = 'INVALID_RESTORE'
  readonly hint = 'change what each of these names'

  constructor(problems: readonly string[]) {
    super(`the restore would be FailedValidation: ${problems.join('; ')}`)
  }
}

/** A server makes volumes from native snapshots, and has node agents write files into others; a plan does not get so far. */
const volumesOfServer: VolumeRestore = {
  ...noVolumeRestore,
  csi: { available: true },
  snapshots: { restore: () => Promise.reject(new TypeError('a plan makes no volumes')) },
  podVolumes: {
    begin: () => Promise.reject(new TypeError('a plan restores no files')),
    finish: async () => ({ errors: [], volumeInfo: [] }),
  },
}

/** Enough to keep an API server busy, and few enough for one that others use. */
const workerCount = 8

/**
 * Says what a restore would do, and writes nothing. Throws RestorePlanError, LocalRestoreError, ArchiveError, KubeErrors, what `files`
 * throws, and the signal's reason.
 */
export async function openRestorePlan(options: RestorePlanOptions, signal: AbortSignal): Promise<ShownPlan> {
  const { client, clock, namespace, onProgress, detail } = options
  await using source = await prepareSource(options, signal)
  const request = await requestOf(source, options, signal)
  await using undo = new AsyncDisposableStack()
  const { folder: scratch } = undo.use(await temporaryFolder())
  const stream = source.files.contents(source.backup)
  await using archive = await openBackupArchive({ stream, scratch, signal })
  await using workers = createBlockWorkers({ count: workerCount })
  const ofServer = 'files' in options.source
  const hooks = initRestoreHookAction({ newUid: randomUUID })
  const ports = {
    ...{ client, clock, scratch, archive, workers, onProgress },
    log: silentLogger,
    actions: builtInRestoreActions({
      client,
      namespace,
      others: [
        hooks,
        ...(ofServer
          ? [
              waitForPodVolumes({ client, namespace }),
              ...csiRestoreActions({
                ...{ client, writes: false },
                downloads: createDataDownloads({ client, writes: false }),
              }),
            ]
          : [doNotWaitForPodVolumes]),
      ],
    }),
    volumes: ofServer ? volumesOfServer : noVolumeRestore,
    newUid: randomUUID,
  }
  const plan = undo.use(await planRestore(request, ports, signal))
  const mask = options.showSecrets ? showSecrets : createSecretMask(randomBytes(32))
  const { counts, warnings, errors, results, remarks } = plan
  const kept = undo.move()
  return {
    backup: source.backup.metadata.name ?? '',
    ...{ warnings, errors, results, remarks },
    counts: { create: counts.created, update: counts.updated, skip: counts.skipped, fail: counts.failed },
    items: () => shownItems(plan.items(), { mask, detail, restore: request.restore }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** A restore that can be run, and the files of its backup. */
interface PreparedSource
  extends Pick<PlanRequest, 'restore' | 'backup' | 'policies' | 'modifiers'>,
    AsyncDisposable {
  files: PlanFiles
  podVolumeBackups(): Promise<PodVolumeBackup[]>
}

async function prepareSource(options: RestorePlanOptions, signal: AbortSignal): Promise<PreparedSource> {
  const { source } = options
  return 'files' in source
    ? prepareServed(options, source.files, signal)
    : prepareLocal(options, { ...source, restore: options.restore }, signal)
}

async function prepareServed(
  { client, namespace, restore: given }: RestorePlanOptions,
  files: PlanFiles,
  signal: AbortSignal,
): Promise<PreparedSource> {
  const { facts, modifiers } = await observeRestore(given, { client, namespace, signal })
  const defaults = serverDefaults.backupDefaults
  const { restore, backup, policies, validationErrors } = prepareRestore({ restore: given, facts, defaults })
  if (validationErrors.length > 0 || backup === undefined) throw new RestorePlanError(validationErrors)
  const labelSelector = backupSelector(backup.metadata.name ?? '')
  return {
    ...{ restore, backup, policies, modifiers, files },
    podVolumeBackups: () =>
      client.resource(PodVolumeBackupKind, namespace).list({ labelSelector, signal }).toArray(),
    [Symbol.asyncDispose]: async () => {},
  }
}

const storedFiles = {
  volumeInfo: 'volumeInfo',
  snapshots: 'volumeSnapshots',
  csiSnapshots: 'csiVolumeSnapshots',
} as const

async function prepareLocal(
  { client, clock }: RestorePlanOptions,
  local: LocalSource,
  signal: AbortSignal,
): Promise<PreparedSource> {
  await using undo = new AsyncDisposableStack()
  const place = undo.use(await openLocalBackups(local.folder, clock))
  const { store } = place
  const backups = await localBackups(local, place, signal)
  const ready = await prepareLocalRestore(local, backups, { client, signal })
  const name = ready.backup.metadata.name ?? ''
  const opened = undo.move()
  return {
    ...ready,
    files: {
      async *contents() {
        const stream = await store.get({ of: 'backup', name, file: 'contents' }, signal)
        if (stream === undefined) throw new RestorePlanError([`the backup ${name} has no archive`])
        yield* stream
      },
      json: (_backup, file) => store.getJson({ of: 'backup', name, file: storedFiles[file] }, signal),
    },
    async podVolumeBackups() {
      return listOf(await store.getJson({ of: 'backup', name, file: 'podVolumeBackups' }, signal))
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function requestOf(
  { restore, backup, policies, modifiers, files, podVolumeBackups }: PreparedSource,
  { features, detail }: RestorePlanOptions,
  signal: AbortSignal,
): Promise<PlanRequest> {
  signal.throwIfAborted()
  const [volumeInfo, snapshots, csiSnapshots, ofPods] = await Promise.all([
    files.json(backup, 'volumeInfo'),
    files.json(backup, 'snapshots'),
    files.json(backup, 'csiSnapshots'),
    podVolumeBackups(),
  ])
  return {
    ...{ restore, backup, policies, modifiers },
    volumes: {
      volumeInfo: listOf<VolumeInfo>(volumeInfo),
      snapshots: listOf<NativeSnapshot>(snapshots),
      csiSnapshots: listOf<ActionItem>(csiSnapshots),
      podVolumeBackups: ofPods,
    },
    priorities: serverDefaults.restorePriorities,
    features: new Set(features),
    withObjects: detail !== 'none',
  }
}

function listOf<T>(found: unknown): T[] {
  return (Array.isArray(found) ? found : []) as T[]
}

interface ShowOptions {
  mask: SecretMask
  detail: ChangeDetail
  restore: Restore
}

async function* shownItems(
  items: AsyncIterable<PlannedItem>,
  options: ShowOptions,
): AsyncGenerator<ShownItem> {
  for await (const item of items) {
    const { apiVersion, kind, namespace, name, reason, note } = item
    const action = plannedActions[item.action]
    const change = await changeOf(item, options)
    yield {
      action,
      apiVersion,
      kind,
      namespace,
      name,
      reason,
      ...(note !== undefined && { note }),
      ...change,
    }
  }
}

/** Of objects that stay as they are there is nothing to show. */
async function changeOf(
  { action, apiVersion, kind, namespace, name, objects }: PlannedItem,
  { mask, detail, restore }: ShowOptions,
): Promise<ShownChange> {
  if (detail === 'none' || action === 'skipped') return {}
  const { live, desired } = await objects()
  const place = `${apiVersion}/${kind}/${namespace === '' ? name : `${namespace}/${name}`}`
  const names = { before: `live/${place}`, after: `planned/${place}` }
  const labels = Object.keys(labelMapOf(restoreLabelsOf(restore)))
  // Nothing is marked that is not written.
  const after = action === 'failed' && desired ? withoutLabels(desired, labels) : desired
  const before = action === 'failed' && live ? withoutLabels(live, labels) : live
  return showChange({ before, after }, { detail, mask, names })
}

function withoutLabels(object: ActionItem, names: readonly string[]): ActionItem {
  const copy = copyJson(object)
  const { labels = {} } = copy.metadata
  for (const name of names) Reflect.deleteProperty(labels, name)
  if (Object.keys(labels).length === 0) Reflect.deleteProperty(copy.metadata, 'labels')
  return copy
}
