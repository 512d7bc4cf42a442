import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { blobId } from '../../blob/storage.ts'
import { systemClock } from '../../clock/clock.ts'
import type { StorageType } from '../backup-repo.ts'
import { openRepoStorage } from './open-repo-storage.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lateen-storage-'))
})
after(() => rm(folder, { recursive: true }))

const open = (storageOptions: Record<string, string>, storageType: string = 'filesystem') =>
  openRepoStorage(
    { storageType: storageType as StorageType, storageOptions },
    { create: true, clock: systemClock },
  )

describe('the storage of a repository', () => {
  it('is the folder below the path that the prefix names', async () => {
    await using storage = await open({ fspath: folder, prefix: 'kopia/ns/' })
    await storage.put(blobId('hello'), Buffer.from('world'))
    assert.equal(await readFile(path.join(folder, 'kopia/ns/hello.f'), 'utf8'), 'world')
  })

  it('is not opened when an option is missing or wrong', async () => {
    for (const [options, type] of [
      [{}, 'filesystem'],
      [{ fspath: '' }, 'filesystem'],
      [{ prefix: 'p/' }, 's3'],
      [{ fspath: path.join(folder, 'x'), uploadBytes: 'fast' }, 'filesystem'],
      [{ fspath: path.join(folder, 'x') }, 'tape'],
    ] as const) {
      await assert.rejects(open(options, type), { code: 'INVALID_ARGUMENT' })
    }
  })

  it('passes no more bytes per second than it may', async () => {
    const times: number[] = []
    let now = 0
    const clock = {
      now: () => now,
      sleep: async (ms: number) => {
        now += ms
        times.push(ms)
      },
    }
    await using storage = await openRepoStorage(
      {
        storageType: 'filesystem',
        storageOptions: { fspath: path.join(folder, 'slow'), uploadBytes: '1000' },
      },
      { create: true, clock },
    )
    for (let n = 0; n < 5; n += 1) await storage.put(blobId(`b${n}`), Buffer.alloc(1000))
    assert.ok(now >= 3000, `${now} ms for 5000 bytes at 1000 per second`)
    assert.ok(times.length > 0)
  })
})
