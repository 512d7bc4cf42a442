import type { CallOptions } from '../client.ts'
import type { DiscoveredApis, DiscoveredResource } from '../discovery.ts'
import { KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'

/** Parts of `APIResourceList` that are used here. */
export interface ResourceList {
  resources?: {
    name: string
    singularName?: string
    namespaced: boolean
    kind: string
    verbs?: string[]
    shortNames?: string[]
    categories?: string[]
  }[]
}

interface GroupVersion {
  group: string
  version: string
}

/** One document per group version. One that cannot be read becomes a failure, not a throw. */
export async function fetchClassic(api: Api, { signal }: CallOptions): Promise<DiscoveredApis> {
  const fetchJson = <T>(path: string) =>
    api.json<T>({
      method: 'GET',
      path,
      subject: { verb: 'discover', resource: path },
      repeatable: true,
      signal,
    })
  const core = await fetchJson<{ versions: string[] }>('/api')
  const groups = await fetchJson<GroupList>('/apis')
  const versions = [...core.versions.map(version => ({ group: '', version })), ...groupVersions(groups)]
  const read = versions.map(async (at): Promise<DiscoveredApis> => {
    const path = at.group === '' ? `/api/${at.version}` : `/apis/${at.group}/${at.version}`
    try {
      return { resources: readResourceList(await fetchJson<ResourceList>(path), at), failures: [] }
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      return { resources: [], failures: [{ ...at, reason: error.message }] }
    }
  })
  const parts = await Promise.all(read)
  return {
    resources: parts.flatMap(part => part.resources),
    failures: parts.flatMap(part => part.failures),
  }
}

/** Parts of `APIGroupList` that are used here. */
export interface GroupList {
  groups?: { name: string; versions: { version: string }[]; preferredVersion?: { version: string } }[]
}

/** Every group version, in each group the preferred one first. */
export function groupVersions({ groups = [] }: GroupList): GroupVersion[] {
  return groups.flatMap(({ name, versions, preferredVersion }) => {
    const preferred = preferredVersion?.version
    const ordered = versions.map(({ version }) => version)
    const first = preferred !== undefined && ordered.includes(preferred) ? [preferred] : []
    const rest = ordered.filter(version => version !== first[0])
    return [...first, ...rest].map(version => ({ group: name, version }))
  })
}

/** The resources of one group version; `pods/exec` and the like become subresources of theirs. */
export function readResourceList({ resources = [] }: ResourceList, at: GroupVersion): DiscoveredResource[] {
  const parts = Map.groupBy(
    resources.filter(({ name }) => name.includes('/')),
    ({ name }) => name.slice(0, name.indexOf('/')),
  )
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(resource => ({
      ...at,
      kind: resource.kind,
      plural: resource.name,
      singular: resource.singularName || resource.kind.toLowerCase(),
      namespaced: resource.namespaced,
      verbs: resource.verbs ?? [],
      shortNames: resource.shortNames ?? [],
      categories: resource.categories ?? [],
      subresources: (parts.get(resource.name) ?? []).map(({ name }) => name.slice(name.indexOf('/') + 1)),
    }))
}
