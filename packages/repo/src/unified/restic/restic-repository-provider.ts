import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import type { CallOptions } from '../backup-repo.ts'
import { forgetEach } from '../forget-each.ts'
import { type Logger, silentLogger } from '../logger.ts'
import { notCreated } from '../not-created.ts'
import type { RepositoryProvider } from '../repository-provider.ts'
import { parseResticSnapshots, type ResticSnapshot } from './restic-message.ts'
import {
  type ResticRepository,
  type ResticSettings,
  resticSnapshotId,
  resticTagArguments,
} from './restic-repository.ts'
import { resticRunner } from './run-restic.ts'

/** What restic offers beyond the contract of all repository providers. */
export interface ResticRepositoryProvider extends RepositoryProvider<ResticRepository> {
  /** Throws `CORRUPT` when the repository has errors; `readData` reads every pack as well. */
  checkRepo(repo: ResticRepository, call?: CallOptions & { readonly readData?: boolean }): Promise<void>
  /** Every snapshot that carries all these tags, oldest first. */
  snapshots(
    repo: ResticRepository,
    call?: CallOptions & { readonly tags?: Readonly<Record<string, string>> },
  ): Promise<ResticSnapshot[]>
}

const WEEK = 7 * 24 * 3600 * 1000

/** Manages restic repositories with the real restic. */
export function resticRepositoryProvider(
  settings: ResticSettings,
  log: Logger = silentLogger,
): ResticRepositoryProvider {
  const run = async (
    repo: ResticRepository,
    command: string,
    call: { args?: string[]; signal?: AbortSignal | undefined },
  ) => {
    log.debug({ repository: repo.repository, command }, 'running restic')
    return resticRunner(settings, repo)({ command, ...call })
  }
  const simply =
    (command: string) =>
    async (repo: ResticRepository, { signal }: CallOptions = {}) => {
      await run(repo, command, { signal })
    }
  const init = simply('init')
  const initRepo = async (repo: ResticRepository, call?: CallOptions) => {
    if (repo.readOnly) throw notCreated()
    await init(repo, call)
  }

  const connectToRepo = async (repo: ResticRepository, { signal }: CallOptions = {}) => {
    await run(repo, 'snapshots', { args: ['--json', '--no-lock', '--latest', '1'], signal })
  }

  const forget = async (repo: ResticRepository, snapshotId: string, { signal }: CallOptions = {}) => {
    const { stderr } = await run(repo, 'forget', { args: [resticSnapshotId(snapshotId)], signal })
    if (!/no matching ID found/i.test(stderr)) return
    throw new RepoError('MANIFEST_NOT_FOUND', {
      message: `restic repository ${repo.repository} has no snapshot ${snapshotId}`,
      hint: 'list the snapshots of the repository',
      snapshotId,
    })
  }

  return {
    kind: 'restic',
    initRepo,
    connectToRepo,
    prepareRepo: (repo, call) =>
      connectToRepo(repo, call).catch((error: unknown) => {
        if (isRepoError(error, 'NOT_A_REPOSITORY')) return initRepo(repo, call)
        throw error
      }),
    pruneRepo: simply('prune'),
    ensureUnlockRepo: simply('unlock'),
    forget,
    batchForget: (repo, ids, call) => forgetEach(ids, id => forget(repo, id, call)),
    defaultMaintenanceFrequency: () => WEEK,
    checkRepo: async (repo, { signal, readData } = {}) => {
      await run(repo, 'check', { args: readData ? ['--read-data'] : [], signal })
    },
    snapshots: async (repo, { signal, tags = {} } = {}) => {
      const all = resticTagArguments(tags).filter(argument => argument !== '--tag')
      const filter = all.length > 0 ? ['--tag', all.join(',')] : []
      const { stdout } = await run(repo, 'snapshots', { args: ['--json', ...filter], signal })
      return parseResticSnapshots(stdout)
    },
  }
}
