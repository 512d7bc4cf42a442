import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { saveFile } from './save-file.ts'

const root = await mkdtemp(path.join(tmpdir(), 'lateen-save-'))
after(() => rm(root, { recursive: true }))

async function newFolder(): Promise<string> {
  return mkdtemp(path.join(root, 'folder-'))
}

async function* bytes(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half')
  throw new Error('broken off')
}

describe('saveFile', () => {
  it('writes a file that only its owner can read, and leaves nothing beside it', async () => {
    const folder = await newFolder()
    const file = path.join(folder, 'file')
    await saveFile(bytes('a', 'b'), { file, force: false })
    assert.equal(await readFile(file, 'utf8'), 'ab')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(folder), ['file'])
  })

  for (const force of [false, true]) {
    it(`leaves nothing of a source that breaks off${force ? ', nor harms what was there' : ''}`, async () => {
      const folder = await newFolder()
      const file = path.join(folder, 'file')
      if (force) await writeFile(file, 'old')
      await assert.rejects(saveFile(broken(), { file, force }), /broken off/)
      assert.deepEqual(await readdir(folder), force ? ['file'] : [])
      if (force) assert.equal(await readFile(file, 'utf8'), 'old')
    })
  }

  it('replaces a file only when told to', async () => {
    const file = path.join(await newFolder(), 'file')
    await writeFile(file, 'old')
    await assert.rejects(saveFile(bytes('new'), { file, force: false }), {
      code: 'EXISTS',
      message: /exists already/,
    })
    assert.equal(await readFile(file, 'utf8'), 'old')
    await saveFile(bytes('new'), { file, force: true })
    assert.equal(await readFile(file, 'utf8'), 'new')
  })

  it('does not replace a file that came to be there meanwhile', async () => {
    const file = path.join(await newFolder(), 'file')
    const source = (async function* () {
      yield Buffer.from('ours')
      await writeFile(file, 'theirs')
    })()
    await assert.rejects(saveFile(source, { file, force: false }), { code: 'EXISTS' })
    assert.equal(await readFile(file, 'utf8'), 'theirs')
  })

  it('writes into a device as it is', async () => {
    await saveFile(bytes('x'), { file: '/dev/null', force: true })
    assert.equal((await stat('/dev/null')).isFile(), false)
  })

  it('refuses a folder, and a place that is not there', async () => {
    const folder = await newFolder()
    await mkdir(path.join(folder, 'in'))
    await assert.rejects(saveFile(bytes('x'), { file: path.join(folder, 'in'), force: true }), {
      code: 'FILE',
    })
    await assert.rejects(saveFile(bytes('x'), { file: path.join(folder, 'no/file'), force: false }), {
      code: 'FILE',
    })
  })
})
