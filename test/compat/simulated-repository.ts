/** A repository in memory under a clock that tests move, with what its snapshots must hold, and everything one does with it. */
import assert from 'node:assert/strict'
import { appendFile, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { type MemoryStorage, memoryStorage } from '../../packages/repo/src/blob/memory.ts'
import type { BlobId, BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import { type Clock, systemClock } from '../../packages/repo/src/clock/clock.ts'
import { throwIfCancelled } from '../../packages/repo/src/errors/repo-error.ts'
import { defaultEpochParameters } from '../../packages/repo/src/format/format-parameters.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { findSnapshot, listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import type { SeededRandom } from '../../tools/test/seeded-random.ts'
import { type KopiaRepository, kopiaRepository, type TestScope } from './kopia.ts'
import { listFolder, type TreeListing } from './source-tree.ts'

const hour = 3_600_000
const longestSimulatedWait = 2 * 60_000
const password = 'static-passw0rd'
const identity = 'default@default'
const source = { host: 'testhost', userName: 'tester', path: '/data' }

/** A clock that moves when told, and by waiting; waits of many minutes are those of timers that nobody waits for. */
export class SimulatedClock implements Clock {
  time: number
  constructor(time: number) {
    this.time = time
  }
  now(): number {
    return this.time
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(signal)
    if (ms > longestSimulatedWait) return systemClock.sleep(ms, signal)
    this.time += ms
    await setImmediate()
  }
}

/** What one can do to a repository through any storage that leads to it. */
export const acts = ['upload', 'delete', 'quick', 'full', 'verify', 'restore'] as const
/** One of `acts`. */
export type Act = (typeof acts)[number]

/** What an act that did not throw found wrong: nothing, unless the storage lied to it. */
export interface Outcome {
  findings: readonly Error[]
}

/** The repository, the folder it keeps, and what each complete snapshot must hold. */
export class SimulatedRepository {
  readonly clock: SimulatedClock
  readonly storage: MemoryStorage
  readonly folder: string
  /** By id; a snapshot whose upload or deletion was reported as failed is not among them. */
  readonly snapshots = new Map<string, TreeListing>()
  readonly #random: SeededRandom
  readonly #scratch: string
  #restored = 0

  constructor(scratch: string, random: SeededRandom) {
    this.#scratch = scratch
    this.#random = random
    this.folder = path.join(scratch, 'source')
    this.clock = new SimulatedClock(systemClock.now() - 60 * 24 * hour)
    this.storage = memoryStorage({ clock: this.clock })
  }

  /** A repository of some weeks: snapshots of many days, half of them deleted and collected once, several epochs. */
  static async ofSomeWeeks(t: TestScope, random: SeededRandom): Promise<SimulatedRepository> {
    const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-simulated-'))
    t.after(() => rm(scratch, { recursive: true, force: true }))
    const world = new SimulatedRepository(scratch, random)
    const { clock, storage } = world
    const epochParameters = { ...defaultEpochParameters, advanceOnCount: 10, fullCheckpointFrequency: 2 }
    const format = { epochParameters, maxPackSize: 100_000 }
    const repository = await createRepository({ storage, password, clock, format })
    await mkdir(path.join(world.folder, 'nested'), { recursive: true })
    await writeFile(path.join(world.folder, 'large'), random.bytes(250_000))
    for (let day = 0; day < 12; day += 1) {
      await world.act('upload', repository)
      clock.time += 25 * hour
      if (day % 3 === 2) await world.act('full', repository)
    }
    for (let n = 0; n < 6; n += 1) await world.act('delete', repository)
    clock.time += 25 * hour
    await world.act('full', repository)
    clock.time += 25 * hour
    return world
  }

  /** Opens the repository through a storage and does something. Throws what the engine throws. */
  async actThrough(storage: BlobStorage, act: Act, clock: Clock = this.clock): Promise<Outcome> {
    return this.act(act, await openRepository({ storage, password, clock }))
  }

  /** Does something to an opened repository. */
  async act(act: Act, repository: Repository): Promise<Outcome> {
    switch (act) {
      case 'upload':
        return this.#upload(repository)
      case 'delete':
        return this.#delete(repository)
      case 'verify': {
        const { found } = await verifyRepository(repository, { contents: 'all' })
        return { findings: found.map(({ error }) => error) }
      }
      case 'restore':
        return this.#restore(repository)
      default:
        await runMaintenance(repository, { identity, mode: act })
        return { findings: [] }
    }
  }

  /** Opens the storage anew, finds every snapshot that must be there, whole, and nothing wrong with the rest. */
  async assertNothingLost(): Promise<Repository> {
    const { storage, clock } = this
    const repository = await openRepository({ storage, password, clock, rehash: true })
    const { snapshots } = await listSnapshots(repository.manifests, { completeOnly: true })
    const ids = new Set<string>(snapshots.map(({ id }) => id))
    for (const id of this.snapshots.keys()) assert.ok(ids.has(id), `snapshot ${id} is gone`)
    const { found } = await verifyRepository(repository, { contents: 'all' })
    assert.deepEqual(found, [])
    return repository
  }

  /** Copies all blobs with their times into a folder, where kopia opens them as the owner of their maintenance. */
  async copyForKopia(t: TestScope): Promise<KopiaRepository> {
    const folder = path.join(this.#scratch, 'copy')
    await using copy = await openFilesystemStorage({ path: folder, create: true })
    for (const [id, { bytes }] of this.storage.blobs) await copy.put(id, bytes)
    for (const file of await readdir(folder, { recursive: true })) {
      const stored = this.storage.blobs.get(file.replaceAll('/', '').replace(/\.f$/, '') as BlobId)
      if (stored) await utimes(path.join(folder, file), stored.timestamp / 1000, stored.timestamp / 1000)
    }
    const owner = { username: 'default', hostname: 'default' }
    return kopiaRepository(t, { storage: { path: folder }, connect: true, password, ...owner })
  }

  /** Kopia verifies a copy and finds every snapshot that must be there. */
  async assertKopiaVerifies(t: TestScope): Promise<void> {
    const kopia = await this.copyForKopia(t)
    await kopia.verify()
    const listed = await kopia.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    const ids = new Set(listed.map(({ id }) => id))
    for (const id of this.snapshots.keys()) assert.ok(ids.has(id), `kopia does not list snapshot ${id}`)
  }

  async #upload(repository: Repository): Promise<Outcome> {
    await this.#change()
    const { snapshot, ...rest } = await repository.writing({}, writer =>
      uploadTree(writer, this.folder, { source, applyRetention: false }),
    )
    assert.equal(snapshot.incomplete, undefined, JSON.stringify(rest))
    this.snapshots.set(snapshot.id, await listFolder(this.folder))
    return { findings: [] }
  }

  async #delete(repository: Repository): Promise<Outcome> {
    const id = this.#random.pick([...this.snapshots.keys()])
    // Whether a snapshot whose deletion fails is still there nobody can tell.
    this.snapshots.delete(id)
    await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [id]))
    return { findings: [] }
  }

  async #restore(repository: Repository): Promise<Outcome> {
    const [id, listing] = this.#random.pick([...this.snapshots])
    const { rootEntry } = await findSnapshot(repository.manifests, id)
    this.#restored += 1
    const target = path.join(this.#scratch, `restored-${this.#restored}`)
    const { failed, problems } = await restoreTree({
      contents: repository.contents,
      entry: rootEntry,
      target,
    })
    assert.equal(failed, problems.length)
    if (failed === 0) assert.deepEqual(await listFolder(target), listing)
    return { findings: problems.map(({ error }) => error) }
  }

  /** Some files are new, some longer, as between two snapshots of anything. */
  async #change(): Promise<void> {
    const random = this.#random
    for (let n = 0; n < 6; n += 1) {
      const name = path.join(this.folder, random.pick(['', 'nested']), `file-${random.integer(0, 30)}`)
      await appendFile(name, random.bytes(random.integer(1, 8000)))
    }
  }
}
