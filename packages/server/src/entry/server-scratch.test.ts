import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createServerScratch, processIsAlive } from './server-scratch.ts'

describe('createServerScratch', () => {
  let parent = ''
  const alive = new Set([7, 8])
  const open = () => createServerScratch({ parent, pid: 7, isAlive: pid => alive.has(pid) })

  before(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'lateen-scratch-test-'))
  })
  after(() => rm(parent, { recursive: true }))

  it('removes the folders of dead servers and of its predecessor, and nothing else', async () => {
    for (const name of ['server-7', 'server-8', 'server-9', 'backup-x', 'server-x']) {
      await mkdir(path.join(parent, name))
      await writeFile(path.join(parent, name, 'file'), 'bytes')
    }
    await using scratch = await open()
    assert.equal(scratch.folder, path.join(parent, 'server-7'))
    assert.deepEqual(await readdir(scratch.folder), [])
    assert.deepEqual((await readdir(parent)).toSorted(), ['backup-x', 'server-7', 'server-8', 'server-x'])
  })

  it('leaves nothing of its own', async () => {
    await using scratch = await open()
    await writeFile(path.join(scratch.folder, 'file'), 'bytes')
    await scratch[Symbol.asyncDispose]()
    assert.equal((await readdir(parent)).includes('server-7'), false)
  })
})

describe('processIsAlive', () => {
  it('holds for this process and not for one that cannot be', () => {
    assert.equal(processIsAlive(process.pid), true)
    assert.equal(processIsAlive(2 ** 30), false)
  })
})
