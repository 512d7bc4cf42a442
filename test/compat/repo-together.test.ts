/** kopia and we write to one repository, in turns and at the same time; afterwards both find everything in order. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { openS3Storage } from '../../packages/repo/src/blob/s3.ts'
import type { BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import { manifestId } from '../../packages/repo/src/manifest/manifest-store.ts'
import { objectId } from '../../packages/repo/src/object/object-id.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { type KopiaRepository, type KopiaStorage, kopiaRepository, kopiaSkip } from './kopia.ts'
import { snapshotByHand } from './snapshot-by-hand.ts'
import { listFolder, listObject, type TreeListing, writeSourceTree } from './source-tree.ts'

const kopiaMissing = await kopiaSkip()
const given = await givenCluster({ s3: true })
const [seed = 1] = rotatingSeeds({ name: 'writing together', count: 1, soakCount: 5 })
const password = 'static-passw0rd'
const client = { username: 'tester', hostname: 'testhost' }

interface Place {
  name: string
  skip: string | false
  locate(t: TestContext): Promise<KopiaStorage>
  open(location: KopiaStorage): Promise<BlobStorage>
}

const places: Place[] = [
  {
    name: 'in a folder',
    skip: kopiaMissing,
    async locate(t) {
      const folder = await mkdtemp(path.join(tmpdir(), 'lateen-together-'))
      t.after(() => rm(folder, { recursive: true, force: true }))
      return { path: path.join(folder, 'repository') }
    },
    open: async location =>
      openFilesystemStorage({ path: 'path' in location ? location.path : '', create: true }),
  },
  {
    name: 'in a bucket',
    skip: kopiaMissing || given.skip,
    locate: async () => ({ ...given.cluster.s3, prefix: `together-${seed}-${process.pid}/kopia/ns/` }),
    async open(location) {
      const access = 'path' in location ? given.cluster.s3 : location
      return openS3Storage({ ...access, credentials: access })
    },
  },
]

for (const place of places) {
  describe(`kopia and we, ${place.name}`, { skip: place.skip }, () => {
    it(`write in turns and at the same time, and lose nothing (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const location = await place.locate(t)
      await using ours = await createRepository({ storage: await place.open(location), password, client })
      const theirs = await kopiaRepository(t, { storage: location, connect: true, password })
      const expected = await writeTogether(ours, theirs)
      await theirs.verify()
      await ours.refresh()
      await assertHolds(ours, expected)
      await using fresh = await openRepository({
        storage: await place.open(location),
        password,
        rehash: true,
      })
      await assertHolds(fresh, expected)
      assert.equal((await theirs.json<unknown[]>(['snapshot', 'list', '--all'])).length, expected.size)
    })

    it(`compact each other's manifests, and lose none (seed ${seed})`, async t => {
      const location = await place.locate(t)
      const moved = 'path' in location ? location : { ...location, prefix: `manifests/${location.prefix}` }
      await using ours = await createRepository({ storage: await place.open(moved), password, client })
      const labels = (turn: number) => ({ type: 'lateen-test', turn: String(turn) })
      for (let turn = 0; turn < 20; turn += 1) {
        await ours.writing({}, ({ manifests }) => manifests.put(labels(turn), { turn }))
      }
      const theirs = await kopiaRepository(t, { storage: moved, connect: true, password })
      const [gone] = await ours.manifests.find(labels(3))
      await ours.writing({}, ({ manifests }) => manifests.delete(gone?.id ?? manifestId('')))
      await theirs.kopia(['policy', 'set', '--global', '--keep-latest=5'])
      await ours.refresh()
      const listed = await theirs.json<{ id: string }[]>(['manifest', 'list'])
      const found = await ours.manifests.find({})
      assert.deepEqual(new Set(found.map(({ id }) => String(id))), new Set(listed.map(({ id }) => id)))
      assert.equal(found.filter(({ labels: { type } }) => type === 'lateen-test').length, 19)
    })
  })
}

/** Three rounds of a snapshot by each, the last two at the same time. What each snapshot must hold, by its id. */
async function writeTogether(ours: Repository, theirs: KopiaRepository): Promise<Map<string, TreeListing>> {
  const expected = new Map<string, TreeListing>()
  for (const round of [0, 1, 2]) {
    const folders = await Promise.all(['ours', 'theirs'].map(who => newFolder(theirs.scratch, who, round)))
    const [mine = '', others = ''] = folders
    const byUs = () => ours.writing({}, writer => snapshotByHand(writer, mine))
    const byKopia = () => theirs.snapshot(others)
    const [a, b] = round === 0 ? [await byUs(), await byKopia()] : await Promise.all([byUs(), byKopia()])
    expected.set(a, await listFolder(mine))
    expected.set(b, await listFolder(others))
  }
  return expected
}

/** Folders of one round are alike but for some files, so that each finds contents of the other. */
async function newFolder(scratch: string, who: string, round: number): Promise<string> {
  const folder = path.join(scratch, `${who}-${round}`)
  await mkdir(path.join(folder, 'own'), { recursive: true })
  await writeSourceTree(folder, seed + round)
  await writeSourceTree(path.join(folder, 'own'), seed + 100 * round + who.length, 1000)
  return folder
}

async function assertHolds(
  repository: Repository,
  expected: ReadonlyMap<string, TreeListing>,
): Promise<void> {
  for (const [id, listing] of expected) {
    const { payload } = await repository.manifests.get(manifestId(id))
    const root = objectId((payload as { rootEntry: { obj: string } }).rootEntry.obj)
    assert.deepEqual(await listObject(repository, root), listing)
  }
}
