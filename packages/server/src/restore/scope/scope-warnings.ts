import type { RestoreSpec } from '@lateen/api'
import type { NameFilter } from '../../filters/name-filter.ts'
import type { ResolveResource } from '../../filters/resource-names.ts'
import type { ScopeWarning } from '../../filters/scope.ts'
import type { BackupArchive } from '../archive/backup-archive.ts'

/** What `scopeWarnings` looks at. */
export interface WarningFacts {
  spec: RestoreSpec
  resolve: ResolveResource
  archive: Pick<BackupArchive, 'types' | 'namespaces'>
  namespaces: NameFilter
  target: (namespace: string) => string
}

/** What looks wrong about the filters and the mapping of a restore, in view of what is in the archive. */
export function* scopeWarnings(facts: WarningFacts): Generator<ScopeWarning> {
  yield* unknownTypes(facts)
  yield* missingNamespaces(facts)
  yield* unusedMappings(facts)
  yield* meetingNamespaces(facts)
}

function* unknownTypes({ spec, resolve, archive }: WarningFacts): Generator<ScopeWarning> {
  const stored = new Set<string>(archive.types.map(({ groupResource }) => groupResource))
  const names = [
    spec.includedResources,
    spec.restoreStatus?.includedResources,
    spec.restoreStatus?.excludedResources,
  ].flatMap(list => list ?? [])
  for (const resource of new Set(names)) {
    if (isPattern(resource) || stored.has(resource) || resolve(resource) !== undefined) continue
    yield { message: 'A filter names a resource that this cluster does not have', fields: { resource } }
  }
}

function* missingNamespaces({ spec, archive }: WarningFacts): Generator<ScopeWarning> {
  const stored = new Set(archive.namespaces)
  for (const namespace of new Set(spec.includedNamespaces ?? [])) {
    if (isPattern(namespace) || stored.has(namespace)) continue
    yield {
      message: 'The restore includes a namespace of which the backup has nothing',
      fields: { namespace },
    }
  }
}

function* unusedMappings({ spec, archive, namespaces }: WarningFacts): Generator<ScopeWarning> {
  const stored = new Set(archive.namespaces)
  for (const namespace of Object.keys(spec.namespaceMapping ?? {})) {
    if (stored.has(namespace) && namespaces.includes(namespace)) continue
    yield { message: 'The restore maps a namespace of which it restores nothing', fields: { namespace } }
  }
}

/** Mappings to one name are errors of validation; here one that keeps its name meets one that is mapped to it. */
function* meetingNamespaces({ archive, namespaces, target }: WarningFacts): Generator<ScopeWarning> {
  const restored = archive.namespaces.filter(namespace => namespaces.includes(namespace))
  for (const [into, from] of Map.groupBy(restored, target)) {
    if (from.length < 2) continue
    yield {
      message:
        'Several namespaces of the backup are restored into one: objects of the same name exclude each other',
      fields: { namespace: into, from },
    }
  }
}

function isPattern(name: string): boolean {
  return /[*?[{]/.test(name)
}
