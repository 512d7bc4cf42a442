import type { BackupScope } from '../../filters/scope.ts'
import { type GroupResource, groupResource } from '../../item/item.ts'
import { ItemError, itemFields } from '../../item/item-error.ts'
import type { BlockLane } from '../../workers/block-workers.ts'
import { backUpItem } from '../items/back-up-item.ts'
import type { ItemRun } from '../items/item-run.ts'

const group = 'apiextensions.k8s.io'
const resource = 'customresourcedefinitions'
const definitions = groupResource({ group, plural: resource })

/**
 * Stores the definitions of the custom resources that are in the backup, unless all definitions are collected anyway or the user
 * left them out. Of those that are collected by labels, the ones without the label are missing. Throws what the lane throws.
 */
export async function storeDefinitions({
  run,
  scope,
  lane,
}: {
  run: ItemRun
  scope: BackupScope
  lane: BlockLane
}): Promise<void> {
  const type = { groupResource: definitions, namespaced: false }
  const collectsAll = scope.resources.collects(type) && scope.labelSelectors.length === 0
  if (scope.resources.excludesByName(type) || collectsAll) return
  for (const stored of [...run.record.storedTypes()].filter(mayBeCustom)) {
    await lane.submit(signal => storeDefinition(stored, run, signal))
  }
  await lane.drain()
}

/** Groups of custom resources are domains: the API server accepts no definition for a group without a dot. */
function mayBeCustom(stored: GroupResource): boolean {
  return stored.split('.').length > 2
}

async function storeDefinition(stored: GroupResource, run: ItemRun, signal: AbortSignal): Promise<void> {
  const id = { group, resource, namespace: '', name: stored }
  try {
    const found = await run.source.read(await run.source.locate(id), signal)
    for (const item of found) await backUpItem(item, { run, block: new Map(), signal })
  } catch (error) {
    if (!(error instanceof ItemError)) throw error
    const fields = itemFields({ groupResource: definitions, namespace: '', name: stored })
    run.log.error({ ...fields, error }, 'The definition of a custom resource cannot be backed up')
  }
}
