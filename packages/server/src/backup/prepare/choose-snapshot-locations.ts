import type { BackupSpec, VolumeSnapshotLocation } from '@lateen/api'

/** Where snapshots go. */
export interface ChosenSnapshotLocations {
  /** One for each provider; absent when there are errors. */
  locations?: readonly VolumeSnapshotLocation[] | undefined
  errors: readonly string[]
}

/**
 * The snapshot locations that a backup names, at most one for each provider, then for each other provider its only one or the
 * server's default. For a backup without snapshots providers it does not name are left alone.
 */
export function chooseSnapshotLocations(
  spec: BackupSpec,
  existing: readonly VolumeSnapshotLocation[],
  serverDefaults: Readonly<Record<string, string>>,
): ChosenSnapshotLocations {
  const byName = new Map(existing.map(location => [location.metadata.name ?? '', location]))
  const named = namedLocations(spec.volumeSnapshotLocations ?? [], byName)
  if (named.errors.length > 0) return { errors: named.errors }
  const chosen = new Map(named.byProvider)
  const errors: string[] = []
  const byProvider = Map.groupBy(existing, location => location.spec.provider)
  for (const [provider, [only, ...others]] of byProvider) {
    if (chosen.has(provider) || only === undefined || spec.snapshotVolumes === false) continue
    if (others.length === 0) {
      chosen.set(provider, only)
      continue
    }
    const name = serverDefaults[provider]
    const location = byName.get(name ?? '')
    if (location) chosen.set(provider, location)
    else errors.push(undecided(provider, name))
  }
  return errors.length > 0 ? { errors } : { locations: [...chosen.values()], errors }
}

function undecided(provider: string, name: string | undefined): string {
  return name
    ? `error getting volume snapshot location named ${name}: ${notFound(name)}`
    : `provider ${provider} has more than one possible volume snapshot location, and none were specified explicitly or as a default`
}

function namedLocations(names: readonly string[], byName: ReadonlyMap<string, VolumeSnapshotLocation>) {
  const byProvider = new Map<string, VolumeSnapshotLocation>()
  const errors: string[] = []
  for (const name of names) {
    const location = byName.get(name)
    if (location === undefined) {
      errors.push(
        `a VolumeSnapshotLocation CRD for the location ${name} with the name specified in the backup spec needs to be created ` +
          `before this snapshot can be executed. Error: ${notFound(name)}`,
      )
      continue
    }
    const { provider } = location.spec
    const earlier = byProvider.get(provider)
    if (earlier && earlier !== location) {
      errors.push(
        `more than one VolumeSnapshotLocation name specified for provider ${provider}: ${name}; ` +
          `unexpected name was ${earlier.metadata.name}`,
      )
    } else byProvider.set(provider, location)
  }
  return { byProvider, errors }
}

function notFound(name: string): string {
  return `VolumeSnapshotLocation.velero.io "${name}" not found`
}
