import type { CollectedItem, CollectedItems } from '../../item/item.ts'
import { ItemError, itemFields, messageOf } from '../../item/item-error.ts'
import { itemPaths } from '../../item/item-paths.ts'
import { type Exclusion, exclusionMessages } from './inclusion.ts'
import type { ItemRun } from './item-run.ts'

/** Whether nothing but copying is to be done for the item: no action is for it, and it is not about volumes. */
export function isPlain({ groupResource, namespace }: CollectedItem, run: ItemRun): boolean {
  return (
    !volumeResources.has(groupResource) &&
    run.itemActions.forPlace(groupResource, namespace).length === 0 &&
    run.blockActions.forPlace(groupResource, namespace).length === 0
  )
}

const volumeResources: ReadonlySet<string> = new Set(['pods', 'persistentvolumes', 'persistentvolumeclaims'])

/**
 * Copies collected items to the archive as the API server sent them, without a look inside. Items that were begun before are passed
 * over. What cannot be read is logged. Throws what the archive throws, or the signal's reason.
 */
export async function storePlainItems(
  items: readonly CollectedItem[],
  { run, collected, signal }: { run: ItemRun; collected: CollectedItems; signal: AbortSignal },
): Promise<void> {
  for (const item of items) {
    signal.throwIfAborted()
    const recorded = { ref: item, collected: true }
    const exclusion = exclusionOf(item, run)
    if (exclusion !== undefined) {
      run.log.info(itemFields(item), exclusionMessages[exclusion])
      run.record.leaveOut(recorded)
    } else if (run.record.begin(recorded)) {
      await copy(item, run, collected)
    }
  }
}

function exclusionOf(item: CollectedItem, { inclusion }: ItemRun): Exclusion | undefined {
  if (item.excludedByLabel) return 'excludeLabel'
  return inclusion.exclusionOfPlace(item) ?? (item.terminating ? 'terminating' : undefined)
}

async function copy(item: CollectedItem, run: ItemRun, collected: CollectedItems): Promise<void> {
  const { groupResource, namespace, name, type, preferred } = item
  const bytes = await read(item, run, collected)
  if (bytes === undefined) return
  const paths = itemPaths({ groupResource, namespace, name, version: type.version, preferred })
  for (const path of paths) await run.archive.add(path, bytes)
  run.record.store(item)
}

async function read(
  item: CollectedItem,
  run: ItemRun,
  collected: CollectedItems,
): Promise<Uint8Array | undefined> {
  try {
    return await collected.load(item)
  } catch (cause) {
    const error = new ItemError('ITEM_UNREADABLE', item, {
      reason: `it cannot be read from scratch: ${messageOf(cause)}`,
      hint: 'check the disk of the server, and back up again',
      cause,
    })
    run.record.fail(item)
    run.log.error({ ...itemFields(item), error }, 'An item cannot be backed up')
    return undefined
  }
}
