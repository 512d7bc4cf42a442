import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { withMachineLock } from './machine-lock.ts'

const skip = process.platform === 'linux' ? false : 'the lock is held by flock, which is part of Linux'

describe('withMachineLock', { skip }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-lock-'))
  after(() => rm(folder, { recursive: true }))

  it('lets one holder in at a time', async () => {
    const lock = path.join(folder, 'one')
    let inside = 0
    let most = 0
    const work = async () => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise(resolve => setTimeout(resolve, 20))
      inside -= 1
    }
    await Promise.all([1, 2, 3].map(() => withMachineLock(lock, work)))
    assert.equal(most, 1)
  })

  it('is free again when its holder throws', async () => {
    const lock = path.join(folder, 'thrown')
    await assert.rejects(
      withMachineLock(lock, () => Promise.reject(new Error('the work failed'))),
      /the work failed/,
    )
    assert.equal(await withMachineLock(lock, async () => 'held'), 'held')
  })

  it('is free again when its holder is killed outright', async () => {
    const lock = path.join(folder, 'killed')
    const script = `import { withMachineLock } from ${JSON.stringify(path.join(import.meta.dirname, 'machine-lock.ts'))}
      await withMachineLock(${JSON.stringify(lock)}, async () => { console.log('held'); await new Promise(r => setTimeout(r, 60000)) })`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: holder.stdout })
    assert.deepEqual(await once(lines, 'line'), ['held'])
    holder.kill('SIGKILL')
    assert.equal(await withMachineLock(lock, async () => 'taken over'), 'taken over')
  })
})
