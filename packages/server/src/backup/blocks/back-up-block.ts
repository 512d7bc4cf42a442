import { ItemError, itemFields } from '../../item/item-error.ts'
import type { BlockHooks } from '../hooks/block-hooks.ts'
import { backUpItem } from '../items/back-up-item.ts'
import type { ItemRun } from '../items/item-run.ts'
import type { LoadedItem } from '../items/loaded-item.ts'
import type { ItemBlock } from './build-blocks.ts'

export interface BackUpBlockOptions {
  run: ItemRun
  hooks: BlockHooks
  signal: AbortSignal
}

/**
 * Stores a block: pre hooks of all its pods that are not stored yet, its items with the volumes of the pods, post hooks of the pods
 * whose pre hooks ran. Only where there are such is the end of volumes waited for, and that snapshots are cut. Post hooks run whatever happens in between, also when the backup is cancelled: a pod that was frozen is
 * thawed. Items that fail are logged. Throws what the archive throws, or the signal's reason.
 */
export async function backUpBlock(block: ItemBlock, options: BackUpBlockOptions): Promise<void> {
  const { run, signal } = options
  const hooked: LoadedItem[] = []
  try {
    for (const pod of podsToHook(block, run)) await runPreHooks(pod, hooked, options)
    for (const item of block.items) await storeItem(item, block, options)
    for (const pod of hooked) await waitForVolumes(pod, options)
    if (hooked.length > 0) await waitForSnapshots(block, options)
    signal.throwIfAborted()
  } finally {
    for (const pod of hooked) await runPostHooks(pod, options)
  }
}

function podsToHook({ items }: ItemBlock, { record }: ItemRun): LoadedItem[] {
  return items.filter(({ ref }) => ref.groupResource === 'pods' && !record.hasBegun(ref))
}

async function runPreHooks(
  pod: LoadedItem,
  hooked: LoadedItem[],
  options: BackUpBlockOptions,
): Promise<void> {
  const { run, hooks, signal } = options
  const hasPost = hooks.has(pod.object, 'post')
  if (!hooks.has(pod.object, 'pre')) {
    if (hasPost) hooked.push(pod)
    return
  }
  // Noted before they run: when the backup is cancelled in the middle of one, it may have done something already.
  if (hasPost) hooked.push(pod)
  const { fatal, acted } = await hooks.run(pod.object, 'pre', signal)
  if (fatal === undefined) return
  if (hasPost && !acted) hooked.pop()
  if (run.record.begin(pod)) run.record.fail(pod.ref)
  run.log.error(
    { ...itemFields(pod.ref), error: fatal },
    'The pod is left out of the backup: its pre hook failed',
  )
}

async function storeItem(item: LoadedItem, block: ItemBlock, options: BackUpBlockOptions): Promise<void> {
  const { run, signal } = options
  try {
    await backUpItem(item, { run, block: block.byKey, signal })
  } catch (error) {
    if (!(error instanceof ItemError)) throw error
    run.log.error({ ...itemFields(item.ref), error }, 'An item cannot be backed up')
  }
}

async function waitForVolumes({ ref }: LoadedItem, { run, signal }: BackUpBlockOptions): Promise<void> {
  try {
    await run.volumes.podEnded({ namespace: ref.namespace, name: ref.name }, signal)
  } catch (error) {
    signal.throwIfAborted()
    const message =
      'It is not known whether the volumes of the pod are backed up; its post hooks run all the same'
    run.log.error({ ...itemFields(ref), error }, message)
  }
}

/** What a pod writes when it goes on must not be in the snapshots of its volumes. Each has its own time limit. */
async function waitForSnapshots({ items }: ItemBlock, { run, signal }: BackUpBlockOptions): Promise<void> {
  const claims = items.filter(({ ref }) => ref.groupResource === 'persistentvolumeclaims')
  const waits = claims.map(async ({ ref }) => {
    try {
      await run.volumes.claimCut({ namespace: ref.namespace, name: ref.name }, signal)
    } catch (error) {
      signal.throwIfAborted()
      const message = 'The snapshot of a claim is not cut yet; the post hooks of the pods run all the same'
      run.log.warn({ ...itemFields(ref), error }, message)
    }
  })
  await Promise.allSettled(waits)
  signal.throwIfAborted()
}

/** Without the backup's signal: each hook has its own time limit. */
async function runPostHooks({ ref, object }: LoadedItem, { run, hooks }: BackUpBlockOptions): Promise<void> {
  const { fatal } = await hooks.run(object, 'post')
  if (fatal !== undefined)
    run.log.error({ ...itemFields(ref), error: fatal }, 'A post hook of the pod failed')
}
