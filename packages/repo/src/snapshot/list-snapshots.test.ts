import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { manifestId } from '../manifest/manifest-store.ts'
import { createRepository, type Repository } from '../repository.ts'
import { deleteSnapshots } from './delete-snapshots.ts'
import { findSnapshot, listSnapshots } from './list-snapshots.ts'
import { emptyStats, type SnapshotManifest, snapshotLabels, snapshotPayload } from './snapshot-manifest.ts'
import { storeDirectory } from './testing/store-entries.ts'

let repository: Repository
const ids: string[] = []

async function save(path: string, startTime: bigint, more: Partial<SnapshotManifest> = {}): Promise<string> {
  return repository.writing({}, async ({ manifests, objects }) => {
    const rootEntry = await storeDirectory(objects, '', { entries: [] })
    const source = { host: 'h', userName: 'u', path }
    const snapshot: SnapshotManifest = {
      ...{ id: '', source, description: '', startTime, endTime: startTime, stats: emptyStats(), rootEntry },
      ...{ tags: {}, pins: [], ...more },
    }
    return manifests.put(snapshotLabels(snapshot), snapshotPayload(snapshot))
  })
}

describe('the snapshots of a repository', () => {
  before(async () => {
    repository = await createRepository({ storage: memoryStorage(), password: 'p' })
    ids.push(await save('/b', 30n), await save('/a', 20n), await save('/a', 10n, { tags: { 'tag:x': 'y' } }))
    ids.push(await save('/a', 40n, { incomplete: 'checkpoint' }))
    await repository.writing({}, ({ manifests }) =>
      manifests.put({ type: 'snapshot', hostname: 'h' }, { odd: true }),
    )
    await repository.refresh()
  })
  after(() => repository[Symbol.asyncDispose]())

  it('are listed by source, oldest first, and one that cannot be understood hides no other', async () => {
    const { snapshots, unreadable } = await listSnapshots(repository.manifests)
    assert.deepEqual(
      snapshots.map(({ id }) => id),
      [ids[2], ids[1], ids[3], ids[0]],
    )
    assert.equal(unreadable.length, 1)
  })

  it('are chosen by source, by tag and by being complete', async () => {
    const list = async (options: Parameters<typeof listSnapshots>[1]) =>
      (await listSnapshots(repository.manifests, options)).snapshots.map(({ id }) => id)
    assert.deepEqual(await list({ path: '/b', host: 'h', userName: 'u' }), [ids[0]])
    assert.deepEqual(await list({ tags: { 'tag:x': 'y' } }), [ids[2]])
    assert.deepEqual(await list({ path: '/a', completeOnly: true }), [ids[2], ids[1]])
    assert.deepEqual(await list({ host: 'other' }), [])
  })

  it('are found by the beginning of their id when it is the only one', async () => {
    const id = ids[1] ?? ''
    assert.equal((await findSnapshot(repository.manifests, id)).id, id)
    assert.equal((await findSnapshot(repository.manifests, id.slice(0, 20))).id, id)
    await assert.rejects(findSnapshot(repository.manifests, ''), { code: 'MANIFEST_NOT_FOUND' })
    await assert.rejects(findSnapshot(repository.manifests, 'zz'), {
      code: 'MANIFEST_NOT_FOUND',
      snapshotId: 'zz',
    })
  })

  it('are deleted all or none, and nothing that is no snapshot is', async () => {
    const policy = await repository.writing({}, ({ manifests }) => manifests.put({ type: 'policy' }, {}))
    const remove = (wanted: string[]) =>
      repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, wanted))
    await assert.rejects(remove([ids[0] ?? '', 'zz']), { code: 'MANIFEST_NOT_FOUND' })
    await assert.rejects(remove([policy]), { code: 'MANIFEST_NOT_FOUND' })
    assert.deepEqual(await remove([ids[0] ?? '', (ids[0] ?? '').slice(0, 16)]), [ids[0]])
    await repository.refresh()
    const { snapshots } = await listSnapshots(repository.manifests)
    assert.equal(snapshots.length, 3)
    assert.ok(await repository.manifests.get(manifestId(policy)))
  })
})
