import assert from 'node:assert/strict'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { waitForRestoredVolumes } from './restore-helper.ts'

const uid = '6f1c4a52-0000-4000-8000-1234567890ab'

describe('the restore helper', () => {
  let folder: string
  let lines: string[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-restores-'))
    lines = []
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const volume = async (name: string) => {
    await mkdir(path.join(folder, name, '.velero'), { recursive: true })
    return (restore: string) => writeFile(path.join(folder, name, '.velero', restore), '')
  }

  /** Waits with a clock that does what happens between two looks; without anything left to happen it gives up. */
  const wait = async (
    between: readonly (() => Promise<unknown>)[] = [],
    signal = new AbortController().signal,
  ) => {
    const happens = [...between]
    await waitForRestoredVolumes(
      uid,
      {
        folder,
        say: line => lines.push(line),
        sleep: async (_ms, given) => {
          given.throwIfAborted()
          const next = happens.shift()
          if (next === undefined) throw new Error('still waiting')
          await next()
        },
      },
      signal,
    )
  }

  it('goes on only when every volume has the file of this restore', async () => {
    const [first, second] = [await volume('first'), await volume('second')]
    await first(uid)
    await assert.rejects(wait(), /still waiting/)
    await wait([() => second('another-restore'), () => second(uid)])
    assert.ok(lines.includes(`${path.join(folder, 'second')} is not restored yet`))
    assert.equal(lines.at(-1), 'All volumes are restored')
  })

  it('removes the folder of such files, and nothing else in the volume', async () => {
    const done = await volume('data')
    await writeFile(path.join(folder, 'data', 'kept'), 'content')
    await done(uid)
    await wait()
    assert.deepEqual(await readdir(path.join(folder, 'data')), ['kept'])
  })

  it('waits for a folder of volumes that is not there yet', async () => {
    const elsewhere = folder
    folder = path.join(elsewhere, 'later')
    await assert.rejects(wait(), /still waiting/)
    assert.match(lines[0] ?? '', /cannot be listed: ENOENT/)
    await wait([async () => (await volume('data'))(uid)])
    folder = elsewhere
  })

  it('leaves files and links beside the volumes alone', async () => {
    await (await volume('data'))(uid)
    const outside = await mkdtemp(path.join(os.tmpdir(), 'lateen-outside-'))
    await mkdir(path.join(outside, '.velero'))
    await symlink(outside, path.join(folder, 'link'))
    await writeFile(path.join(folder, 'file'), '')
    await wait()
    assert.deepEqual(await readdir(outside), ['.velero'])
    await rm(outside, { recursive: true })
  })

  it('removes a link that poses as the folder of such files, not what it leads to', async () => {
    const outside = await mkdtemp(path.join(os.tmpdir(), 'lateen-outside-'))
    await writeFile(path.join(outside, uid), 'not ours')
    await mkdir(path.join(folder, 'data'))
    await symlink(outside, path.join(folder, 'data', '.velero'))
    await wait()
    await assert.rejects(lstat(path.join(folder, 'data', '.velero')), { code: 'ENOENT' })
    assert.equal(await readFile(path.join(outside, uid), 'utf8'), 'not ours')
    await rm(outside, { recursive: true })
  })

  it('says each thing once, however long it waits', async () => {
    const done = await volume('data')
    await wait([async () => {}, async () => {}, () => done(uid)])
    assert.equal(lines.filter(line => line.endsWith('is not restored yet')).length, 1)
  })

  it('stops when told to, between two looks', async () => {
    await volume('data')
    const stop = new AbortController()
    const reason = new Error('told to')
    await assert.rejects(wait([async () => stop.abort(reason)], stop.signal), reason)
    assert.deepEqual(await readdir(path.join(folder, 'data')), ['.velero'])
  })

  for (const strange of ['', '.', '..', '../data', 'a/b', 'a b']) {
    it(`refuses ${JSON.stringify(strange)} as the uid of a restore`, async () => {
      await volume('data')
      const ports = { folder, say: () => {}, sleep: async () => {} }
      await assert.rejects(waitForRestoredVolumes(strange, ports, AbortSignal.timeout(5_000)), RangeError)
    })
  }
})
