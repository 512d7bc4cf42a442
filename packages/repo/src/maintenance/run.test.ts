import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type MemoryStorage, memoryStorage } from '../blob/memory.ts'
import { blobId } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { parseContentId } from '../index-format/content-id.ts'
import { createRepository, openRepository, type Repository } from '../repository.ts'
import { deleteSnapshots } from '../snapshot/delete-snapshots.ts'
import {
  emptyStats,
  type SnapshotManifest,
  snapshotLabels,
  snapshotPayload,
} from '../snapshot/snapshot-manifest.ts'
import { storeDirectory, storeFile } from '../snapshot/testing/store-entries.ts'
import { readSchedule, scheduleBlobId, takeLease } from './lease.ts'
import { defaultMaintenanceParams } from './params.ts'
import { loadMaintenanceParams, saveMaintenanceParams } from './params-manifest.ts'
import { formatPlan } from './plan.ts'
import { previewMaintenance, runMaintenance } from './run.ts'
import { safetyNone } from './safety.ts'

const hour = 3_600_000
const day = 24 * hour
const password = 'p'
const identity = 'default@default'

/** A clock that stands still until told. */
class ManualClock implements Clock {
  time = Date.UTC(2026, 0, 1)
  now(): number {
    return this.time
  }
  async sleep(ms: number): Promise<void> {
    this.time += ms
  }
}

interface Saved {
  id: string
  contents: ContentId[]
}

let clock: ManualClock
let storage: MemoryStorage
let repository: Repository

beforeEach(async () => {
  clock = new ManualClock()
  storage = memoryStorage({ clock })
  repository = await createRepository({ storage, password, clock, keyAlgorithm: 'pbkdf2-sha256-600000' })
})

/** A snapshot of one folder with files of these texts; what it needs comes back with its id. */
async function save(
  name: string,
  files: readonly string[],
  more: Partial<SnapshotManifest> = {},
): Promise<Saved> {
  const saved = await repository.writing({}, async ({ manifests, objects }) => {
    const entries = []
    for (const [number, data] of files.entries())
      entries.push(await storeFile(objects, `f${number}`, { data }))
    const rootEntry = await storeDirectory(objects, name, { entries })
    const snapshot: SnapshotManifest = {
      ...{
        id: '',
        source: { host: 'h', userName: 'u', path: `/${name}` },
        description: '',
        tags: {},
        pins: [],
      },
      ...{ startTime: 1n, endTime: 2n, stats: emptyStats(), rootEntry, ...more },
    }
    const id = await manifests.put(snapshotLabels(snapshot), snapshotPayload(snapshot))
    return { id, contents: [rootEntry, ...entries].map(({ obj }) => parseContentId(obj)) }
  })
  await repository.refresh()
  return saved
}

async function forget(...ids: string[]): Promise<void> {
  await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, ids))
  await repository.refresh()
}

/** Reads everything that a snapshot needs with a client of its own, as anybody else would. */
async function readAll(saved: Saved): Promise<void> {
  const fresh = await openRepository({ storage, password, clock, rehash: true })
  for (const id of saved.contents) await fresh.contents.read(id)
}

async function known(ids: readonly ContentId[]): Promise<boolean[]> {
  const fresh = await openRepository({ storage, password, clock })
  return ids.map(id => fresh.contents.info(id) !== undefined)
}

function packs(): string[] {
  return [...storage.blobs.keys()].filter(id => /^[pq]/.test(id))
}

const text = (seed: string) => seed.repeat(400)

describe('maintenance of a repository', () => {
  it('frees what only a deleted snapshot needed, after the waiting times and not before', async () => {
    const shared = text('shared')
    const kept = await save('kept', [shared, text('kept')])
    const gone = await save('gone', [shared, text('gone')])
    const onlyGone = gone.contents.filter(id => !kept.contents.includes(id))
    const packsOfGone = new Set(onlyGone.map(id => repository.contents.info(id)?.packBlobId ?? ''))
    await forget(gone.id)

    const states: string[] = []
    for (let days = 0; days < 8; days += 1) {
      await runMaintenance(repository, { identity, mode: 'full' })
      await readAll(kept)
      const exists = (await known(onlyGone)).some(found => found)
      const stored = [...packsOfGone].some(id => storage.blobs.has(blobId(id)))
      states.push(`${exists ? 'known' : 'dropped'} ${stored ? 'stored' : 'deleted'}`)
      clock.time += day + hour
    }
    // The first run finds it too recent, the second marks it, the third has two collections behind it whose earlier one
    // began before the mark, the fourth drops it and deletes its packs.
    assert.deepEqual(states.slice(0, 3), ['known stored', 'known stored', 'known stored'])
    assert.equal(states.at(-1), 'dropped deleted')
    assert.ok(
      states.indexOf('dropped deleted') <= 4,
      `space came back at day ${states.indexOf('dropped deleted')}`,
    )
  })

  it('frees everything at once when nobody else is there and no safety is asked for', async () => {
    const kept = await save('kept', [text('kept')])
    const gone = await save('gone', [text('gone')])
    await forget(gone.id)
    clock.time += 10_000
    await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
    assert.deepEqual(await known(gone.contents), [false, false])
    await readAll(kept)
    const referenced = new Set<string>()
    const fresh = await openRepository({ storage, password, clock })
    for await (const { packBlobId } of fresh.contents.entries({ includeDeleted: true }))
      referenced.add(packBlobId)
    assert.deepEqual(new Set(packs()), referenced)
  })

  it('makes a content live again that a snapshot needs although it was marked deleted', async () => {
    const first = await save('first', [text('common')])
    await forget(first.id)
    clock.time += 2 * day
    await runMaintenance(repository, { identity, mode: 'full' })
    const [, file] = first.contents
    assert.ok(file)
    assert.equal(repository.contents.info(file)?.deleted, true)
    // Another client that has not refreshed reuses the content.
    await repository.writing({}, async ({ manifests, objects }) => {
      const entry = { name: 'f', type: 'f' as const, mode: 0o644, size: 1, mtime: 1n, uid: 0, gid: 0 }
      const rootEntry = await storeDirectory(objects, 'second', {
        entries: [{ ...entry, obj: file as never }],
      })
      const snapshot: SnapshotManifest = {
        ...{
          id: '',
          source: { host: 'h', userName: 'u', path: '/second' },
          description: '',
          tags: {},
          pins: [],
        },
        ...{ startTime: 1n, endTime: 2n, stats: emptyStats(), rootEntry },
      }
      await manifests.put(snapshotLabels(snapshot), snapshotPayload(snapshot))
    })
    for (let days = 0; days < 5; days += 1) {
      clock.time += day + hour
      await runMaintenance(repository, { identity, mode: 'full' })
      await readAll({ id: '', contents: [file] })
    }
    assert.equal(repository.contents.info(file)?.deleted, false)
  })

  it('gathers the contents of short packs in one pack and deletes the old ones a run later', async () => {
    const saved: Saved[] = []
    for (let n = 0; n < 12; n += 1) saved.push(await save(`s${n}`, [text(`content ${n}`)]))
    const before = packs()
    clock.time += 2 * day
    await runMaintenance(repository, { identity, mode: 'full' })
    assert.ok(
      before.every(id => storage.blobs.has(blobId(id))),
      'a run that rewrites deletes nothing it moved',
    )
    clock.time += 2 * day
    await runMaintenance(repository, { identity, mode: 'full' })
    assert.ok(before.filter(id => id.startsWith('p')).every(id => !storage.blobs.has(blobId(id))))
    assert.equal(packs().filter(id => id.startsWith('p')).length, 1)
    for (const one of saved) await readAll(one)
  })

  it('keeps a pack that was referenced when the run began, until the next run', async () => {
    const gone = await save('gone', [text('gone')])
    const old = packs()
    await forget(gone.id)
    clock.time += 2 * day
    let again: Saved | undefined
    // What the run has marked deleted is stored anew by somebody else before packs are looked at.
    const list = async function* (...args: Parameters<MemoryStorage['list']>) {
      if (args[0] === 'p' && again === undefined) {
        await repository.refresh()
        again = await save('again', [text('gone')])
      }
      yield* storage.list(...args)
    }
    const watched: MemoryStorage = Object.create(storage, { list: { value: list } })
    const maintainer = await openRepository({ storage: watched, password, clock })
    await runMaintenance(maintainer, { mode: 'full', identity })
    assert.ok(again !== undefined)
    assert.notDeepEqual(packs(), old)
    assert.deepEqual(
      old.filter(id => !packs().includes(id)),
      [],
    )
    clock.time += 2 * day
    await maintainer.refresh()
    await runMaintenance(maintainer, { mode: 'full', identity })
    assert.ok(old.some(id => !packs().includes(id)))
    await readAll(again)
  })

  it('keeps packs without an index while their session may be under way', async () => {
    const name = (age: string, session: string) => blobId(`p${age.repeat(32)}-${session}`)
    const dead = name('a', 'sdeadbeefdeadbeef147')
    await storage.put(dead, new Uint8Array(100))
    const stuck = repository.writing({}, async ({ contents }) => {
      await contents.write(Buffer.from(text('never flushed')))
      clock.time += 12 * hour
      await runMaintenance(repository, { identity, mode: 'full' })
      assert.ok(storage.blobs.has(dead), 'too young')
      clock.time += 13 * hour
      await runMaintenance(repository, { identity, mode: 'full' })
      assert.ok(!storage.blobs.has(dead), 'old enough')
      const markers = [...storage.blobs.keys()].filter(id => /^s[0-9a-f]/.test(id))
      assert.equal(markers.length, 1)
      const session = /-(s.*)$/.exec(markers[0] ?? '')?.[1] ?? ''
      const unfinished = name('b', session)
      await storage.put(unfinished, new Uint8Array(100))
      clock.time += 2 * day
      await runMaintenance(repository, { identity, mode: 'full' })
      assert.ok(storage.blobs.has(unfinished), 'its session has a marker')
      clock.time += 2 * day
      await runMaintenance(repository, { identity, mode: 'full' })
      assert.ok(!storage.blobs.has(unfinished), 'its session has been silent for four days')
      throw new Error('dies')
    })
    await assert.rejects(stuck, { message: 'dies' })
  })

  it('turns epochs of many index blobs into few and deletes what they replace', async () => {
    const saved: Saved[] = []
    for (let days = 0; days < 14; days += 1) {
      for (let n = 0; n < 11; n += 1) {
        clock.time += 2.2 * hour
        saved.push(await save(`d${days}n${n}`, [text(`${days} ${n}`)]))
      }
      await runMaintenance(repository, { identity, mode: 'full' })
    }
    const names = [...storage.blobs.keys()].filter(id => id.startsWith('x'))
    const writeEpoch = Math.max(...names.filter(id => id.startsWith('xe')).map(id => Number(id.slice(2))))
    assert.ok(writeEpoch >= 4, `the write epoch is ${writeEpoch}`)
    assert.ok(names.some(id => id.startsWith('xs')))
    const uncompacted = names.filter(id => id.startsWith('xn')).map(id => Number(/^xn(\d+)_/.exec(id)?.[1]))
    assert.ok(Math.min(...uncompacted) > 0, 'the indexes of epoch 0 are deleted')
    assert.ok(names.filter(id => id.startsWith('xe')).length <= 3, 'old markers are deleted')
    const fresh = await openRepository({ storage, password, clock, rehash: true })
    for (const { contents } of saved) for (const id of contents) await fresh.contents.read(id)
  })

  it('runs when it is due, full before quick, and says when it is due next', async () => {
    const first = await runMaintenance(repository, { identity })
    assert.ok(first.ran && first.plan.mode === 'full')
    const second = await runMaintenance(repository, { identity })
    assert.deepEqual(second, {
      ran: false,
      nextFull: BigInt(clock.time + day) * 1_000_000n,
      nextQuick: BigInt(clock.time + hour) * 1_000_000n,
    })
    clock.time += hour
    const third = await runMaintenance(repository, { identity })
    assert.ok(third.ran && third.plan.mode === 'quick')
  })

  it('records every task that ran, with the statistics Kopia keeps', async () => {
    await save('kept', [text('kept')])
    await runMaintenance(repository, { identity, mode: 'full' })
    const schedule = await readSchedule({ storage, clock, key: repository.format.keys.maintenance })
    const expected = [
      ...['advance-epoch', 'cleanup-epoch-markers', 'cleanup-logs', 'compact-single-epoch'],
      ...['delete-superseded-epoch-indexes', 'full-delete-blobs', 'full-rewrite-contents'],
      ...['generate-epoch-range-index', 'snapshot-gc'],
    ]
    assert.deepEqual(new Set(Object.keys(schedule.runs)), new Set(expected))
    const [gc] = schedule.runs['snapshot-gc'] ?? []
    assert.equal(gc?.success, true)
    assert.equal(gc?.extra[0]?.kind, 'snapshotGCStats')
  })
})

describe('maintenance refuses to run', () => {
  it('for a client that is not the owner, unless it is forced', async () => {
    const other = { identity: 'other@host', mode: 'full' } as const
    await assert.rejects(runMaintenance(repository, other), { code: 'NOT_OWNER' })
    assert.equal(storage.blobs.has(scheduleBlobId), false)
    const report = await runMaintenance(repository, { ...other, force: true })
    assert.ok(report.ran)
  })

  it('when the clock of the storage differs by more than five minutes', async () => {
    const skewed = await openRepository({
      storage: memoryStorage({ clock: { now: () => clock.time + 6 * 60_000 }, blobs: storage.blobs }),
      password,
      clock,
    })
    await assert.rejects(runMaintenance(skewed, { identity, mode: 'full' }), { code: 'CLOCK_SKEW' })
  })

  it('any further when another maintainer begins, and deletes nothing after that', async () => {
    const gone = await save('gone', [text('gone')])
    await forget(gone.id)
    clock.time += 3 * day
    const params = await loadMaintenanceParams(repository.manifests)
    const store = { storage, clock, key: repository.format.keys.maintenance }
    const begun: string[] = []
    const run = runMaintenance(repository, {
      identity,
      mode: 'full',
      onStep: event => {
        if (event.kind !== 'begin') return
        begun.push(event.step.task)
        if (event.step.task !== 'full-rewrite-contents') return
        void readSchedule(store).then(schedule => takeLease(store, { mode: 'full', params, schedule }))
      },
    })
    await assert.rejects(run, { code: 'LOCKED' })
    const history = await readSchedule(store)
    assert.equal(history.runs['cleanup-logs'], undefined)
    assert.equal(begun.includes('cleanup-logs'), false)
  })

  it('when a snapshot cannot be read whole, because nobody knows what it needs', async () => {
    await save('broken', [text('x')], { rootEntry: brokenEntry })
    clock.time += 3 * day
    const before = packs()
    await assert.rejects(runMaintenance(repository, { identity, mode: 'full', safety: safetyNone }), {
      code: 'CORRUPT',
    })
    assert.deepEqual(packs(), before)
    const schedule = await readSchedule({ storage, clock, key: repository.format.keys.maintenance })
    assert.equal(schedule.runs['snapshot-gc']?.[0]?.success, false)
  })
})

const brokenEntry = {
  ...{ name: '', type: 'd' as const, mode: 0o755, size: 0, mtime: 1n, uid: 0, gid: 0 },
  obj: 'k00000000000000000000000000000000' as never,
}

describe('a plan of maintenance', () => {
  it('says what each task would do and changes nothing', async () => {
    const gone = await save('gone', [text('gone')])
    await save('kept', [text('kept')])
    await forget(gone.id)
    clock.time += 2 * day
    const before = new Map(storage.blobs)
    const plan = await previewMaintenance(repository, { identity, mode: 'full' })
    assert.deepEqual(new Map(storage.blobs), before)
    assert.ok(plan)
    const lines = formatPlan(plan)
    assert.ok(
      lines.some(line => /mark-deleted 2 contents \(\d+ bytes\): no snapshot needs them/.test(line)),
      lines.join('\n'),
    )
    assert.ok(lines.some(line => line.startsWith('skip full-drop-deleted-content')))
  })

  it('names the packs that a run then deletes', async () => {
    const gone = await save('gone', [text('gone')])
    await save('kept', [text('kept')])
    await forget(gone.id)
    for (let days = 0; days < 2; days += 1) {
      clock.time += 2 * day
      await runMaintenance(repository, { identity, mode: 'full' })
    }
    clock.time += 2 * day
    const plan = await previewMaintenance(repository, { identity, mode: 'full' })
    const promised = plan?.steps
      .find(({ task }) => task === 'full-delete-blobs')
      ?.effects?.find(({ verb }) => verb === 'delete')?.blobs
    const before = new Set(storage.blobs.keys())
    await runMaintenance(repository, { identity, mode: 'full' })
    const deleted = [...before].filter(id => /^[pqs]/.test(id) && !storage.blobs.has(id))
    assert.ok(deleted.length > 0)
    assert.deepEqual(new Set<string>(promised), new Set<string>(deleted))
  })
})

describe('the parameters of maintenance', () => {
  it('name the creator as owner, and another after a change of ownership', async () => {
    const params = await loadMaintenanceParams(repository.manifests)
    assert.deepEqual(params, defaultMaintenanceParams(identity))
    await saveMaintenanceParams(repository, { ...params, owner: 'new@owner' })
    await repository.refresh()
    assert.equal((await loadMaintenanceParams(repository.manifests)).owner, 'new@owner')
  })
})
