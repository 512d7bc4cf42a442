import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { DiscoveredResource, DiscoveryFailure, EncodedObject, KubeClient, Logger } from '@lateen/kube'
import { canBackUp } from '../../filters/resource-names.ts'
import type { BackupScope, NamespaceFacts, ScopedType } from '../../filters/scope.ts'
import { type CollectedItems, groupResource } from '../../item/item.ts'
import { scratchError } from '../../scratch/scratch-error.ts'
import { Spool } from '../../scratch/spool.ts'
import { SpoolReader } from '../../scratch/spool-reader.ts'
import { type CollectedType, chooseTypes } from './choose-types.ts'
import { collectedItems, ItemTable } from './item-table.ts'
import { listType } from './list-type.ts'
import { type ListPlan, planLists } from './plan-lists.ts'

/** What collecting needs. */
export interface CollectOptions {
  /** Its discovery is used as it stands: refresh it before the scope is resolved. */
  client: KubeClient
  scope: BackupScope
  /** A folder that exists and that only this backup uses. */
  scratch: string
  /** The backup's log: what could not be listed is an error in it, and in the end of the backup. */
  log: Logger
  /** Objects per page of a list, 0 for lists in one piece; by default the client chooses. */
  pageSize?: number | undefined
  /** Enabled features; `EnableAPIGroupVersions` collects every version that the server has. */
  features?: ReadonlySet<string> | undefined
}

/** Lists that run at the same time, each with a scratch file of its own. */
const lanes = 6

const namespaces = groupResource({ group: '', plural: 'namespaces' })

/**
 * Finds every object that a backup takes and keeps its JSON in scratch. In memory remains what names it. Objects stand in
 * Velero's order: by type, ordered resources first, then as the server lists them.
 *
 * A type, a namespace or an API group that cannot be read is an error in the log, and the rest is collected. Throws
 * ScratchError when scratch fails, a KubeError when discovery does, and the signal's reason. Disposing removes the
 * files.
 */
export async function collectItems(options: CollectOptions, signal: AbortSignal): Promise<CollectedItems> {
  const types = await typesToCollect(options, signal)
  const folder = path.join(options.scratch, 'items')
  const table = new ItemTable(types)
  await mkdir(folder, { recursive: true }).catch(error => {
    throw scratchError(error, folder)
  })
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  const spools: Spool[] = []
  for (let lane = 0; lane < lanes; lane++) {
    spools.push(undo.use(await Spool.create(path.join(folder, `${lane}.json`))))
  }
  const found = await listTypes({ ...options, types, table, spools }, signal)
  const rows = arrangedRows(found, { ...options, types, table })
  table.arrange(rows)
  await Promise.all(spools.map(spool => spool.flush()))
  options.log.info({ items: table.count, types: types.length }, 'Collected the objects of the backup')
  const reader = new SpoolReader(spools)
  const files = undo.move()
  return collectedItems({ table, read: place => reader.read(place), dispose: () => files.disposeAsync() })
}

async function typesToCollect(options: CollectOptions, signal: AbortSignal): Promise<CollectedType[]> {
  const { client, scope, log, features } = options
  const resources = await client.discovery.all({ signal })
  const failures = await client.discovery.failures({ signal })
  for (const failure of failures) reportFailure(failure, { scope, log, resources })
  const failed = new Set(failures.map(({ group, version }) => `${group}/${version}`))
  return chooseTypes({
    resources: resources.filter(({ group, version }) => !failed.has(`${group}/${version}`)),
    scope: scope.resources,
    allVersions: features?.has('EnableAPIGroupVersions') ?? false,
  })
}

interface FailureContext {
  scope: BackupScope
  log: Logger
  resources: readonly DiscoveredResource[]
}

/** What a group holds that cannot be read may be unknown; then it counts unless the backup takes named types only. */
function reportFailure(failure: DiscoveryFailure, { scope, log, resources }: FailureContext): void {
  const { group, version, reason } = failure
  const known = resources.filter(resource => resource.group === group && resource.version === version)
  const types =
    known.length > 0
      ? known.filter(canBackUp)
      : [true, false].map(namespaced => ({ group, plural: 'unknown', namespaced }))
  const fields = { apiGroup: `${group}/${version}`, error: `${group}/${version}: ${reason}` }
  const concerned = types.some(type =>
    scope.resources.collects({ groupResource: groupResource(type), namespaced: type.namespaced }),
  )
  if (concerned) log.error(fields, 'An API group could not be read: its objects are not in the backup')
  else log.warn(fields, 'An API group could not be read; the backup does not ask for it')
}

interface ListingContext extends CollectOptions {
  types: readonly CollectedType[]
  table: ItemTable
  spools: readonly Spool[]
}

/** What the lists brought. */
interface Found {
  /** Rows of the table, for each type. */
  rowsByType: readonly number[][]
  /** Namespace objects that are taken for their own sake. */
  takenNamespaces: ReadonlySet<string>
}

/** Lists all types, several at a time. The first failure that concerns all of them ends the others. */
async function listTypes(context: ListingContext, outer: AbortSignal): Promise<Found> {
  const { types, spools, scope } = context
  const rowsByType: number[][] = types.map(() => [])
  const takenNamespaces = new Set<string>()
  const stop = new AbortController()
  const signal = AbortSignal.any([outer, stop.signal])
  let next = 0
  async function runLane(spool: Spool, file: number): Promise<void> {
    for (let typeIndex = next++; typeIndex < types.length; typeIndex = next++) {
      const type = types[typeIndex] as CollectedType
      const listing = { ...context, type, typeIndex, spool, file, signal }
      rowsByType[typeIndex] =
        type.groupResource === namespaces
          ? await listType({ ...listing, plan: everyNamespace, onKept: takeIfWanted })
          : await listType({ ...listing, plan: planLists(scopedType(type), scope) })
    }
  }
  function takeIfWanted(object: EncodedObject): void {
    if (scope.takesNamespace(namespaceFacts(object))) takenNamespaces.add(object.name)
  }
  const running = spools.map((spool, file) =>
    runLane(spool, file).catch(error => {
      stop.abort(error)
      throw error
    }),
  )
  await Promise.allSettled(running)
  await Promise.all(running)
  return { rowsByType, takenNamespaces }
}

/** Which namespaces are taken is known only when all other objects are. */
const everyNamespace: ListPlan = { over: 'cluster', selectors: [], names: [], keeps: () => true }

function scopedType({ type, groupResource: name }: CollectedType): ScopedType {
  return { groupResource: name, namespaced: type.namespaced }
}

function namespaceFacts({ name, labels, json }: EncodedObject): NamespaceFacts {
  const { status } = JSON.parse(Buffer.from(json).toString()) as { status?: { phase?: string } }
  return { name, labels, phase: status?.phase }
}

type ArrangeContext = Pick<ListingContext, 'types' | 'table' | 'scope' | 'log'>

/** The rows that are backed up, in order. */
function arrangedRows({ rowsByType, takenNamespaces }: Found, context: ArrangeContext): number[] {
  const { types, table, scope, log } = context
  const inhabited = new Set<string>()
  for (const rows of rowsByType) for (const row of rows) inhabited.add(table.namespaceOf(row))
  const collectsNamespaces = types.some(type => type.groupResource === namespaces)
  for (const namespace of collectsNamespaces ? scope.namespaces.missing : []) {
    log.error({ namespace }, 'A namespace that the backup includes does not exist')
  }
  return types.flatMap(({ groupResource: name }, index) => {
    const rows = rowsByType[index] ?? []
    if (name === namespaces) {
      return rows.filter(row => takenNamespaces.has(table.nameOf(row)) || inhabited.has(table.nameOf(row)))
    }
    const order = scope.ordered.get(name)
    return order === undefined ? rows : orderRows(rows, order, context)
  })
}

/** Puts the named objects first, in the given order. A name that stands for nothing is a warning. */
function orderRows(rows: number[], order: readonly string[], { table, log }: ArrangeContext): number[] {
  const rowOf = new Map(rows.map(row => [table.pathOf(row), row]))
  const first: number[] = []
  for (const name of order) {
    const row = rowOf.get(name)
    rowOf.delete(name)
    if (row === undefined) log.warn({ name }, 'An object that ordered resources name was not found')
    else first.push(row)
  }
  for (const row of first) table.markOrdered(row)
  const ordered = new Set(first)
  return [...first, ...rows.filter(row => !ordered.has(row))]
}
