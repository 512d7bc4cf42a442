import type { ActionItem } from '@lateen/plugin'
import { itemKey } from '../../item/item.ts'
import { describeItem, ItemError, itemFields } from '../../item/item-error.ts'
import { serializeItem } from '../../item/item-json.ts'
import { itemPaths } from '../../item/item-paths.ts'
import { exclusionMessages } from './inclusion.ts'
import type { ItemRun } from './item-run.ts'
import type { ItemsByKey, LoadedItem } from './loaded-item.ts'
import { type ActedItem, type AdditionalItem, runItemActions } from './run-item-actions.ts'

export interface BackUpItemOptions {
  run: ItemRun
  /** Items that are stored together with this one, whose bodies need not be read again. */
  block: ItemsByKey
  /** Filters do not count: an action insists on the item. */
  mustInclude?: boolean
  signal: AbortSignal
}

/**
 * Stores an item in the archive, after everything that its actions want stored with it. Does nothing when the item is left out or
 * was begun before, by whomever. Throws ItemError when it cannot be stored, or when something that belongs to it cannot; what the
 * archive throws; the signal's reason.
 */
export async function backUpItem(item: LoadedItem, options: BackUpItemOptions): Promise<void> {
  const { run, signal } = options
  if (!isIncluded(item, options) || !run.record.begin(item)) return
  signal.throwIfAborted()
  try {
    const acted = await workOn(item, options)
    if (acted === undefined) return run.record.leaveOut(item)
    await writeItem(item, acted, run)
    run.record.store(item.ref)
  } catch (error) {
    if (error instanceof ItemError) run.record.fail(item.ref)
    throw error
  }
}

/** Whether the item passes the checks; if not, it is noted why. */
export function isIncluded(
  item: LoadedItem,
  { run, mustInclude = false }: Pick<BackUpItemOptions, 'run' | 'mustInclude'>,
): boolean {
  const { ref, object } = item
  const exclusion = run.inclusion.exclusionOf({ ref, metadata: object.metadata, mustInclude })
  if (exclusion === undefined) return true
  run.log.info(itemFields(ref), exclusionMessages[exclusion])
  if (exclusion === 'excludeLabel') {
    const reason = 'the item has the label that keeps it out of backups'
    run.volumes.leaveOut(ref.groupResource, object, { approach: 'any', reason })
  }
  if (!run.record.hasBegun(ref)) run.record.leaveOut(item)
  return false
}

/** Actions and volumes; undefined when an action leaves the item out. */
async function workOn(item: LoadedItem, options: BackUpItemOptions): Promise<ActedItem | undefined> {
  const { run, signal } = options
  const { groupResource } = item.ref
  run.log.debug(itemFields(item.ref), 'Backing up an item')
  if (groupResource === 'pods') return workOnPod(item, options)
  const acted = await runActions(item, options)
  if (acted !== undefined && groupResource === 'persistentvolumes') {
    await run.volumes.backUpVolume(acted.object, signal)
  }
  return acted
}

async function workOnPod(item: LoadedItem, options: BackUpItemOptions): Promise<ActedItem | undefined> {
  const { run, signal } = options
  const planned = await run.volumes.planPod(item.object, signal)
  try {
    const acted = await runActions(item, options)
    if (acted !== undefined) await run.volumes.backUpPod(item.object, planned, signal)
    return acted
  } finally {
    run.volumes.releasePod(item.object, planned)
  }
}

function runActions(item: LoadedItem, options: BackUpItemOptions): Promise<ActedItem | undefined> {
  const { run, signal } = options
  return runItemActions(item, {
    run,
    signal,
    storeAdditional: additional => storeAdditional(item, additional, options),
  })
}

async function storeAdditional(
  parent: LoadedItem,
  { id, mustInclude }: AdditionalItem,
  options: BackUpItemOptions,
): Promise<void> {
  const { run, block, signal } = options
  try {
    const ref = await run.source.locate(id)
    const inBlock = block.get(itemKey(ref))
    const items = inBlock ?? (await run.source.read(ref, signal))
    if (items.length === 0) {
      run.log.warn(itemFields(ref), `An item that belongs to ${describeItem(parent.ref)} does not exist`)
    }
    for (const item of items) await backUpItem(item, { ...options, mustInclude })
  } catch (cause) {
    if (!(cause instanceof ItemError)) throw cause
    const { message, hint, code } = cause
    const reason = `an item that belongs to it cannot be stored: ${message}`
    throw new ItemError(code, parent.ref, { reason, hint, cause })
  }
}

async function writeItem(item: LoadedItem, { object, unchanged }: ActedItem, run: ItemRun): Promise<void> {
  const bytes = unchanged ? item.bytes : serializeItem(object)
  const { name, namespace } = placeAfterActions(item, object)
  const { type, groupResource } = item.ref
  const at = { groupResource, namespace, name, version: type.version, preferred: item.preferred }
  for (const path of itemPaths(at)) await run.archive.add(path, bytes)
}

/** An action may have renamed or moved the object. */
function placeAfterActions(
  { ref }: LoadedItem,
  { metadata }: ActionItem,
): { name: string; namespace: string } {
  return { name: metadata.name ?? ref.name, namespace: metadata.namespace ?? '' }
}
