import type { BlobStorage } from '../blob/storage.ts'
import type { Repository } from '../repository.ts'
import { type CommandContext, textFlag } from './command.ts'
import { readPassword } from './password.ts'
import { parseRepoLocation, type RepoLocation } from './repo-location.ts'
import { usageError } from './usage-error.ts'

/** How a command uses its repository. */
export interface RepositoryUse {
  /** Opens it for reading alone. */
  readonly readOnly?: boolean
  /** Leaves out manifests that cannot be read instead of failing; for commands that report damage. */
  readonly tolerant?: boolean
}

/** Where `--repo` says the repository is. Throws `INVALID_ARGUMENT`. */
export function repoLocation({ flags, surroundings: { env } }: CommandContext): RepoLocation {
  const url = textFlag(flags, 'repo') ?? env.LATEEN_REPO
  if (url === undefined || url === '') {
    throw usageError('which repository?', 'write --repo file:///folder or --repo s3://bucket/prefix')
  }
  const storageFlags = {
    's3-endpoint': textFlag(flags, 's3-endpoint'),
    's3-region': textFlag(flags, 's3-region'),
    's3-ca-file': textFlag(flags, 's3-ca-file'),
    's3-skip-tls-verify': flags['s3-skip-tls-verify'] === true,
  }
  return parseRepoLocation(url, storageFlags, env)
}

/** The repository's password from where the flags say, or from the terminal. */
export function repoPassword(
  { flags, surroundings }: CommandContext,
  options?: { isNew: boolean },
): Promise<string> {
  const { env, stdin, stderr, signal } = surroundings
  const from = {
    'password-file': textFlag(flags, 'password-file'),
    'password-env': textFlag(flags, 'password-env'),
  }
  return readPassword(from, { env, stdin, signal, prompt: text => stderr.write(text) }, options)
}

/** Opens the storage that `--repo` names for as long as `work` runs. */
export async function withStorage<T>(
  context: CommandContext,
  work: (storage: BlobStorage) => Promise<T>,
  options: { create?: boolean } = {},
): Promise<T> {
  const location = repoLocation(context)
  const { openRepoStorage } = await import('../unified/kopia/open-repo-storage.ts')
  const { clock, signal } = context.surroundings
  await using storage = await openRepoStorage(location, { ...options, clock, signal })
  return await work(storage)
}

/** Opens the repository that `--repo` names for as long as `work` runs. */
export async function withRepository<T>(
  context: CommandContext,
  use: RepositoryUse,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  const location = repoLocation(context)
  const password = await repoPassword(context)
  const { metadataPackBytes, openRepoStorage } = await import('../unified/kopia/open-repo-storage.ts')
  const { openRepository } = await import('../repository.ts')
  const { clock, signal, host, userName } = context.surroundings
  await using storage = await openRepoStorage(location, { clock, signal })
  const repository = await openRepository({
    storage,
    password,
    clock,
    signal,
    client: { username: userName, hostname: host },
    metadataPackBytes: metadataPackBytes(location),
    readOnly: use.readOnly,
    skipDamagedManifests: use.tolerant,
  })
  return await work(repository)
}
