import { annotationNames } from '@lateen/api'
import type { ActionItem, BackupItemAction, BackupItemResult, ResourceIdentifier } from '@lateen/plugin'
import { ItemError, itemFields, messageOf } from '../../item/item-error.ts'
import type { ResolvedAction } from '../../item/resolve-actions.ts'
import { newOperation } from '../../operations/backup-operation.ts'
import { csiClaimAction } from '../../volumes/csi-operations.ts'
import { claimSnapshotIn } from '../volumes/claim-snapshots.ts'
import type { ItemRun } from './item-run.ts'
import type { LoadedItem } from './loaded-item.ts'

const vsphereClaimAction = 'velero.io/vsphere-pvc-backupper'
const csiPrefix = 'velero.io/csi-'

/** Something that an action wants in the backup. */
export interface AdditionalItem {
  id: ResourceIdentifier
  /** Whatever the filters say. */
  mustInclude: boolean
}

export interface ItemActionsOptions {
  run: ItemRun
  /** Stores what an action names, before the next action runs. */
  storeAdditional(item: AdditionalItem): Promise<void>
  signal: AbortSignal
}

/** An item after its actions. */
export interface ActedItem {
  object: ActionItem
  /** No action changed it: it may be stored as the API server sent it. */
  unchanged: boolean
}

/** Runs the actions for an item in order. Undefined when one of them leaves it out. Throws ItemError, or the signal's reason. */
export async function runItemActions(
  item: LoadedItem,
  options: ItemActionsOptions,
): Promise<ActedItem | undefined> {
  const { run, signal } = options
  const { ref } = item
  const { labels } = item.object.metadata
  let object = item.object
  let unchanged = true
  for (const resolved of run.itemActions.forPlace(ref.groupResource, ref.namespace)) {
    if (!resolved.matches(labels) || (await isHeldBack(resolved.name, { item, object }, options))) continue
    signal.throwIfAborted()
    const result = await execute(resolved, { item, object }, options)
    await noteOperation(resolved, result, { item, options })
    const annotations = result.item?.metadata?.annotations
    if (result.item === undefined || annotations?.[annotationNames.skipFromBackup] !== undefined) {
      run.log.info({ ...itemFields(ref), action: resolved.name }, 'Left out: an action says so')
      return undefined
    }
    object = result.item
    unchanged &&= result.unchanged === true
    const mustInclude = takeMustInclude(annotations)
    unchanged &&= mustInclude === undefined
    noteClaimSnapshot(resolved.name, result, { item, run })
    for (const id of result.additionalItems ?? [])
      await options.storeAdditional({ id, mustInclude: mustInclude === 'true' })
  }
  return { object, unchanged }
}

/** What an action says about its additional items. Removed where it is, because a restored object must not carry it. */
function takeMustInclude(annotations: Record<string, string> | undefined): string | undefined {
  const name = annotationNames.backupMustIncludeAdditionalItems
  const value = annotations?.[name]
  if (annotations !== undefined) Reflect.deleteProperty(annotations, name)
  return value
}

interface Subject {
  item: LoadedItem
  object: ActionItem
}

async function execute(
  { name, action }: ResolvedAction<BackupItemAction>,
  { item, object }: Subject,
  { run, signal }: ItemActionsOptions,
): Promise<BackupItemResult> {
  run.log.debug({ ...itemFields(item.ref), action: name }, 'Running an action')
  try {
    return await action.execute({ item: object, backup: run.backup, signal })
  } catch (cause) {
    signal.throwIfAborted()
    throw new ItemError('ITEM_ACTION_FAILED', item.ref, {
      reason: `the action ${name} failed: ${messageOf(cause)}`,
      hint: 'see the cause; the item is in the next backup in which the action succeeds',
      cause,
    })
  }
}

/** Whether an action that takes snapshots of claims is not to run: the feature is off, or the volume is not to be snapshot. */
async function isHeldBack(
  name: string,
  { item, object }: Subject,
  { run, signal }: ItemActionsOptions,
): Promise<boolean> {
  const { groupResource } = item.ref
  const fields = { ...itemFields(item.ref), action: name }
  if (name.startsWith(csiPrefix) && !run.csiEnabled) {
    run.log.debug(fields, 'The action is not run: CSI snapshots are off')
    return true
  }
  if (groupResource !== 'persistentvolumeclaims') return false
  if (name !== csiClaimAction && name !== vsphereClaimAction) return false
  const { take, reason } = await run.volumes.decideClaim(object, signal)
  if (take) return false
  run.log.info({ ...fields, reason }, 'The action is not run: no snapshot of this volume is wanted')
  run.volumes.leaveOut(groupResource, object, { approach: 'volumeSnapshot', reason })
  return true
}

function noteClaimSnapshot(
  name: string,
  answer: BackupItemResult,
  { item, run }: { item: LoadedItem; run: ItemRun },
): void {
  const { item: result, additionalItems } = answer
  if (name !== csiClaimAction || result === undefined) return
  const { annotations } = result.metadata
  if (additionalItems === undefined && annotations?.[annotationNames.skippedNoCsiPv] === 'true') {
    const reason = 'it is not a CSI volume'
    run.volumes.leaveOut(item.ref.groupResource, item.object, { approach: 'csiSnapshot', reason })
    Reflect.deleteProperty(annotations, annotationNames.skippedNoCsiPv)
  } else {
    run.volumes.claimTaken(item.object, claimSnapshotIn(answer, run.backup))
  }
}

/** An operation is used once it is noted in the bucket; one that cannot be is stopped. Throws ItemError. */
async function noteOperation(
  { name: action, action: began }: ResolvedAction<BackupItemAction>,
  { operationId, postOperationItems }: BackupItemResult,
  { item, options }: { item: LoadedItem; options: ItemActionsOptions },
): Promise<void> {
  if (!operationId) return
  const { run, signal } = options
  const { type, namespace, name } = item.ref
  const id = { group: type.group, resource: type.plural, namespace, name }
  const now = run.clock.now()
  try {
    await run.operations.add(
      newOperation({ backup: run.backup, action, item: id, operationId, postOperationItems, now }),
    )
  } catch (cause) {
    signal.throwIfAborted()
    await began.cancel?.({ operationId, backup: run.backup, signal }).catch(error => {
      run.log.debug({ ...itemFields(item.ref), error, action }, 'An operation could not be cancelled')
    })
    const { hint = '' } = cause as { hint?: string }
    throw new ItemError('ITEM_ACTION_FAILED', item.ref, {
      reason: `the operation of the action ${action} cannot be kept: ${messageOf(cause)}`,
      hint,
      cause,
    })
  }
}
