import type { GroupResource } from '../../item/item.ts'
import type { BlockLane } from '../../workers/block-workers.ts'
import type { ArchivedItem } from '../archive/backup-archive.ts'
import { readObject } from '../archive/read-object.ts'
import { ensureNamespace } from './ensure-namespace.ts'
import { isUnreadable, restoreItem } from './restore-item.ts'
import type { RestoreRun } from './restore-run.ts'

/** How many items are still to come, for progress. */
export class RestoreProgressCount {
  readonly #run: RestoreRun
  #left = 0

  constructor(run: RestoreRun) {
    this.#run = run
    const { archive } = run.ports
    for (const { groupResource } of archive.types) {
      if (groupResource === 'namespaces') continue
      for (const _ of takenItems(run, archive.items(groupResource))) this.#left += 1
    }
  }

  /** One of them has come up. */
  comesUp(): void {
    this.#left -= 1
  }

  tell(): void {
    const { record, ports } = this.#run
    ports.onProgress?.({ itemsRestored: record.done, totalItems: record.count + this.#left })
  }
}

/** Where the items of a type go to be worked on. */
export interface TypeWork {
  run: RestoreRun
  lane: BlockLane
  versions: ReadonlyMap<GroupResource, string>
  progress: RestoreProgressCount
}

/** Queues the items of a type. Throws as the lane does. */
export async function restoreType(type: GroupResource, work: TypeWork): Promise<void> {
  const { run, lane, versions } = work
  const { archive } = run.ports
  for (const item of takenItems(run, archive.items(type, versions.get(type)))) {
    if (type === 'namespaces') await lane.submit(signal => restoreNamespace(run, item, signal))
    else await lane.submit(signal => restoreArchived(item, work, signal))
  }
}

/** The items in places that are restored at all. */
function* takenItems({ scope }: RestoreRun, items: Iterable<ArchivedItem>): Iterable<ArchivedItem> {
  let place: { namespace: string; taken: boolean } | undefined
  for (const item of items) {
    if (place?.namespace !== item.namespace) {
      place = { namespace: item.namespace, taken: scope.excludesPlace(item) === undefined }
    }
    if (place.taken) yield item
  }
}

/** A namespace is only made sure of: it is neither changed nor marked. */
async function restoreNamespace(run: RestoreRun, item: ArchivedItem, signal: AbortSignal): Promise<void> {
  const { name } = item
  if (run.scope.dependsOnObject(item)) {
    const object = await read(run, item)
    if (object === undefined || run.scope.excludesObject(item, factsOf(object)) !== undefined) return
  }
  await ensureNamespace(run, { source: name, target: run.scope.targetNamespace(name) }, signal)
}

async function restoreArchived(
  archived: ArchivedItem,
  { run, progress }: TypeWork,
  signal: AbortSignal,
): Promise<void> {
  const object = await read(run, archived)
  progress.comesUp()
  if (object === undefined || run.scope.excludesObject(archived, factsOf(object)) !== undefined) return
  const { groupResource, namespace, name } = archived
  const item = { groupResource, source: { namespace, name }, namespace: run.scope.targetNamespace(namespace) }
  await restoreItem(run, { item, object }, signal)
  progress.tell()
}

function factsOf({ kind, metadata }: Awaited<ReturnType<typeof readObject>>) {
  return { kind, name: metadata.name ?? '', labels: metadata.labels }
}

/** An object that cannot be read is an error, and undefined. */
async function read(
  run: RestoreRun,
  item: ArchivedItem,
): Promise<Awaited<ReturnType<typeof readObject>> | undefined> {
  try {
    return await readObject(run.ports.archive, item)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    const place = { namespace: run.scope.targetNamespace(item.namespace) }
    const fields = { resource: item.groupResource, name: item.name }
    run.report.error({ place, error, message: 'An item cannot be read', fields })
    return undefined
  }
}
