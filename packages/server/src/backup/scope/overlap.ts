import type { Backup } from '@lateen/api'
import { resolveNamespaces } from '../../filters/namespace-scope.ts'

/**
 * Whether two backups take a namespace in common, of those that exist. A backup whose patterns cannot be read
 * takes none: validation rejects it later.
 */
export function namespacesOverlap(
  one: Pick<Backup, 'spec'>,
  other: Pick<Backup, 'spec'>,
  existing: readonly string[],
): boolean {
  const taken = new Set(namespacesOf(one, existing))
  return namespacesOf(other, existing).some(name => taken.has(name))
}

/** The existing namespaces that a backup takes, sorted; none when its patterns cannot be read. */
export function namespacesOf({ spec }: Pick<Backup, 'spec'>, existing: readonly string[]): readonly string[] {
  try {
    return resolveNamespaces({
      includes: spec?.includedNamespaces,
      excludes: spec?.excludedNamespaces,
      existing,
    }).names
  } catch {
    return []
  }
}
