import { type Backup, type BackupStatus, cancelledByRequest, DataUploadKind, labelNames } from '@lateen/api'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import { snapshotsOfBackup } from '../../csi/backup-snapshots.ts'
import { eachAtOnce } from '../../csi/each-at-once.ts'
import { keepSnapshots } from '../../csi/keep-snapshots.ts'
import { contentOf } from '../../csi/release-snapshot.ts'
import type { BackupOperation } from '../../operations/backup-operation.ts'
import { textsOf } from '../../report/merge-results.ts'
import type { BackupLog, Results } from '../../report/report.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import { resourceListOf } from '../../report/resource-list.ts'
import { resultText } from '../../report/results.ts'
import { createScratchFolder } from '../../scratch/scratch-folder.ts'
import { csiCompletions, isCsiSnapshot, snapshotOfClaim } from '../../volumes/csi-operations.ts'
import { type EndedSnapshot, settleCsiInfos } from '../../volumes/csi-volume-info.ts'
import { isDataMovement, settleMovedInfos } from '../../volumes/moved-volume-info.ts'
import { settleSnapshots, snapshotCounts } from '../../volumes/settle-snapshots.ts'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import { createArchive } from '../archive/create-archive.ts'
import type { ItemRecord } from '../items/item-record.ts'
import { openLog } from '../open-log.ts'
import type { PerformPorts } from '../perform-backup.ts'
import { operationFailure } from '../run-operations.ts'
import { addToReport, fileOf, readResults } from './add-to-report.ts'
import { type ArchivedSnapshots, archivedSnapshots } from './archived-snapshots.ts'
import { type ArchiveEntry, ChangedFiles } from './changed-files.ts'
import { storeClasses } from './store-classes.ts'
import { identifierOf, itemsToStoreAgain, storeItemsAgain } from './store-items-again.ts'

/** What backups are finalized with. */
export interface FinalizePorts
  extends Pick<
    PerformPorts,
    'client' | 'clock' | 'log' | 'scratch' | 'workers' | 'plugins' | 'features' | 'logLevel' | 'logFormat'
  > {
  /** The files of an archive. Throws what says that the archive is not one. */
  archiveEntries(stream: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<ArchiveEntry>
  /** Whether an error of `archiveEntries` says that the archive is damaged. */
  isDamage(error: unknown): boolean
}

/** A backup whose operations have ended. */
export interface FinalizeRequest {
  /** In its present phase, which actions look at. */
  backup: Backup
  operations: readonly BackupOperation[]
  store: BackupStore
  /** Aborts when somebody asks for the end of the backup: nothing more is stored again then. */
  cancel: AbortSignal
}

interface Scope extends FinalizeRequest {
  ports: FinalizePorts
  log: BackupLog
  scratch: string
  signal: AbortSignal
}

/**
 * Does what is left once the operations of a backup have ended: stores objects again that they name, into a new archive; says in the
 * files about volumes which snapshots failed; adds to log and results. All of it may be repeated. Returns what is new for the status:
 * `warnings` and `errors` are those of this pass alone.
 *
 * Throws KubeError, PluginError, ObjectStoreError, ScratchError, and the signal's reason; repeating may help.
 */
export async function finalizeBackup(
  request: FinalizeRequest,
  ports: FinalizePorts,
  signal: AbortSignal,
): Promise<BackupStatus> {
  await using scratch = await createScratchFolder(ports.scratch, 'finalize')
  await using log = await openLog(request.backup, scratch.folder, ports)
  const scope: Scope = { ...request, ports, log, scratch: scratch.folder, signal }
  const results = await readResults(scope)
  const known = noteFailures(results, scope)
  await storeAgainUnlessCancelled(scope)
  const snapshots = await settleVolumes(scope)
  const csiSnapshots = await settleCsiVolumes(scope)
  await settleMovedVolumes(scope)
  // Nothing was said otherwise beyond what is there.
  if (log.errors + log.warnings > 0 || itemsToStoreAgain(request.operations).length > 0) {
    await addToReport(results, { ...scope, serverLog: ports.log })
  }
  return {
    warnings: log.warnings,
    errors: log.errors - known,
    ...snapshots,
    ...csiSnapshots,
  }
}

/** Says which operations failed after the backup was in progress; they are counted already. Returns how many those are. */
function noteFailures(results: Results, { operations, log }: Scope): number {
  const texts = new Set(textsOf(results.errors))
  for (const operation of operations) {
    if (operation.status.phase !== 'Failed') continue
    const { fields, message } = operationFailure(operation)
    if (!texts.has(resultText({ fields: { ...fields }, message }))) log.error(fields, message)
  }
  return log.errors
}

async function storeAgainUnlessCancelled(scope: Scope): Promise<void> {
  const { cancel, log, signal } = scope
  const either = AbortSignal.any([signal, cancel])
  try {
    either.throwIfAborted()
    await storeAgain({ ...scope, signal: either }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!cancel.aborted) throw error
    log.error({ error: cancelledByRequest }, 'The backup was cancelled while it was finalized')
  }
}

/** From the moment in which the archive may be in the bucket, only `outer` ends it: snapshots that stand there go unless the list has them, too. */
async function storeAgain(scope: Scope, outer: AbortSignal): Promise<void> {
  const { backup, operations, ports, log, scratch, signal } = scope
  const stored = await storedBefore(scope)
  const ids = itemsToStoreAgain(operations).filter(id => !stored.has(id))
  if (ids.length === 0) return
  log.info({ items: ids.length }, 'Items are stored again that operations have changed')
  // What the archive is to name must not go with an object that somebody deletes meanwhile: what is gone by now is not stored.
  await keepSnapshots(backup, ids, { client: ports.client, signal })
  await using changed = await ChangedFiles.create(scratch)
  await using plugins = ports.plugins.open({ log, signal })
  const record = await storeItemsAgain(ids, { ...ports, backup, log, plugins, archive: changed }, signal)
  if (changed.size === 0) return
  await storeClasses(changed, scope)
  if (!(await replaceArchive(changed, scope, outer))) return
  await extendResourceList(record, { ...scope, signal: outer })
  log.info({ files: changed.size }, 'The archive has been written again')
}

/** Snapshots that were stored when this was last tried. They may be gone by now. */
async function storedBefore(scope: Scope): Promise<ArchivedSnapshots> {
  return scope.operations.some(each => snapshotOfClaim(each) !== undefined)
    ? await archivedOrNone(scope)
    : noSnapshots
}

const noSnapshots: ArchivedSnapshots = { has: () => false }

async function archivedOrNone(scope: Scope): Promise<ArchivedSnapshots> {
  return (await archivedSnapshots(scope)) ?? noSnapshots
}

/** False for a damaged archive, which is an error of the backup and which repeating does not mend. */
async function replaceArchive(changed: ChangedFiles, scope: Scope, outer: AbortSignal): Promise<boolean> {
  const { store, ports, log, scratch, signal } = scope
  const contents = fileOf(scope, 'contents')
  await using archive = await createArchive({ scratch, modified: ports.clock.now(), signal })
  try {
    const stored = await store.get(contents, signal)
    if (stored === undefined) throw new MissingArchive()
    await changed.merge(ports.archiveEntries(stored, signal), archive)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof MissingArchive) && !ports.isDamage(error)) throw error
    log.error({ error }, 'The archive cannot be written again')
    return false
  }
  const finished = await archive.finish()
  signal.throwIfAborted()
  await store.put(contents, () => finished.open(), outer)
  return true
}

class MissingArchive extends Error {
  override readonly name = 'MissingArchive'
  readonly code = 'ARCHIVE_MISSING'

  constructor() {
    super('the archive of the backup is not in the bucket any more')
  }
}

async function extendResourceList(record: ItemRecord, scope: Scope): Promise<void> {
  const { store, signal } = scope
  const file = fileOf(scope, 'resourceList')
  const before = ((await store.getJson(file, signal)) ?? {}) as ResourceList
  const added = resourceListOf(record.storedItems())
  const isNew = Object.entries(added).some(([type, names]) =>
    names.some(name => !before[type]?.includes(name)),
  )
  if (!isNew) return
  const types = [...new Set([...Object.keys(before), ...Object.keys(added)])].sort(compare)
  const merged = types.map(type => {
    const names = new Set([...(before[type] ?? []), ...(added[type] ?? [])])
    return [type, [...names].sort(compare)] as const
  })
  await store.putJson(file, Object.fromEntries(merged), signal)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Snapshots whose operations failed are of no use to a restore. */
async function settleVolumes(scope: Scope): Promise<BackupStatus> {
  const { operations, store, signal } = scope
  if (!operations.some(({ spec }) => spec.volumeSnapshotLocation !== undefined)) return {}
  const [snapshotsFile, infoFile] = [fileOf(scope, 'volumeSnapshots'), fileOf(scope, 'volumeInfo')]
  const files = {
    volumeSnapshots: ((await store.getJson(snapshotsFile, signal)) ?? []) as NativeSnapshot[],
    volumeInfo: ((await store.getJson(infoFile, signal)) ?? []) as VolumeInfo[],
  }
  const settled = settleSnapshots(files, operations)
  if (settled !== files) {
    await store.putJson(infoFile, settled.volumeInfo, signal)
    await store.putJson(snapshotsFile, settled.volumeSnapshots, signal)
  }
  return snapshotCounts(settled.volumeSnapshots) ?? {}
}

/** What is known of snapshots through CSI now that they are ready. Of those that are gone already it was told before. */
async function settleCsiVolumes(scope: Scope): Promise<BackupStatus> {
  const { backup, operations, ports, signal } = scope
  if (!operations.some(isCsiSnapshot)) return {}
  const { client } = ports
  const ended: EndedSnapshot[] = []
  const found = await snapshotsOfBackup(backup.metadata.uid ?? '', { client, signal })
  await eachAtOnce(found, async snapshot => {
    const content = await contentOf(snapshot, { client, signal })
    if (content !== undefined) ended.push({ snapshot, content })
  })
  const settled = withLostSnapshots(operations, await archivedOrNone(scope))
  await changeVolumeInfo(infos => settleCsiInfos(infos, settled, ended), scope)
  return csiCompletions(settled)
}

/** The operations, with those as failed whose snapshots were ready and are not in the archive: they are of no use to a restore. */
function withLostSnapshots(
  operations: readonly BackupOperation[],
  archived: ArchivedSnapshots,
): BackupOperation[] {
  return operations.map(operation => {
    const id = snapshotOfClaim(operation)
    if (id === undefined || archived.has(identifierOf(id))) return operation
    return { ...operation, status: { ...operation.status, phase: 'Failed' } }
  })
}

/** What came of the data that was moved. The objects stay until the backup is deleted, so that all of it can be told again. */
async function settleMovedVolumes(scope: Scope): Promise<void> {
  const { backup, operations, ports, signal } = scope
  if (!operations.some(each => isDataMovement(each, DataUploadKind))) return
  const { uid, namespace } = backup.metadata
  const labelSelector = `${labelNames.backupUid}=${uid}`
  const uploads = await ports.client
    .resource(DataUploadKind, namespace)
    .list({ labelSelector, signal })
    .toArray()
  await changeVolumeInfo(infos => settleMovedInfos(infos, operations, uploads), scope)
}

async function changeVolumeInfo(
  change: (infos: VolumeInfo[]) => readonly VolumeInfo[],
  scope: Scope,
): Promise<void> {
  const { store, signal } = scope
  const file = fileOf(scope, 'volumeInfo')
  const infos = ((await store.getJson(file, signal)) ?? []) as VolumeInfo[]
  await store.putJson(file, change(infos), signal)
}
