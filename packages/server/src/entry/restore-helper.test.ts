import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { waitForRestoredVolumes } from './restore-helper.ts'

const uid = '6f1c4a52-0000-4000-8000-1234567890ab'

describe('the restore helper', () => {
  let folder: string
  let stateFolder: string
  let lines: string[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-restores-'))
    stateFolder = await mkdtemp(path.join(os.tmpdir(), 'lateen-restore-state-'))
    lines = []
  })
  afterEach(async () => {
    for (const each of [folder, stateFolder]) await rm(each, { recursive: true, force: true })
  })

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
        stateFolder,
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

  it('does not wait for ever when it runs again, as after a restart of the node', async () => {
    await (await volume('data'))(uid)
    await wait()
    await wait()
    assert.equal(lines.at(-1), 'All volumes were restored before this container ran again')
    assert.deepEqual(await readdir(path.join(folder, 'data')), [])
  })

  it('waits again when it was stopped before, or has waited for another restore', async () => {
    const done = await volume('data')
    await assert.rejects(wait(), /still waiting/)
    await assert.rejects(wait(), /still waiting/)
    await writeFile(path.join(stateFolder, 'another-restore'), '')
    await wait([() => done(uid)])
  })

  it('remembers that it has waited before it takes away what else tells', async () => {
    await (await volume('data'))(uid)
    let there: string[] = []
    const say = (line: string) => {
      if (line !== 'All volumes are restored') return
      there = [stateFolder, path.join(folder, 'data', '.velero')].flatMap(each => readdirSync(each))
    }
    const ports = { folder, stateFolder, say, sleep: async () => {} }
    await waitForRestoredVolumes(uid, ports, AbortSignal.timeout(5_000))
    assert.deepEqual(there, [uid, uid])
    assert.deepEqual(await readdir(path.join(folder, 'data')), [])
  })

  it('lets the pod start where it cannot remember, and says so where it should', async () => {
    const done = await volume('data')
    await done(uid)
    await symlink(path.join(folder, 'absent', 'file'), path.join(stateFolder, uid))
    await wait()
    assert.ok(lines.some(line => line.startsWith(`${path.join(stateFolder, uid)} cannot be written: ENOENT`)))
    await rm(stateFolder, { recursive: true })
    await (await volume('data'))(uid)
    lines = []
    await wait()
    assert.deepEqual(lines, [`${path.join(folder, 'data')} is restored`, 'All volumes are restored'])
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
      const ports = { folder, stateFolder, say: () => {}, sleep: async () => {} }
      await assert.rejects(waitForRestoredVolumes(strange, ports, AbortSignal.timeout(5_000)), RangeError)
    })
  }
})
