import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createProgramFolders } from './program-folders.ts'

async function givenParent(t: TestContext): Promise<string> {
  const parent = await mkdtemp(path.join(tmpdir(), 'lateen-folders-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  return parent
}

/** A process whose environment names a folder, in a group of its own. */
function sleeping(folder: string) {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("runs")'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PLUGIN_UNIX_SOCKET_DIR: folder },
  })
}

describe('Folders for the sockets of programs', () => {
  it('are for nobody else, and gone in the end', async t => {
    const parent = await givenParent(t)
    const folders = await createProgramFolders({ parent, pid: 1234, isAlive: () => true })
    const [one, other] = await Promise.all([folders.create(), folders.create()])
    assert.notEqual(one, other)
    for (const folder of [one, path.dirname(one)]) assert.equal((await stat(folder)).mode & 0o777, 0o700)
    await folders[Symbol.asyncDispose]()
    assert.deepEqual(await readdir(parent), [])
  })

  it('have room for the name of a socket, however long the path of the temporary folder is', async t => {
    // One that lives: whoever starts meanwhile removes what others have left.
    const folders = await createProgramFolders({ pid: process.pid, isAlive: () => true })
    t.after(() => folders[Symbol.asyncDispose]())
    const socket = path.join(await folders.create(), 'plugin1234567890123')
    const longest = '4194304'.length - String(process.pid).length
    assert.ok(Buffer.byteLength(socket) + longest < 104)
  })

  it('of servers that are gone are removed, others are left', async t => {
    const parent = await givenParent(t)
    const names = [
      'lateen-plugins-1-abc-000000',
      'lateen-plugins-2-abc-000000',
      'lateen-plugins-77-earlier-000000',
      'lateen-plugins-x',
      'other-1-abc-000000',
    ]
    for (const name of names) await mkdir(path.join(parent, name))
    await using folders = await createProgramFolders({ parent, pid: 77, isAlive: pid => pid === 2 })
    await using same = await createProgramFolders({ parent, pid: 77, isAlive: pid => pid === 2 })
    await folders.create()
    await same.create()
    const left = await readdir(parent)
    assert.deepEqual(left.filter(name => names.includes(name)).sort(), [
      'lateen-plugins-2-abc-000000',
      'lateen-plugins-x',
      'other-1-abc-000000',
    ])
    assert.equal(left.length, 5)
  })

  it('of servers that are gone tell which programs are left, and those are ended', {
    skip: process.platform !== 'linux',
  }, async t => {
    const parent = await givenParent(t)
    const left = path.join(parent, 'lateen-plugins-1-abc-000000', 'p1')
    const foreign = path.join(parent, 'lateen-plugins-1-abc-000000', 'p2')
    for (const folder of [left, foreign]) await mkdir(folder, { recursive: true })
    const program = sleeping(left)
    // Has the number that is noted, but is another process by now.
    const stranger = sleeping('/elsewhere')
    t.after(() => stranger.kill('SIGKILL'))
    const ended = once(program, 'exit')
    // The kernel shows no environment of a process that is still being loaded.
    await Promise.all([once(program.stdout, 'data'), once(stranger.stdout, 'data')])
    await writeFile(path.join(left, 'pid'), String(program.pid))
    await writeFile(path.join(foreign, 'pid'), String(stranger.pid))
    await using _folders = await createProgramFolders({ parent, pid: 77, isAlive: () => false })
    assert.deepEqual(await ended, [null, 'SIGKILL'])
    assert.equal(stranger.exitCode, null)
    assert.equal(stranger.signalCode, null)
  })

  for (const [when, noted] of [
    ['before it had noted its program', undefined],
    ['while it noted its program', ''],
  ] as const) {
    it(`of a server that was killed ${when} lead to that all the same`, {
      skip: process.platform !== 'linux',
    }, async t => {
      const parent = await givenParent(t)
      const left = path.join(parent, 'lateen-plugins-1-abc-000000', 'p1')
      await mkdir(left, { recursive: true })
      const program = sleeping(left)
      t.after(() => program.kill('SIGKILL'))
      const ended = once(program, 'exit')
      await once(program.stdout, 'data')
      if (noted !== undefined) await writeFile(path.join(left, 'pid'), noted)
      await using _folders = await createProgramFolders({ parent, pid: 77, isAlive: () => false })
      assert.deepEqual(await readdir(parent), [])
      const late = sleep(120_000, ['it goes on'], { ref: false })
      assert.deepEqual(await Promise.race([ended, late]), [null, 'SIGKILL'])
    })
  }
})
