import type { ActionItem } from '@lateen/plugin'
import { readObject } from '../archive/read-object.ts'
import { copyJson } from '../modifiers/copy-json.ts'
import { volumeNameOf } from '../volumes/binding.ts'
import { ensureNamespace } from './ensure-namespace.ts'
import {
  failWithError,
  type ItemInHand,
  type ItemOutcome,
  placeOf,
  reasons,
  skipped,
} from './item-outcome.ts'
import { isCompleted, isMirrorPod, isSnapshotObject, isSnapshotOfBackup } from './never-restored.ts'
import { prepareObject } from './prepare-object.ts'
import { resetObject } from './reset-object.ts'
import { RestoreItemError } from './restore-item-error.ts'
import type { RecordEntry, RecordKey } from './restore-record.ts'
import type { RestoreRun } from './restore-run.ts'
import { type AdditionalItem, runRestoreActions } from './run-restore-actions.ts'
import { sendObject } from './send-object.ts'
import { tellOfItem } from './tell-of-item.ts'
import { isOver } from './throw-if-over.ts'

/** An object of the backup that is to be restored. */
export interface ItemToRestore {
  item: ItemInHand
  /** As it is in the backup. It is changed. */
  object: ActionItem
  /** The item that named it, if it was an action that did. */
  parent?: RecordEntry | undefined
}

/**
 * Restores one object, and before it what its actions name. Whatever goes wrong with it is in the report and in the record, and the
 * restore goes on. Tells whether the object is in the cluster. Throws ScratchError, or the signal's reason.
 */
export async function restoreItem(
  run: RestoreRun,
  { item, object, parent }: ItemToRestore,
  signal: AbortSignal,
): Promise<boolean> {
  const { groupResource, namespace, source } = item
  const key = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    groupResource,
    namespace,
    name: source.name,
  }
  const usable =
    namespace === '' || (await ensureNamespace(run, { source: source.namespace, target: namespace }, signal))
  if (isCompleted(groupResource, object)) {
    tellOfItem(run, { key, source, outcome: skipped(reasons.completed) })
    return false
  }
  const { entry, first } = run.record.begin(key)
  if (!first) return parent === undefined ? false : await waitFor(run, entry, parent)
  if (parent !== undefined) parent.waitsFor = entry
  const outcome = usable ? await attempt(run, { item, object, entry }, signal) : outOfNamespace(namespace)
  end(run, { key, source, outcome }, entry)
  if (parent !== undefined) parent.waitsFor = undefined
  return outcome.exists
}

async function waitFor({ record }: RestoreRun, entry: RecordEntry, parent: RecordEntry): Promise<boolean> {
  return (await record.waitFor(entry, parent))?.exists ?? false
}

function outOfNamespace(namespace: string): ItemOutcome {
  return { action: 'failed', reason: `the namespace ${namespace} cannot be restored to`, exists: false }
}

function end(
  run: RestoreRun,
  ended: { key: RecordKey; source: ItemInHand['source']; outcome: ItemOutcome },
  entry: RecordEntry,
): void {
  const { action, reason, exists, createdName, note } = ended.outcome
  run.record.end(entry, { action, reason, exists, createdName, note })
  tellOfItem(run, ended)
}

interface ItemAtWork {
  item: ItemInHand
  object: ActionItem
  entry: RecordEntry
}

/** Everything that is wrong with this one item ends here. */
async function attempt(run: RestoreRun, work: ItemAtWork, signal: AbortSignal): Promise<ItemOutcome> {
  try {
    return await restore(run, work, signal)
  } catch (error) {
    if (!isOver(error, signal)) return failWithError({ run, item: work.item }, error)
    // Whoever waits for it must not wait for ever.
    run.record.end(work.entry, { action: 'failed', reason: 'the restore was stopped', exists: false })
    throw error
  }
}

async function restore(
  run: RestoreRun,
  { item, object, entry }: ItemAtWork,
  signal: AbortSignal,
): Promise<ItemOutcome> {
  if (isMirrorPod(item.groupResource, object)) return skipped(reasons.mirrorPod)
  if (!run.csiEnabled && isSnapshotOfBackup(item.groupResource, object, run.restore)) {
    return skipped(reasons.withoutCsi)
  }
  const actions = run.actions.forPlace(item.groupResource, item.namespace)
  const itemFromBackup = actions.length > 0 ? copyJson(object) : object
  const volume =
    item.groupResource === 'persistentvolumes' ? await run.volumes.prepare(object, signal) : object
  if (volume === undefined) return skipped(reasons.provisioned)
  const status = isSnapshotObject(item.groupResource) ? undefined : volume.status
  const { uid } = object.metadata
  const claimedVolume = volumeNameOf(object)
  const owners = run.owners.wanted(object)
  resetObject(volume)
  const acted = await runRestoreActions(volume, {
    run,
    item,
    itemFromBackup,
    actions,
    signal,
    restoreAdditional: additional => restoreAdditional(run, { additional, item, parent: entry }, signal),
  })
  if ('skippedBy' in acted) return skipped(`the action ${acted.skippedBy} left it out`)
  const prepared = await prepareObject(run, { item, object: acted.object, kind: entry.key.kind }, signal)
  return sendObject(run, { ...prepared, item, status, uid, owners, claimedVolume }, signal)
}

interface NamedByAction {
  additional: AdditionalItem
  /** The item whose action it was. */
  item: ItemInHand
  parent: RecordEntry
}

async function restoreAdditional(
  run: RestoreRun,
  { additional, item, parent }: NamedByAction,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, groupResource, mustInclude } = additional
  const { namespace, name } = id
  const { archive } = run.ports
  const named = { groupResource, namespace, name }
  const archived = archive.find(named)
  if (archived === undefined) {
    const error = new RestoreItemError('ITEM_UNREADABLE', named, {
      message: `unable to restore additional item ${groupResource} ${namespace === '' ? name : `${namespace}/${name}`}: it is not in the backup`,
      hint: 'it is needed by what was restored; see the filters of the backup',
    })
    const fields = { ...placeOf(item).fields, additional: name }
    run.report.warn({ place: { namespace }, error, message: 'An additional item is not restored', fields })
    return false
  }
  if (!mustInclude && run.scope.excludesAdditional({ groupResource, namespace }) !== undefined) return false
  const target = {
    groupResource,
    source: { namespace, name },
    namespace: run.scope.targetNamespace(namespace),
  }
  try {
    const object = await readObject(archive, archived)
    return await restoreItem(run, { item: target, object, parent }, signal)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    run.report.error({ ...placeOf(item), error, message: 'An additional item is not restored' })
    return false
  }
}

/** Whether an error is about one object of the archive, and not about all. */
export function isUnreadable(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ARCHIVED_OBJECT_INVALID'
}
