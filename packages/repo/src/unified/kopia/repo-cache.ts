import type { RepositoryCache } from '../../storage-layers.ts'
import { type RepoOptions, StorageOption, StorageType } from '../backup-repo.ts'

const defaultLimitMB = 5000
const megabyte = 1 << 20

/**
 * The cache that options ask for, divided as Velero does: four fifths for file data, one for metadata. The folder is the one
 * they name, else `folder` for a storage that is not on this machine. Undefined: none. A limit that is no number counts as not
 * given, as Velero has it.
 */
export function repoCache(
  { storageType, storageOptions }: Pick<RepoOptions, 'storageType' | 'storageOptions'>,
  folder: string | undefined,
): RepositoryCache | undefined {
  const { [StorageOption.cacheFolder]: named, [StorageOption.cacheLimitMB]: text = '' } = storageOptions
  const chosen = named || (storageType === StorageType.filesystem ? undefined : folder)
  const limitMB = /^\d{1,9}$/.test(text) ? Number(text) : defaultLimitMB
  if (chosen === undefined || limitMB === 0) return undefined
  const keepsContents = storageOptions[StorageOption.cacheContents] !== 'false'
  return {
    folder: chosen,
    ...dividedCache(limitMB * megabyte),
    ...(!keepsContents && { contentBytes: 0 }),
  }
}

/** A limit in bytes as the limits of both parts of a cache. */
export function dividedCache(
  bytes: number,
): Required<Pick<RepositoryCache, 'metadataBytes' | 'contentBytes'>> {
  const metadataBytes = Math.floor(bytes / 5)
  return { metadataBytes, contentBytes: metadataBytes * 4 }
}
