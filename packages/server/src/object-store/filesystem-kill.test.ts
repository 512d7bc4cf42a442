import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { announceSeed, rotatingSeeds, seededRandom } from '../../../../tools/test/seeds.ts'
import { FilesystemStore } from './filesystem.ts'
import { createSignedDownloads } from './signed-downloads.ts'

const writer = new URL('./testing/overwrite-forever.ts', import.meta.url).pathname
const clock = { now: () => Date.now(), sleep: (ms: number) => sleep(ms) }

function newStore(): FilesystemStore {
  const downloads = createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: () => '' })
  return new FilesystemStore({ clock, downloads, randomName: () => randomBytes(8).toString('hex') })
}

describe('a filesystem put that is killed', () => {
  for (const seed of rotatingSeeds({ name: 'killed-put', count: 3 })) {
    it(`leaves the old object or the new one, whole (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const path = await mkdtemp(join(tmpdir(), 'lateen-kill-'))
      test.after(() => rm(path, { recursive: true }))
      await mkdir(join(path, 'b'))
      const child = spawn(process.execPath, [writer, path, String(seed)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      await sleep(seededRandom(seed).integer(0, 150))
      child.kill('SIGKILL')
      await once(child, 'exit')

      const store = newStore()
      await store.init({ config: { path, bucket: 'b' } })
      const keys = await Array.fromAsync(store.listObjects({ bucket: 'b', prefix: '' }))
      assert.ok(keys.length > 0, 'the writer had finished its first object')
      for (const key of keys) {
        const bytes = await buffer(await store.getObject({ bucket: 'b', key }))
        const sum = createHash('sha256').update(bytes.subarray(32)).digest()
        assert.deepEqual(bytes.subarray(0, 32), sum, `${key} is not one whole version`)
      }
    })
  }
})
