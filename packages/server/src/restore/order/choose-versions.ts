import type { DiscoveredResource } from '@lateen/kube'
import { type GroupResource, groupResource } from '../../item/item.ts'
import type { ArchivedType } from '../archive/backup-archive.ts'
import { byKubePriority } from './kube-version.ts'
import type { VersionPriorities } from './version-priorities.ts'

/** What `chooseVersions` goes by. */
export interface VersionFacts {
  types: readonly ArchivedType[]
  /** Every resource that the cluster serves, at all versions, those of a group in the server's order of preference. */
  discovery: readonly DiscoveredResource[]
  /** What the user prefers. */
  priorities?: VersionPriorities | undefined
}

/** Folders of versions came with this version of the layout; Velero compares texts. */
const firstFormat = '1.1.0'

/** Whether the layout of a backup has versions to choose from. */
export function hasVersions(formatVersion: string | undefined): boolean {
  return (formatVersion ?? '') >= firstFormat
}

/**
 * In which of the stored versions each type is restored: the first that the user names and both sides have, else the
 * one that the cluster prefers, else the one that the backup's cluster preferred, else the best that both have. Types
 * for which there is no such version are left out: they are restored as the backup's cluster preferred.
 */
export function chooseVersions({
  types,
  discovery,
  priorities,
}: VersionFacts): ReadonlyMap<GroupResource, string> {
  const served = Map.groupBy(discovery, resource => groupResource(resource))
  const chosen = new Map<GroupResource, string>()
  for (const type of types) {
    const version = choose({
      stored: type,
      served: (served.get(type.groupResource) ?? []).map(resource => resource.version),
      wanted: priorities?.get(type.groupResource) ?? [],
    })
    if (version !== undefined) chosen.set(type.groupResource, version)
  }
  return chosen
}

interface Choice {
  stored: ArchivedType
  /** The one that the cluster prefers comes first. */
  served: readonly string[]
  wanted: readonly string[]
}

function choose({ stored, served, wanted }: Choice): string | undefined {
  const versions = stored.versions.map(({ version }) => version)
  const common = versions.filter(version => served.includes(version)).sort(byKubePriority)
  const [preferredHere] = served
  const preferredThere = stored.versions.find(({ preferred }) => preferred)?.version
  const favourites = [...wanted, preferredHere, preferredThere, ...common]
  return favourites.find(version => version !== undefined && common.includes(version))
}
