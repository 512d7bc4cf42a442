/**
 * Does one thing to a repository and says `begin` before it: `upload FOLDER`, `delete` (all but the newest snapshot) or
 * `maintain` (full, without waiting times). For tests that kill it half-way.
 */
import { openFilesystemStorage, openRepository } from '../../packages/repo/src/index.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { safetyNone } from '../../packages/repo/src/maintenance/safety.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'

const [folder = '', password = '', action = '', source = ''] = process.argv.slice(2)
const client = { username: 'tester', hostname: 'testhost' }
const storage = await openFilesystemStorage({ path: folder })
await using repository = await openRepository({ storage, password, client })

const actions: Record<string, () => Promise<unknown>> = {
  upload: () =>
    repository.writing({}, writer =>
      uploadTree(writer, source, { source: { host: 'testhost', userName: 'tester', path: source } }),
    ),
  delete: async () => {
    const { snapshots } = await listSnapshots(repository.manifests, { completeOnly: true })
    const old = snapshots.slice(0, -1).map(snapshot => snapshot.id)
    await repository.writing({}, writer => deleteSnapshots(writer.manifests, old))
  },
  maintain: () =>
    runMaintenance(repository, {
      mode: 'full',
      identity: 'tester@testhost',
      force: true,
      safety: safetyNone,
    }),
}

process.stdout.write('begin\n')
await actions[action]?.()
