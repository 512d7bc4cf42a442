import type { ObjectStore, ObjectStoreFactory } from '@lateen/plugin'
import { AwsStore, type AwsStoreOptions } from './aws.ts'
import { FilesystemStore, type FilesystemStoreOptions } from './filesystem.ts'

/** The object stores that this server has, by the names that locations use. */
export interface ObjectStoreRegistry {
  /** In full, sorted. */
  readonly names: readonly string[]
  /** A store that is not initialised yet. Throws INVALID_CONFIG for an unknown provider, naming the known ones. */
  create(provider: string): ObjectStore
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
