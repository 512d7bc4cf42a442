import type { CallOptions } from '../client.ts'
import type { DiscoveredApis, DiscoveredResource, DiscoveryFailure } from '../discovery.ts'
import type { Api } from '../http/api.ts'

/** Parts of `APIGroupDiscoveryList` (apidiscovery.k8s.io/v2) that are used here. */
export interface GroupDiscoveryList {
  kind?: string
  items?: GroupDiscovery[]
}

interface GroupDiscovery {
  metadata?: { name?: string }
  versions?: {
    version: string
    freshness?: 'Current' | 'Stale'
    resources?: ResourceDiscovery[]
  }[]
}

interface ResourceDiscovery {
  resource: string
  responseKind?: { kind?: string }
  scope: 'Namespaced' | 'Cluster'
  singularResource?: string
  verbs?: string[]
  shortNames?: string[]
  categories?: string[]
  subresources?: { subresource: string }[]
}

const accept = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',')

/** Both roots as one document each; undefined where the server answers in the classic form. */
export async function fetchAggregated(
  api: Api,
  { signal }: CallOptions,
): Promise<DiscoveredApis | undefined> {
  const fetchRoot = (path: string) =>
    api.json<GroupDiscoveryList>({
      method: 'GET',
      path,
      accept,
      subject: { verb: 'discover', resource: path },
      repeatable: true,
      signal,
    })
  const [core, groups] = await allInOrder([fetchRoot('/api'), fetchRoot('/apis')])
  if (core.kind !== 'APIGroupDiscoveryList' || groups.kind !== 'APIGroupDiscoveryList') return undefined
  return readAggregated([core, groups])
}

/** What all give. Where several fail, the first of the list says why, so that the same fault is always told alike. */
async function allInOrder<T>(asked: readonly [Promise<T>, Promise<T>]): Promise<[T, T]> {
  await Promise.allSettled(asked)
  const [one, two] = asked
  return [await one, await two]
}

/** The resources of aggregated discovery documents, in their order. */
export function readAggregated(lists: readonly GroupDiscoveryList[]): DiscoveredApis {
  const resources: DiscoveredResource[] = []
  const failures: DiscoveryFailure[] = []
  for (const { metadata, versions = [] } of lists.flatMap(list => list.items ?? [])) {
    const group = metadata?.name ?? ''
    for (const { version, freshness, resources: offered = [] } of versions) {
      if (freshness === 'Stale') failures.push({ group, version, reason: 'the API service does not answer' })
      resources.push(...offered.map(resource => readResource(resource, group, version)))
    }
  }
  return { resources: resources.filter(resource => resource.kind !== ''), failures }
}

function readResource(resource: ResourceDiscovery, group: string, version: string): DiscoveredResource {
  return {
    group,
    version,
    kind: resource.responseKind?.kind ?? '',
    plural: resource.resource,
    singular: resource.singularResource ?? '',
    namespaced: resource.scope === 'Namespaced',
    verbs: resource.verbs ?? [],
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    subresources: (resource.subresources ?? []).map(({ subresource }) => subresource),
  }
}
