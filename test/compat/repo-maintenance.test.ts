import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import type { BlobMetadata, BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import type { Clock } from '../../packages/repo/src/clock/clock.ts'
import { readSchedule } from '../../packages/repo/src/maintenance/lease.ts'
import {
  loadMaintenanceParams,
  saveMaintenanceParams,
} from '../../packages/repo/src/maintenance/params-manifest.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { safetyNone } from '../../packages/repo/src/maintenance/safety.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type KopiaOptions, type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { listFolder, writeSourceTree } from './source-tree.ts'

const skip = await kopiaSkip()
const password = 'static-passw0rd'
const identity = 'tester@testhost'
const [seed = 1] = rotatingSeeds({ name: 'maintained tree', count: 1, soakCount: 5 })

const cleanUps: (() => Promise<void>)[] = []
const scope = { after: (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp) }
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp()
})

/** What `kopia maintenance info --json` prints, as far as we look at it. */
interface KopiaSchedule {
  owner: string
  schedule: {
    nextFullMaintenance: string
    runs: Partial<
      Record<string, { start: string; end: string; success?: boolean; extra?: { kind: string }[] }[]>
    >
  }
}

const client = { username: 'tester', hostname: 'testhost' }

async function openFolder(folder: string): Promise<Repository> {
  return openRepository({
    storage: await openFilesystemStorage({ path: folder }),
    password,
    client,
    rehash: true,
  })
}

/** A clock that can be days ahead. */
class AheadClock implements Clock {
  ahead = 0
  now(): number {
    return Date.now() + this.ahead
  }
  async sleep(): Promise<void> {}
}

/** A storage whose own clock is the given one: what is put through it keeps that time, everything else its real one. */
function clockedBy(storage: BlobStorage, clock: Clock, times: Map<string, number>): BlobStorage {
  const timed = (blob: BlobMetadata) => ({ ...blob, timestamp: times.get(blob.id) ?? blob.timestamp })
  return {
    description: storage.description,
    get: (id, options) => storage.get(id, options),
    retain: (id, retention, options) => storage.retain(id, retention, options),
    delete: (id, options) => storage.delete(id, options),
    head: async (id, options) => timed(await storage.head(id, options)),
    async put(id, data, options) {
      await storage.put(id, data, options)
      times.set(id, clock.now())
    },
    async *list(prefix, options) {
      for await (const blob of storage.list(prefix, options)) yield timed(blob)
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

/** Makes files of the repository two hours older. */
async function backdate(folder: string, pick: (names: string[]) => string[]): Promise<void> {
  const files = (await readdir(folder, { recursive: true })).filter(file => file.endsWith('.f'))
  const chosen = new Set(pick(files.map(file => file.replaceAll('/', ''))))
  const twoHoursAgo = new Date(Date.now() - 2 * 3_600_000)
  for (const file of files) {
    if (chosen.has(file.replaceAll('/', ''))) await utimes(path.join(folder, file), twoHoursAgo, twoHoursAgo)
  }
}

async function blobNames(folder: string, prefix: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  const names = files.filter(file => file.endsWith('.f')).map(file => file.replaceAll('/', ''))
  return names.filter(name => name.startsWith(prefix))
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-maintenance-'))
  scope.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * `kopia` without its cache of blob lists: that is half a minute old at most, far below every waiting time, but these
 * tests make days pass in seconds.
 */
function kopiaAt(options: KopiaOptions = {}): Promise<KopiaRepository> {
  return kopiaRepository(scope, { password, createFlags: ['--max-list-cache-duration=0s'], ...options })
}

/** Two snapshots of a tree that changed in between, of which the first is deleted; the second's id and its tree. */
async function twoSnapshots(theirs: KopiaRepository) {
  const source = path.join(theirs.scratch, 'source')
  await writeSourceTree(source, seed)
  await writeFile(path.join(source, 'gone'), seededRandom(seed + 1).bytes(3_000_000))
  const gone = await theirs.snapshot(source)
  await rm(path.join(source, 'gone'))
  await writeFile(path.join(source, 'new'), seededRandom(seed + 2).bytes(500_000))
  const kept = await theirs.snapshot(source)
  return { source, gone, kept }
}

// Contents carry whole seconds, and what was written in the second of its deletion is deleted in the next one.
async function nextSecond(): Promise<void> {
  await delay(1100)
}

describe(`maintenance and the real kopia (seed ${seed})`, { skip }, () => {
  it('ours frees what a deleted snapshot of kopia used, and kopia verifies all the rest', async () => {
    const theirs = await kopiaAt()
    const { source, gone, kept } = await twoSnapshots(theirs)
    await theirs.kopia(['snapshot', 'delete', gone, '--delete'])
    await nextSecond()
    {
      await using repository = await openFolder(theirs.path)
      const before = (await blobNames(theirs.path, 'p')).length
      const report = await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
      assert.ok(report.ran)
      const freed = report.steps.find(({ task }) => task === 'full-delete-blobs')?.effects ?? []
      assert.ok(
        freed.some(({ verb, bytes }) => verb === 'delete' && bytes > 3_000_000),
        JSON.stringify(freed),
      )
      assert.ok((await blobNames(theirs.path, 'p')).length < before)
    }
    await theirs.verify()
    assert.deepEqual(await listFolder(await theirs.restore(kept)), await listFolder(source))
    const contents = await theirs.json<{ contentID: string; deleted?: boolean }[]>([
      'content',
      'list',
      '--deleted',
    ])
    assert.deepEqual(
      contents.filter(({ deleted }) => deleted === true),
      [],
      'what we dropped is hidden from kopia too',
    )
  })

  it('kopia reads our history, and we read all of its own', async () => {
    const theirs = await kopiaAt()
    await twoSnapshots(theirs)
    {
      await using repository = await openFolder(theirs.path)
      await runMaintenance(repository, { identity, mode: 'full' })
    }
    const info = await theirs.json<KopiaSchedule>(['maintenance', 'info'])
    assert.equal(info.owner, identity)
    const collection = info.schedule.runs['snapshot-gc']?.[0]
    assert.equal(collection?.success, true)
    assert.equal(collection.extra?.[0]?.kind, 'snapshotGCStats')
    assert.ok(Date.parse(info.schedule.nextFullMaintenance) > Date.now() + 23 * 3_600_000)

    await theirs.kopia(['maintenance', 'run', '--full', '--safety=none'])
    const after = await theirs.json<KopiaSchedule>(['maintenance', 'info'])
    await using repository = await openFolder(theirs.path)
    const { storage, clock, format } = repository
    const schedule = await readSchedule({ storage, clock, key: format.keys.maintenance })
    const counts = (runs: Partial<Record<string, readonly unknown[]>>) =>
      new Map(Object.entries(runs).map(([task, list]) => [task, list?.length]))
    assert.deepEqual(counts(schedule.runs), counts(after.schedule.runs))
    assert.equal(schedule.runs['snapshot-gc']?.length, 2)
  })

  it('kopia maintains a repository that we made and maintained', async () => {
    const folder = await temporaryFolder()
    const source = path.join(folder, 'source')
    await writeSourceTree(source, seed)
    const location = path.join(folder, 'repository')
    const info = { host: 'testhost', userName: 'tester', path: source }
    const upload = async (repository: Repository) =>
      repository.writing({}, writer => uploadTree(writer, source, { source: info }))
    {
      const storage = await openFilesystemStorage({ path: location, create: true })
      await using repository = await createRepository({ storage, password, client })
      const first = await upload(repository)
      await writeFile(path.join(source, 'more'), seededRandom(seed).bytes(400_000))
      await upload(repository)
      await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [first.snapshot.id]))
      await nextSecond()
      await repository.refresh()
      await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
    }
    const theirs = await kopiaAt({ storage: { path: location }, connect: true })
    await theirs.verify()
    await theirs.kopia(['maintenance', 'run', '--full', '--safety=none'])
    await theirs.kopia(['maintenance', 'run', '--full'])
    await theirs.verify()
    const [snapshot] = await theirs.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    assert.ok(snapshot)
    assert.deepEqual(await listFolder(await theirs.restore(snapshot.id)), await listFolder(source))
    await using repository = await openFolder(location)
    await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
    await theirs.verify()
  })

  it('with all waiting times ours takes days, keeps what kopia snapshots meanwhile, and frees the rest', async () => {
    const theirs = await kopiaAt()
    const { source, gone, kept } = await twoSnapshots(theirs)
    await theirs.kopia(['snapshot', 'delete', gone, '--delete'])
    const before = new Set(await blobNames(theirs.path, 'p'))
    const clock = new AheadClock()
    const times = new Map<string, number>()
    const again = path.join(source, 'again')
    let second = ''
    for (let days = 1; days <= 6; days += 1) {
      if (days === 3) {
        await writeFile(again, seededRandom(seed + 1).bytes(3_000_000))
        second = await theirs.snapshot(source)
        await rm(again)
      }
      clock.ahead += 25 * 3_600_000
      const storage = clockedBy(await openFilesystemStorage({ path: theirs.path }), clock, times)
      await using repository = await openRepository({ storage, password, client, clock })
      await runMaintenance(repository, { identity, mode: 'full' })
      if (days % 2 === 0) await theirs.verify()
    }
    const remaining = await blobNames(theirs.path, 'p')
    assert.ok(
      remaining.every(name => !before.has(name)),
      'packs of the deleted snapshot and short packs are gone',
    )
    assert.deepEqual(await listFolder(await theirs.restore(kept)), await listFolder(source))
    await writeFile(again, seededRandom(seed + 1).bytes(3_000_000))
    assert.deepEqual(await listFolder(await theirs.restore(second)), await listFolder(source))
  })

  it('ours compacts the epochs that kopia wrote, and kopia reads the result', async () => {
    const theirs = await kopiaAt()
    await theirs.kopia([
      'repository',
      'set-parameters',
      ...['--epoch-advance-on-count=10', '--epoch-checkpoint-frequency=2', '--epoch-min-duration=30m'],
      ...['--epoch-refresh-frequency=10m', '--epoch-cleanup-safety-margin=30m'],
    ])
    const source = path.join(theirs.scratch, 'source')
    await writeSourceTree(source, seed, 1000)
    for (let epoch = 0; epoch < 6; epoch += 1) {
      await writeFile(path.join(source, 'changing'), `epoch ${epoch}`)
      await theirs.snapshot(source)
      await using repository = await openFolder(theirs.path)
      for (let n = 0; n < 10; n += 1) {
        await repository.writing({}, ({ manifests }) =>
          manifests.put({ type: 'note', n: `${epoch}.${n}` }, { n }),
        )
      }
      await backdate(theirs.path, names => names.filter(name => name.startsWith(`xn${epoch}_`)).slice(0, 1))
      await runMaintenance(repository, { identity, mode: 'full' })
    }
    const names = await blobNames(theirs.path, 'x')
    assert.ok(names.includes('xe6.f'), names.join(' '))
    assert.ok(
      names.some(name => name.startsWith('xs')),
      'single epochs are compacted',
    )
    assert.ok(
      names.some(name => name.startsWith('xr0_')),
      'a range is compacted',
    )
    await theirs.verify()
    await backdate(theirs.path, all => all.filter(name => name.startsWith('xs')))
    await using repository = await openFolder(theirs.path)
    await runMaintenance(repository, { identity, mode: 'full' })
    assert.deepEqual(await blobNames(theirs.path, 'xn0_'), [], 'what a compaction replaced is gone')
    await theirs.verify()
    const ours: string[] = []
    for await (const { contentId } of repository.contents.entries()) ours.push(contentId)
    const listed = await theirs.json<{ contentID: string }[]>(['content', 'list'])
    assert.deepEqual(new Set(ours), new Set(listed.map(({ contentID }) => contentID)))
  })

  it('ownership that we take is ownership for kopia', async () => {
    const theirs = await kopiaAt()
    await using repository = await openFolder(theirs.path)
    const params = await loadMaintenanceParams(repository.manifests)
    assert.equal(params.owner, identity)
    await saveMaintenanceParams(repository, { ...params, owner: 'default@default' })
    const info = await theirs.json<KopiaSchedule>(['maintenance', 'info'])
    assert.equal(info.owner, 'default@default')
    await repository.refresh()
    await assert.rejects(runMaintenance(repository, { identity, mode: 'full' }), { code: 'NOT_OWNER' })
  })
})
