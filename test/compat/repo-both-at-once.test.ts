/** kopia and we use one repository, in turns and at the same time; afterwards both find everything in order. */
import assert from 'node:assert/strict'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { openS3Storage } from '../../packages/repo/src/blob/s3.ts'
import type { BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import { manifestId } from '../../packages/repo/src/manifest/manifest-store.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { findSnapshot } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type KopiaRepository, type KopiaStorage, kopiaRepository, kopiaSkip } from './kopia.ts'
import { SimulatedRepository } from './simulated-repository.ts'
import { listFolder, type TreeListing, writeSourceTree } from './source-tree.ts'

const skip = await kopiaSkip()
const given = await givenCluster({ s3: true })
const password = 'static-passw0rd'
const client = { username: 'tester', hostname: 'testhost' }

interface Place {
  name: string
  skip: string | false
  locate(t: TestContext, seed: number): Promise<KopiaStorage>
}

const places: Place[] = [
  { name: 'in a folder', skip, locate: newFolder },
  {
    name: 'in a bucket',
    skip: skip || given.skip,
    locate: async (_, seed) => ({ ...given.cluster.s3, prefix: `both-${seed}-${process.pid}/kopia/ns/` }),
  },
]

async function newFolder(t: TestContext): Promise<KopiaStorage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-both-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return { path: path.join(folder, 'repository') }
}

async function openStorage(location: KopiaStorage): Promise<BlobStorage> {
  if ('path' in location) return openFilesystemStorage({ path: location.path, create: true })
  return openS3Storage({ ...location, credentials: location })
}

function contentIds({ contents }: Repository): Promise<string[]> {
  return Array.fromAsync(contents.entries({ includeDeleted: true }), ({ contentId }) => contentId)
}

async function uploadByUs(repository: Repository, folder: string): Promise<string> {
  const source = { host: client.hostname, userName: client.username, path: folder }
  const { snapshot } = await repository.writing({}, writer => uploadTree(writer, folder, { source }))
  return snapshot.id
}

/** Two folders that are alike but for some files, so that each finds contents of the other. */
async function twoSources(scratch: string, seed: number): Promise<[string, string]> {
  const folders = ['first', 'second'].map(name => path.join(scratch, name)) as [string, string]
  for (const [index, folder] of folders.entries()) {
    await mkdir(path.join(folder, 'own'), { recursive: true })
    await writeSourceTree(folder, seed)
    await writeSourceTree(path.join(folder, 'own'), seed + 1 + index, 1000)
  }
  return folders
}

/** Rounds of a snapshot of each folder, in turns and then at the same time, the folders changing hands. What each must hold. */
async function writeTogether(
  ours: Repository,
  theirs: KopiaRepository,
  seed: number,
): Promise<Map<string, TreeListing>> {
  const expected = new Map<string, TreeListing>()
  let [mine, others] = await twoSources(theirs.scratch, seed)
  for (const round of [0, 1, 2, 3]) {
    const ids =
      round === 0
        ? [await uploadByUs(ours, mine), await theirs.snapshot(others)]
        : await Promise.all([uploadByUs(ours, mine), theirs.snapshot(others)])
    for (const [index, folder] of [mine, others].entries()) {
      expected.set(ids[index] ?? '', await listFolder(folder))
      await appendFile(path.join(folder, 'nested', 'text'), `round ${round}`)
      await writeFile(path.join(folder, `round-${round}`), `${round}`)
    }
    ;[mine, others] = [others, mine]
  }
  return expected
}

async function restoredByUs(repository: Repository, id: string, target: string): Promise<TreeListing> {
  const { rootEntry } = await findSnapshot(repository.manifests, id)
  const { problems } = await restoreTree({ contents: repository.contents, entry: rootEntry, target })
  assert.deepEqual(problems, [])
  return listFolder(target)
}

const seeds = rotatingSeeds({ name: 'both-at-once', count: 1, soakCount: 20 })

for (const place of places) {
  describe(`kopia and we, ${place.name}`, { skip: place.skip }, () => {
    for (const seed of seeds)
      it(`write in turns and at the same time, and lose nothing (seed ${seed})`, async t => {
        announceSeed(t, seed)
        const location = await place.locate(t, seed)
        await using ours = await createRepository({ storage: await openStorage(location), password, client })
        const theirs = await kopiaRepository(t, { storage: location, connect: true, password })
        const expected = await writeTogether(ours, theirs, seed)
        await theirs.verify()
        await using fresh = await openRepository({
          storage: await openStorage(location),
          password,
          rehash: true,
        })
        const { found } = await verifyRepository(fresh, { contents: 'all' })
        assert.deepEqual(found, [])
        for (const [id, listing] of expected)
          assert.deepEqual(await restoredByUs(fresh, id, path.join(theirs.scratch, id)), listing)
        for (const [id, listing] of [...expected].slice(-2))
          assert.deepEqual(await listFolder(await theirs.restore(id)), listing)
      })
  })
}

describe('kopia and we', { skip }, () => {
  it("compact each other's manifests, and lose none", async t => {
    const location = await newFolder(t)
    await using ours = await createRepository({ storage: await openStorage(location), password, client })
    const labels = (turn: number) => ({ type: 'lateen-test', turn: String(turn) })
    for (let turn = 0; turn < 20; turn += 1) {
      await ours.writing({}, ({ manifests }) => manifests.put(labels(turn), { turn }))
    }
    const theirs = await kopiaRepository(t, { storage: location, connect: true, password })
    const [gone] = await ours.manifests.find(labels(3))
    await ours.writing({}, ({ manifests }) => manifests.delete(gone?.id ?? manifestId('')))
    await theirs.kopia(['policy', 'set', '--global', '--keep-latest=5'])
    await ours.refresh()
    const listed = await theirs.json<{ id: string }[]>(['manifest', 'list'])
    const found = await ours.manifests.find({})
    assert.deepEqual(new Set(found.map(({ id }) => String(id))), new Set(listed.map(({ id }) => id)))
    assert.equal(found.filter(({ labels: { type } }) => type === 'lateen-test').length, 19)
  })

  for (const seed of seeds)
    it(`maintain an aged repository at the same time, and keep what every snapshot needs (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const world = await SimulatedRepository.ofSomeWeeks(t, seededRandom(seed))
      // What the collection before this one marked is then ready to be dropped by the next.
      await world.actThrough(world.storage, 'full')
      const theirs = await world.copyForKopia(t)
      await using ours = await openRepository({ storage: await openStorage(theirs.storage), password })
      const known = await contentIds(ours)
      // kopia needs about a second before it begins.
      const maintaining = sleep(seededRandom(seed).integer(0, 1500)).then(() =>
        runMaintenance(ours, { mode: 'full', identity: 'default@default' }),
      )
      const [byUs] = await Promise.all([
        maintaining.then(
          () => 'done',
          error => (isRepoError(error, 'LOCKED') ? 'locked' : Promise.reject(error)),
        ),
        theirs.kopia(['maintenance', 'run', '--full']),
      ])
      t.diagnostic(`ours: ${byUs}`)
      await theirs.verify()
      await using fresh = await openRepository({
        storage: await openStorage(theirs.storage),
        password,
        rehash: true,
      })
      const left = new Set(await contentIds(fresh))
      assert.ok(
        known.some(id => !left.has(id)),
        'nobody has dropped anything',
      )
      for (const [id, listing] of world.snapshots)
        assert.deepEqual(await restoredByUs(fresh, id, path.join(theirs.scratch, id)), listing)
    })
})
