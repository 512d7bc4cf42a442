import path from 'node:path'
import type { RepositoryCache } from '../storage-layers.ts'
import { StorageType } from '../unified/backup-repo.ts'
import { dividedCache } from '../unified/kopia/repo-cache.ts'
import { type CommandContext, textFlag } from './command.ts'
import { wholeNumber } from './number-flag.ts'
import type { RepoLocation } from './repo-location.ts'

const defaultLimitMB = 5000

/**
 * The cache that `--cache-dir` names; for S3 without it a folder below the user's cache folder. Undefined for `none`, and for a
 * repository in a folder, which needs none. Throws `INVALID_ARGUMENT`.
 */
export function repoCacheOf(
  { flags, surroundings: { env } }: Pick<CommandContext, 'flags' | 'surroundings'>,
  { storageType }: Pick<RepoLocation, 'storageType'>,
): RepositoryCache | undefined {
  const limitMB = wholeNumber('cache-limit', textFlag(flags, 'cache-limit')) ?? defaultLimitMB
  const named = textFlag(flags, 'cache-dir') ?? env.LATEEN_REPO_CACHE
  const folder = named || (storageType === StorageType.s3 ? userCache(env) : undefined)
  if (folder === undefined || folder === 'none') return undefined
  return { folder: path.resolve(folder), ...dividedCache(limitMB * (1 << 20)) }
}

function userCache(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.XDG_CACHE_HOME) return path.join(env.XDG_CACHE_HOME, 'lateen-repo')
  return env.HOME ? path.join(env.HOME, '.cache', 'lateen-repo') : undefined
}
