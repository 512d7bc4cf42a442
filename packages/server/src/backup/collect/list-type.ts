import { labelNames } from '@lateen/api'
import { type EncodedObject, isForbidden, type KubeClient, KubeError, type Logger } from '@lateen/kube'
import type { Spool } from '../../scratch/spool.ts'
import type { CollectedType } from './choose-types.ts'
import type { ItemTable } from './item-table.ts'
import type { ListPlan, NamespaceGroup } from './plan-lists.ts'

/** What listing one type needs. */
export interface TypeListing {
  client: Pick<KubeClient, 'resource'>
  type: CollectedType
  /** Its position among the types. */
  typeIndex: number
  plan: ListPlan
  table: ItemTable
  /** Takes the bodies. */
  spool: Spool
  /** Its position among the spools. */
  file: number
  /** Objects per page; undefined leaves it to the client. */
  pageSize?: number | undefined
  log: Logger
  signal: AbortSignal
  /** Sees every object that is kept. */
  onKept?: (object: EncodedObject) => void
}

/**
 * Up to this many namespaces are listed one by one. More are first looked for in a list of the whole cluster, which is
 * one request for the many types of which there are few objects.
 */
const fewNamespaces = 4

/**
 * Objects of other namespaces that a list of the whole cluster may bring before it is given up: about what the requests
 * cost that it saves.
 */
const strangersAllowed = { atAll: 500, perNamespace: 100 }

/**
 * Lists the objects of one type into the table and the spool, and returns their rows in Velero's order. A list that fails is
 * logged as an error and brings what came before it failed. Throws ScratchError and the signal's reason.
 */
export async function listType(listing: TypeListing): Promise<number[]> {
  const run = new TypeRun(listing)
  const { plan } = listing
  if (plan.over === 'cluster') await run.listCluster(plan)
  else {
    for (const group of plan.groups) await run.listGroup(group)
    run.sortByNamespace()
  }
  return run.rows
}

type ClusterPlan = Extract<ListPlan, { over: 'cluster' }>

/** One list: where, with which selector, and what of it is wanted. */
interface OneList {
  namespace: string | undefined
  selector: string | undefined
  /** `stop` ends the list. */
  wants(object: EncodedObject): boolean | 'stop'
}

class TypeRun {
  readonly #listing: TypeListing
  readonly rows: number[] = []

  constructor(listing: TypeListing) {
    this.#listing = listing
  }

  async listCluster({ selectors, names, keeps }: ClusterPlan): Promise<void> {
    const wants = ({ namespace = '' }: EncodedObject) => keeps(namespace)
    for (const selector of selectorsOrAll(selectors)) {
      try {
        await this.#list({ namespace: undefined, selector, wants })
      } catch (error) {
        if (isForbidden(error) && names.length > 0) return this.#listEach({ selectors, names })
        this.#report(error, '')
      }
    }
  }

  /** Lists the namespaces of a group one by one or through the whole cluster, whichever seems to cost less. */
  async listGroup(group: NamespaceGroup): Promise<void> {
    const remaining = group.names.length > fewNamespaces ? await this.#searchCluster(group) : group.names
    await this.#listEach({ ...group, names: remaining })
  }

  sortByNamespace(): void {
    const { table } = this.#listing
    this.rows.sort((a, b) => compare(table.namespaceOf(a), table.namespaceOf(b)))
  }

  /** Takes the group's objects out of a list of the whole cluster; returns the namespaces that remain to be listed. */
  async #searchCluster({ selectors, names }: NamespaceGroup): Promise<readonly string[]> {
    const begun = this.rows.length
    const search = new ClusterSearch(names)
    try {
      for (const selector of selectorsOrAll(selectors)) {
        await this.#list({ namespace: undefined, selector, wants: object => search.wants(object) })
        if (search.givenUp) break
      }
    } catch (error) {
      if (isForbidden(error)) return names
      this.#report(error, '')
      return []
    }
    if (!search.givenUp) return []
    const behind = selectors.length <= 1 ? search.namesBehind() : undefined
    if (behind === undefined) this.rows.length = begun
    return behind ?? names
  }

  async #listEach({ selectors, names }: NamespaceGroup): Promise<void> {
    for (const namespace of names) {
      for (const selector of selectorsOrAll(selectors)) {
        try {
          await this.#list({ namespace, selector, wants: () => true })
        } catch (error) {
          this.#report(error, namespace)
        }
      }
    }
  }

  async #list({ namespace, selector, wants }: OneList): Promise<void> {
    const { client, type, pageSize, spool, signal } = this.#listing
    const resource = client.resource(type.type, namespace)
    for await (const object of resource.listEncoded({ labelSelector: selector, limit: pageSize, signal })) {
      const wanted = wants(object)
      if (wanted === 'stop') return
      if (!wanted) continue
      this.#keep(object)
      const full = spool.ready()
      if (full !== undefined) await full
    }
  }

  #keep(object: EncodedObject): void {
    const { table, spool, file, typeIndex, onKept } = this.#listing
    const offset = spool.append(object.json)
    const row = table.add({
      type: typeIndex,
      namespace: object.namespace ?? '',
      name: object.name,
      file,
      offset,
      length: object.json.length,
      excludedByLabel: object.labels[labelNames.excludeFromBackup] === 'true',
      terminating: object.deletionTimestamp !== undefined,
    })
    this.rows.push(row)
    onKept?.(object)
  }

  #report(error: unknown, namespace: string): void {
    if (!(error instanceof KubeError)) throw error
    const { log, type } = this.#listing
    log.error({ resource: type.groupResource, namespace, error }, 'Objects of this type could not be listed')
  }
}

/** Looks for the objects of some namespaces among those of all, until too many others came. */
class ClusterSearch {
  givenUp: boolean
  readonly #names: readonly string[]
  readonly #wanted: ReadonlySet<string>
  #strangersLeft: number
  #last = ''
  #sorted: boolean

  constructor(names: readonly string[]) {
    this.givenUp = false
    this.#sorted = true
    this.#names = names
    this.#wanted = new Set(names)
    this.#strangersLeft = strangersAllowed.atAll + strangersAllowed.perNamespace * names.length
  }

  wants({ namespace = '' }: EncodedObject): boolean | 'stop' {
    const key = storageKey(namespace)
    this.#sorted &&= key >= this.#last
    this.#last = key
    if (this.#wanted.has(namespace)) return true
    this.givenUp = this.#strangersLeft-- <= 0
    return this.givenUp ? 'stop' : false
  }

  /** The namespaces that come behind the one where the search ended; undefined if the server has another order. */
  namesBehind(): readonly string[] | undefined {
    return this.#sorted ? this.#names.filter(name => storageKey(name) > this.#last) : undefined
  }
}

/** Lists are sorted by keys in which the namespace ends with a slash, so `a-b` comes before `a`. */
function storageKey(namespace: string): string {
  return `${namespace}/`
}

function selectorsOrAll(selectors: readonly string[]): readonly (string | undefined)[] {
  return selectors.length === 0 ? [undefined] : selectors
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
