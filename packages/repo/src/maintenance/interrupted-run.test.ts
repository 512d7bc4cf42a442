import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { announceSeed, rotatingSeeds } from '../../../../tools/test/seeds.ts'
import { type MemoryStorage, memoryStorage, type StoredBlob } from '../blob/memory.ts'
import type { BlobId, BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { RepoError } from '../errors/repo-error.ts'
import { type ContentId, parseContentId } from '../index-format/content-id.ts'
import { createRepository, openRepository } from '../repository.ts'
import { deleteSnapshots } from '../snapshot/delete-snapshots.ts'
import {
  emptyStats,
  type SnapshotManifest,
  snapshotLabels,
  snapshotPayload,
} from '../snapshot/snapshot-manifest.ts'
import { storeDirectory, storeFile } from '../snapshot/testing/store-entries.ts'
import { runMaintenance } from './run.ts'
import { safetyNone } from './safety.ts'

const password = 'p'
const identity = 'default@default'

class ManualClock implements Clock {
  time = Date.UTC(2026, 0, 1)
  now(): number {
    return this.time
  }
  async sleep(ms: number): Promise<void> {
    this.time += ms
  }
}

/** A repository with ten snapshots of which every other one is deleted, and what the others need. */
async function halfDeleted(clock: Clock) {
  const storage = memoryStorage({ clock })
  const repository = await createRepository({
    storage,
    password,
    clock,
    keyAlgorithm: 'pbkdf2-sha256-600000',
  })
  const needed = new Set<ContentId>()
  const gone: string[] = []
  for (let n = 0; n < 10; n += 1) {
    await repository.writing({}, async ({ objects, manifests }) => {
      const file = await storeFile(objects, 'f', { data: `content ${n} `.repeat(200) })
      const common = await storeFile(objects, 'g', { data: 'common '.repeat(200) })
      const rootEntry = await storeDirectory(objects, '', { entries: [file, common] })
      const snapshot: SnapshotManifest = {
        ...{
          id: '',
          source: { host: 'h', userName: 'u', path: `/${n}` },
          description: '',
          tags: {},
          pins: [],
        },
        ...{ startTime: 1n, endTime: 2n, stats: emptyStats(), rootEntry },
      }
      const id = await manifests.put(snapshotLabels(snapshot), snapshotPayload(snapshot))
      if (n % 2 === 0) gone.push(id)
      else for (const { obj } of [rootEntry, file, common]) needed.add(parseContentId(obj))
    })
  }
  await repository.refresh()
  await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, gone))
  return { storage, needed }
}

/** A storage whose power goes out before its n-th change. */
function dyingAfter(changes: number, storage: MemoryStorage): BlobStorage & { died(): boolean } {
  let left = changes
  const change = () => {
    left -= 1
    if (left < 0) throw new RepoError('STORAGE_FAILED', { message: 'The power went out' })
  }
  return {
    ...storage,
    died: () => left < 0,
    put: async (id, data, options) => {
      change()
      await storage.put(id, data, options)
    },
    delete: async (id, options) => {
      change()
      await storage.delete(id, options)
    },
  }
}

describe('maintenance that is cut off', () => {
  for (const seed of rotatingSeeds({ name: 'interrupted maintenance', count: 1, soakCount: 4 }))
    it(`before a write or deletion loses nothing, and the next run completes (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const clock = new ManualClock()
      const { storage: template, needed } = await halfDeleted(clock)
      clock.time += 60_000
      // Every fourth change is cut off, others each time.
      for (let changes = seed % 4; ; changes += 4) {
        const blobs = new Map<BlobId, StoredBlob>(template.blobs)
        const storage = memoryStorage({ clock, blobs })
        const dying = dyingAfter(changes, storage)
        const victim = await openRepository({ storage: dying, password, clock })
        const options = { identity, mode: 'full', safety: safetyNone } as const
        const completed = await runMaintenance(victim, options).then(
          () => true,
          () => false,
        )
        assert.equal(completed, !dying.died())

        clock.time += 60_000
        const fresh = await openRepository({ storage, password, clock, rehash: true })
        for (const id of needed) await fresh.contents.read(id)
        await runMaintenance(fresh, options)
        for (const id of needed) await fresh.contents.read(id)
        if (completed) {
          assert.ok(changes > 15, `only ${changes} changes were cut off`)
          return
        }
      }
    })
})
