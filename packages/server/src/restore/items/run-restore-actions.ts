import { annotationNames } from '@lateen/api'
import type { ActionItem, ResourceIdentifier, RestoreItemAction, RestoreItemResult } from '@lateen/plugin'
import { type GroupResource, groupResource } from '../../item/item.ts'
import { messageOf } from '../../item/item-error.ts'
import type { ResolvedAction } from '../../item/resolve-actions.ts'
import { newRestoreOperation } from '../../operations/restore-operation.ts'
import { type ItemInHand, itemId, placeOf } from './item-outcome.ts'
import { RestoreItemError, resourceIdOf } from './restore-item-error.ts'
import type { RestoreRun } from './restore-run.ts'
import { throwIfOver } from './throw-if-over.ts'

const csiPrefix = 'velero.io/csi-'
const pollMs = 1_000

/** Something that an action wants restored first. */
export interface AdditionalItem {
  id: ResourceIdentifier
  groupResource: GroupResource
  /** Whatever the filters say. */
  mustInclude: boolean
}

export interface RestoreActionsOptions {
  run: RestoreRun
  item: ItemInHand
  /** As it is in the backup. */
  itemFromBackup: ActionItem
  actions: readonly ResolvedAction<RestoreItemAction>[]
  /** Restores what an action names, before the next action runs. Tells whether it is in the cluster. */
  restoreAdditional(item: AdditionalItem): Promise<boolean>
  signal: AbortSignal
}

/** An item after its actions. */
export type ActedRestore = { object: ActionItem } | { skippedBy: string }

/** Runs the actions for an item in order. Throws RestoreItemError, or the signal's reason. */
export async function runRestoreActions(
  item: ActionItem,
  options: RestoreActionsOptions,
): Promise<ActedRestore> {
  const { run, signal } = options
  let object = item
  for (const resolved of options.actions) {
    if (!resolved.matches(object.metadata.labels)) continue
    if (resolved.name.startsWith(csiPrefix) && !run.csiEnabled && !isMoved(options.itemFromBackup)) continue
    signal.throwIfAborted()
    const result = await execute(resolved, object, options)
    await noteOperation(resolved.name, result, options)
    if (result.skip === true) return { skippedBy: resolved.name }
    object = result.item
    const there = await restoreAdditional(result, object, options)
    await awaitAdditional(resolved, { ...result, additionalItems: there }, options)
  }
  return { object }
}

/** Whether an object is a claim whose content was moved into the repository, which needs no snapshot any more. */
function isMoved({ kind, metadata }: ActionItem): boolean {
  return (
    kind === 'PersistentVolumeClaim' && metadata.annotations?.[annotationNames.dataUploadName] !== undefined
  )
}

async function execute(
  { name, action }: ResolvedAction<RestoreItemAction>,
  item: ActionItem,
  { run, itemFromBackup, item: at, signal }: RestoreActionsOptions,
): Promise<RestoreItemResult> {
  try {
    const { restore, backedUp } = run
    const { podVolumeBackups } = run.volumes
    return await action.execute({ item, itemFromBackup, restore, backedUp, podVolumeBackups, signal })
  } catch (cause) {
    throwIfOver(cause, signal)
    throw new RestoreItemError('ITEM_ACTION_FAILED', itemId(at), {
      message: `error preparing ${resourceIdOf(itemId(at))}: ${messageOf(cause)}`,
      hint: `see what the action ${name} needs`,
      cause,
    })
  }
}

/** Those of the additional items that are in the cluster then. */
async function restoreAdditional(
  { additionalItems = [] }: RestoreItemResult,
  { metadata }: ActionItem,
  { restoreAdditional: restore }: RestoreActionsOptions,
): Promise<ResourceIdentifier[]> {
  const mustInclude = takeMustInclude(metadata.annotations)
  const there: ResourceIdentifier[] = []
  for (const id of additionalItems) {
    const type = groupResource({ group: id.group, plural: id.resource })
    if (await restore({ id, groupResource: type, mustInclude })) there.push(id)
  }
  return there
}

/** What an action says about its additional items. Removed where it is, because a restored object must not carry it. */
function takeMustInclude(annotations: Record<string, string> | undefined): boolean {
  const name = annotationNames.restoreMustIncludeAdditionalItems
  const value = annotations?.[name]
  if (annotations !== undefined) Reflect.deleteProperty(annotations, name)
  return value === 'true'
}

/** What is not ready in time is an error, and the item is restored all the same. */
async function awaitAdditional(
  { action }: ResolvedAction<RestoreItemAction>,
  { waitForAdditionalItems, additionalItemsReadyTimeout, additionalItems = [] }: RestoreItemResult,
  { run, item, signal }: RestoreActionsOptions,
): Promise<void> {
  const { clock, timeouts, sink } = run.ports
  if (waitForAdditionalItems !== true || action.areAdditionalItemsReady === undefined || !sink.writes) return
  const giveUp = clock.now() + (additionalItemsReadyTimeout || timeouts.resource)
  const input = { additionalItems, restore: run.restore, signal }
  const id = resourceIdOf(itemId(item))
  const fail = (message: string, hint: string, cause?: unknown): void => {
    const error = new RestoreItemError('ITEM_NOT_READY', itemId(item), { message, hint, cause })
    run.report.error({ ...placeOf(item), error, message: 'What an item needs is not ready' })
  }
  try {
    while (!(await action.areAdditionalItemsReady(input))) {
      if (clock.now() >= giveUp) {
        return fail(`additional items for ${id} are not ready to use`, 'see their status and events')
      }
      await clock.sleep(pollMs, signal)
    }
  } catch (cause) {
    throwIfOver(cause, signal)
    fail(`error verifying additional items are ready to use: ${messageOf(cause)}`, '', cause)
  }
}

/** Only an operation that is noted can be stopped when this server dies. */
async function noteOperation(
  action: string,
  { operationId }: RestoreItemResult,
  { run, item }: RestoreActionsOptions,
): Promise<void> {
  if (!operationId) return
  const [resource = '', ...group] = item.groupResource.split('.')
  const id = { group: group.join('.'), resource, namespace: item.namespace, name: item.source.name }
  const now = run.ports.clock.now()
  await run.operations.add(newRestoreOperation({ restore: run.restore, action, item: id, operationId, now }))
}
