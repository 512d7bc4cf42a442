import type { BlobStorage } from '../blob/storage.ts'
import type { RebuiltIndex } from '../maintenance/rebuilt-indexes.ts'
import type { Repository } from '../repository.ts'
import { type CommandContext, textFlag } from './command.ts'
import { readPassword } from './password.ts'
import { printable } from './printable.ts'
import { repoCacheOf } from './repo-cache-flags.ts'
import { parseRepoLocation, type RepoLocation } from './repo-location.ts'
import { usageError } from './usage-error.ts'

/** How a command uses its repository. */
export interface RepositoryUse {
  /** Opens it for reading alone. */
  readonly readOnly?: boolean
  /** Leaves out manifests that cannot be read instead of failing; for commands that report damage. */
  readonly tolerant?: boolean
  /**
   * Looks for damage: reads everything from the storage itself, takes damaged indexes from the packs, and tells of each.
   */
  readonly onRebuiltIndex?: (rebuilt: RebuiltIndex) => void
  /** Loads what the command needs besides, while another thread is busy with the password. */
  readonly load?: () => Promise<unknown>
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
  const cache = use.onRebuiltIndex === undefined ? repoCacheOf(context, location) : undefined
  const password = await repoPassword(context)
  const { metadataReads, openRepoStorage } = await import('../unified/kopia/open-repo-storage.ts')
  const { clock, signal, host, userName } = context.surroundings
  await using storage = await openRepoStorage(location, { clock, signal })
  const { openFormatBlob } = await import('../format/repository-format.ts')
  const loadRest = () => Promise.all([import('../repository.ts'), use.load?.()])
  // What cannot be loaded fails where it is awaited.
  const whileDeriving = () => void loadRest().catch(() => {})
  const format = await openFormatBlob(storage, password, { clock, signal, whileDeriving })
  const [{ openWithFormat }] = await loadRest()
  await using repository = await openWithFormat(format, {
    storage,
    clock,
    signal,
    client: { username: userName, hostname: host },
    ...metadataReads(location),
    readOnly: use.readOnly,
    cache,
    onRebuiltIndex:
      use.onRebuiltIndex ?? (context.flags['rebuild-indexes'] ? noteRebuilt(context) : undefined),
    onIgnoredError: error => context.output.note(printable(error.message)),
    skipDamagedManifests: use.tolerant,
  })
  return await work(repository)
}

function noteRebuilt({ output }: CommandContext): (rebuilt: RebuiltIndex) => void {
  return ({ blobId, packs, lostPacks }) => {
    const lost = lostPacks.length === 0 ? '' : `; ${lostPacks.length} packs could not tell what they hold`
    output.note(`the index blob ${blobId} is damaged: what it said was taken from ${packs} packs${lost}`)
  }
}
