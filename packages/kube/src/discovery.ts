import type { CallOptions } from './client.ts'
import { fetchAggregated } from './discovery/aggregated.ts'
import { fetchClassic } from './discovery/classic.ts'
import { KubeError } from './errors.ts'
import type { Api } from './http/api.ts'
import type { ResourceType, Unstructured } from './object.ts'

/** A kind the server offers, in one version. Fits wherever a `ResourceType` is asked for. */
export interface DiscoveredResource extends ResourceType<Unstructured> {
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** `get`, `list`, `create`, … */
  readonly verbs: readonly string[]
  /** `status`, `scale`, `exec`, … */
  readonly subresources: readonly string[]
}

/** A group version that could not be read, usually because the API service behind it is down. */
export interface DiscoveryFailure {
  readonly group: string
  readonly version: string
  readonly reason: string
}

/** What the server offers: versions of each group in the server's order of preference. */
export interface DiscoveredApis {
  readonly resources: readonly DiscoveredResource[]
  readonly failures: readonly DiscoveryFailure[]
}

/**
 * The kinds of a cluster. Read on first use and kept until `refresh`. A group that cannot be read is in
 * `failures()`; the others are there all the same.
 */
export interface Discovery {
  /** Every resource of every group, each at the version the server prefers for it. */
  preferred(options?: CallOptions): Promise<readonly DiscoveredResource[]>
  /** Every resource at every version served. */
  all(options?: CallOptions): Promise<readonly DiscoveredResource[]>
  failures(options?: CallOptions): Promise<readonly DiscoveryFailure[]>
  /** By kind, at the preferred version unless one is named. Groups are tried in the server's order, core first. */
  findKind(query: KindQuery, options?: CallOptions): Promise<DiscoveredResource | undefined>
  /**
   * By the names kubectl takes: plural, singular or short name, alone, as `name.group` or `name.version.group`.
   * Case does not matter.
   */
  find(name: string, options?: CallOptions): Promise<DiscoveredResource | undefined>
  /** As `find`, but throws a KubeError `UnknownKind` that says which groups could not be read. */
  require(name: string, options?: CallOptions): Promise<DiscoveredResource>
  /** Reads everything anew. */
  refresh(options?: CallOptions): Promise<void>
}

export interface KindQuery {
  kind: string
  group?: string | undefined
  version?: string | undefined
}

/** Discovery over an API: one aggregated document per root where the server has it, else one per group version. */
export function createDiscovery(api: Api): Discovery {
  let known: Reading | undefined
  let begun = 0

  function begin({ signal }: CallOptions): Reading {
    begun += 1
    return { number: begun, signal, apis: fetchApis(api, { signal }) }
  }

  async function read(options: CallOptions = {}): Promise<DiscoveredApis> {
    for (;;) {
      options.signal?.throwIfAborted()
      known ??= begin(options)
      const mine = known
      try {
        return await mine.apis
      } catch (error) {
        if (known === mine) known = undefined
        // That whoever asked first wants it no more is no answer to others.
        if (mine.signal === options.signal || mine.signal?.aborted !== true) throw error
      }
    }
  }

  /** What was known before counts until there is something newer. */
  async function refresh(options: CallOptions = {}): Promise<void> {
    const reading = begin(options)
    await reading.apis
    if (known === undefined || known.number < reading.number) known = reading
  }

  async function find(name: string, options?: CallOptions): Promise<DiscoveredResource | undefined> {
    return findByName((await read(options)).resources, name)
  }

  return {
    preferred: async options => preferredOf((await read(options)).resources),
    all: async options => (await read(options)).resources,
    failures: async options => (await read(options)).failures,
    findKind: async (query, options) => findByKind((await read(options)).resources, query),
    find,
    async require(name, options) {
      const found = await find(name, options)
      if (found !== undefined) return found
      throw unknownKind(name, api.transport.server, (await read(options)).failures)
    },
    refresh,
  }
}

/** Somebody's question for all that is there, and the answer. */
interface Reading {
  /** Later ones have higher numbers. */
  readonly number: number
  readonly signal: AbortSignal | undefined
  readonly apis: Promise<DiscoveredApis>
}

async function fetchApis(api: Api, options: CallOptions): Promise<DiscoveredApis> {
  return (await fetchAggregated(api, options)) ?? (await fetchClassic(api, options))
}

/** Each group's resources once, at the first version (in the server's order) that has them. */
export function preferredOf(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const byName = new Map<string, DiscoveredResource>()
  for (const resource of resources) {
    const name = `${resource.plural}.${resource.group}`
    if (!byName.has(name)) byName.set(name, resource)
  }
  return [...byName.values()]
}

/** The first resource of that kind; `group` and `version` narrow it down. */
export function findByKind(
  resources: readonly DiscoveredResource[],
  { kind, group, version }: KindQuery,
): DiscoveredResource | undefined {
  return resources.find(
    resource =>
      resource.kind === kind &&
      (group === undefined || resource.group === group) &&
      (version === undefined || resource.version === version),
  )
}

/** The first resource a kubectl-style name means. An exact plural anywhere goes before short names. */
export function findByName(
  resources: readonly DiscoveredResource[],
  name: string,
): DiscoveredResource | undefined {
  const [head = '', ...rest] = name.toLowerCase().split('.')
  const [version, ...afterVersion] = rest
  const qualified = (resource: DiscoveredResource) =>
    rest.length === 0 ||
    resource.group === rest.join('.') ||
    (resource.version === version && resource.group === afterVersion.join('.'))
  const candidates = resources.filter(qualified)
  return (
    candidates.find(resource => resource.plural === head) ??
    candidates.find(resource => resource.singular === head) ??
    candidates.find(resource => resource.shortNames.includes(head)) ??
    candidates.find(resource => resource.kind.toLowerCase() === head)
  )
}

function unknownKind(name: string, server: string, failures: readonly DiscoveryFailure[]): KubeError {
  const unread = failures.map(({ group, version }) => `${group}/${version}`).join(', ')
  return new KubeError('UnknownKind', {
    message: `the server ${server} has no resource "${name}"`,
    hint:
      unread === ''
        ? 'check the spelling (kubectl api-resources), or install the definition of that kind'
        : `these groups could not be read and may hold it: ${unread}`,
  })
}
