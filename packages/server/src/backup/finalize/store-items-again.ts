import { type Backup, DataUploadKind } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'
import { csiFeature, isCsiServed } from '../../csi/csi-served.ts'
import { isGoing } from '../../csi/is-going.ts'
import { snapshotGroup } from '../../csi/snapshot-kinds.ts'
import { resourceResolver } from '../../filters/resource-names.ts'
import { groupResource, itemKey } from '../../item/item.ts'
import { ItemError, itemFields } from '../../item/item-error.ts'
import { resolveActions } from '../../item/resolve-actions.ts'
import type { BackupOperation, StoredIdentifier } from '../../operations/backup-operation.ts'
import type { BegunOperations } from '../../operations/operation-journal.ts'
import type { PluginSession } from '../../plugin-host/plugin-session.ts'
import { snapshotOfClaim } from '../../volumes/csi-operations.ts'
import type { BlockWorkers } from '../../workers/block-workers.ts'
import type { ArchiveWriter } from '../archive/archive.ts'
import { backUpItem } from '../items/back-up-item.ts'
import type { Inclusion } from '../items/inclusion.ts'
import { ItemRecord } from '../items/item-record.ts'
import type { ItemRun, ItemVolumes } from '../items/item-run.ts'
import { createItemSource } from '../items/item-source.ts'
import type { LoadedItem } from '../items/loaded-item.ts'

export interface StoreAgainScope {
  backup: Backup
  client: KubeClient
  clock: Clock
  /** The backup's own. */
  log: Logger
  plugins: PluginSession
  workers: BlockWorkers
  features: ReadonlySet<string>
  /** Takes the files. */
  archive: Pick<ArchiveWriter, 'add'>
}

/**
 * The objects that operations of a backup want stored again, each once. Those of failed ones are among them, as with Velero; but not
 * snapshots that failed, which nobody could restore.
 */
export function itemsToStoreAgain(operations: readonly BackupOperation[]): ResourceIdentifier[] {
  const useful = operations.filter(
    each => each.status.phase !== 'Failed' || snapshotOfClaim(each) === undefined,
  )
  const named = useful.flatMap(({ spec }) => spec.postOperationItems ?? [])
  return [...new Map(named.map(id => [JSON.stringify(Object.values(id)), identifierOf(id)])).values()]
}

/** The same as actions know it. */
export function identifierOf({ Group, Resource, Namespace, Name }: StoredIdentifier): ResourceIdentifier {
  return { group: Group, resource: Resource, namespace: Namespace, name: Name }
}

/**
 * Reads objects as they are now and runs their actions, and stores them with everything that these name, whatever the filters say.
 * Neither hooks nor volumes have a part in it. What cannot be stored is an error in the log; what does not exist, or is being deleted, a warning, and an error
 * where no volume can be restored without it.
 *
 * Throws KubeError when the cluster cannot be asked for its types, ActionSelectorError, what the archive throws, and the signal's
 * reason.
 */
export async function storeItemsAgain(
  ids: readonly ResourceIdentifier[],
  scope: StoreAgainScope,
  signal: AbortSignal,
): Promise<ItemRecord> {
  const run = await finalizingRun(scope, signal)
  await using lane = scope.workers.open(signal)
  for (const id of ids) await lane.submit(abort => storeAgain(id, run, abort))
  await lane.drain()
  return run.record
}

async function storeAgain(id: ResourceIdentifier, run: ItemRun, signal: AbortSignal): Promise<void> {
  const named = { ...id, groupResource: groupResource({ group: id.group, plural: id.resource }) }
  try {
    const items = await run.source.read(await run.source.locate(id), signal)
    const why = whyMissed(items)
    if (why !== undefined) {
      const level = holdsData(id) ? 'error' : 'warn'
      run.log[level](itemFields(named), `An item that is to be stored again ${why}`)
    }
    for (const item of items) {
      const block = new Map([[itemKey(item.ref), items]])
      await backUpItem(item, { run, block, mustInclude: true, signal })
    }
  } catch (error) {
    if (!(error instanceof ItemError)) throw error
    run.log.error({ ...itemFields(named), error }, 'An item cannot be stored again')
  }
}

function whyMissed(items: readonly LoadedItem[]): string | undefined {
  if (items.length === 0) return 'does not exist any more'
  return items.some(({ object }) => isGoing(object)) ? 'is being deleted' : undefined
}

/** Whether the data of a volume can be restored only with the object. Operations of others may well end with one that goes. */
function holdsData({ group, resource }: ResourceIdentifier): boolean {
  return group === snapshotGroup || (group === DataUploadKind.group && resource === DataUploadKind.plural)
}

async function finalizingRun(scope: StoreAgainScope, signal: AbortSignal): Promise<ItemRun> {
  const { backup, client, clock, log, plugins, features, archive } = scope
  await client.discovery.refresh({ signal })
  const resolve = resourceResolver(await client.discovery.preferred({ signal }))
  return {
    backup,
    log,
    clock,
    archive,
    source: await createItemSource(client, nothingCollected),
    inclusion: allButTerminating,
    record: new ItemRecord(0),
    itemActions: await resolveActions(plugins.backupItemActions(), resolve),
    blockActions: { forPlace: () => [] },
    volumes: noVolumes,
    operations: noOperations,
    csiEnabled: features.has(csiFeature) && (await isCsiServed(client.discovery, signal)),
  }
}

const nothingCollected = {
  versionsOf: () => [],
  load: () => Promise.reject(new TypeError('nothing was collected')),
}

const allButTerminating: Inclusion = {
  exclusionOf: ({ metadata }) => (metadata.deletionTimestamp === undefined ? undefined : 'terminating'),
  exclusionOfPlace: () => undefined,
}

/** Volumes had their turn when the backup was in progress. */
const noVolumes: ItemVolumes = {
  planPod: async () => [],
  backUpPod: async () => undefined,
  releasePod: () => undefined,
  podEnded: async () => undefined,
  backUpVolume: async () => undefined,
  decideClaim: async () => ({ take: false, reason: 'the backup is being finalized' }),
  leaveOut: () => undefined,
  claimTaken: () => undefined,
  claimCut: async () => undefined,
}

/** There is nobody who would wait for it. */
class TooLateError extends Error {
  override readonly name = 'TooLateError'
  readonly code = 'OPERATION_TOO_LATE'
  readonly hint =
    "repair the action: it must begin nothing for a backup whose phase is 'Finalizing' or 'FinalizingPartiallyFailed'"

  constructor() {
    super('the backup is being finalized, and no operation may begin any more')
  }
}

const noOperations: BegunOperations<BackupOperation> = {
  all: [],
  add: () => Promise.reject(new TooLateError()),
}
