import { type ObjectStore, ObjectStoreError, type ObjectStoreFactory } from '@lateen/plugin'
import { AwsStore, type AwsStoreOptions } from './aws.ts'
import { FilesystemStore, type FilesystemStoreOptions } from './filesystem.ts'

/** The object stores that this server has, by the names that locations use. */
export interface ObjectStoreRegistry {
  /** In full, sorted. */
  readonly names: readonly string[]
  /** A store that is not initialised yet. Throws INVALID_CONFIG for an unknown provider, naming the known ones. */
  create(provider: string): ObjectStore
}

/** A bare word means `velero.io/` and that word. */
export function qualifiedProviderName(provider: string): string {
  return provider.includes('/') ? provider : `velero.io/${provider}`
}

/** A registry of the given factories, by full name. */
export function createObjectStoreRegistry(
  factories: Readonly<Record<string, ObjectStoreFactory>>,
): ObjectStoreRegistry {
  const byName = new Map(Object.entries(factories))
  const names = [...byName.keys()].sort((a, b) => (a < b ? -1 : 1))
  return {
    names,
    create(provider) {
      const factory = byName.get(qualifiedProviderName(provider))
      if (factory !== undefined) return factory()
      throw new ObjectStoreError('INVALID_CONFIG', {
        reason: `no object store is named ${JSON.stringify(provider)}`,
        hint: `Set spec.provider to one of ${names.join(', ')}, or install the plugin that brings it`,
      })
    },
  }
}

/** The stores that need no plugin. */
export function builtInObjectStores(
  options: AwsStoreOptions & FilesystemStoreOptions,
): Readonly<Record<string, ObjectStoreFactory>> {
  return {
    'velero.io/aws': () => new AwsStore(options),
    'velero.io/filesystem': () => new FilesystemStore(options),
  }
}
