/** What is done to the repository of the kill tests, by the worker that is killed and by the test that goes on after it. */
import {
  createRepository,
  openFilesystemStorage,
  openRepository,
  type Repository,
} from '../../packages/repo/src/index.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { safetyNone } from '../../packages/repo/src/maintenance/safety.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'

/** Who writes. */
export const clientOf = { username: 'tester', hostname: 'testhost' } as const

/** Stores the folder; deletes all but the newest snapshot; maintains, without waiting times. */
export const killableActs = {
  async upload(repository: Repository, source: string): Promise<void> {
    const info = { host: clientOf.hostname, userName: clientOf.username, path: source }
    // With threads from the first file on, so that a kill finds them at work.
    const options = { source: info, threads: 2, threadsFrom: 0 }
    await repository.writing({}, writer => uploadTree(writer, source, options))
    await repository.refresh()
  },
  async delete(repository: Repository, _source: string): Promise<void> {
    const old = (await completeSnapshots(repository)).slice(0, -1)
    await repository.writing({}, writer => deleteSnapshots(writer.manifests, old))
    await repository.refresh()
  },
  async maintain(repository: Repository, _source: string): Promise<void> {
    const identity = `${clientOf.username}@${clientOf.hostname}`
    await runMaintenance(repository, { mode: 'full', identity, force: true, safety: safetyNone })
  },
}

/** Ids of the complete snapshots, oldest first. */
export async function completeSnapshots(repository: Repository): Promise<string[]> {
  const { snapshots } = await listSnapshots(repository.manifests, { completeOnly: true })
  return snapshots.map(({ id }) => id)
}

/** One of `killableActs`. */
export type KillableAct = keyof typeof killableActs

/** A new repository in a folder. */
export async function newRepository(folder: string, password: string): Promise<Repository> {
  const storage = await openFilesystemStorage({ path: folder, create: true })
  return createRepository({ storage, password, client: clientOf })
}

/** The repository in a folder. */
export async function openFolder(folder: string, password: string): Promise<Repository> {
  return openRepository({
    storage: await openFilesystemStorage({ path: folder }),
    password,
    client: clientOf,
  })
}
