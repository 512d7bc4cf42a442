import assert from 'node:assert/strict'
import { access, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createCredentialFiles } from './credential-files.ts'

describe('credential files', () => {
  let folder = ''
  let count = 0
  const randomName = () => String(count++)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lateen-credential-files-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('hold the latest bytes, for this user alone, at a path that stays', async () => {
    const files = createCredentialFiles(join(folder, 'a'), randomName)
    const path = await files.write({ name: 'cloud', key: 'key' }, Buffer.from('first'))
    assert.equal(await files.write({ name: 'cloud', key: 'key' }, Buffer.from('second')), path)
    assert.equal(await readFile(path, 'utf8'), 'second')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal((await stat(join(folder, 'a'))).mode & 0o777, 0o700)
    assert.equal((await readdir(join(folder, 'a'))).length, 1)
  })

  it('are apart for secrets and keys that differ', async () => {
    const files = createCredentialFiles(join(folder, 'b'), randomName)
    const one = await files.write({ name: 'a-b', key: 'c' }, Buffer.from('1'))
    const other = await files.write({ name: 'a', key: 'b-c' }, Buffer.from('2'))
    assert.notEqual(one, other)
    assert.equal(await readFile(one, 'utf8'), '1')
  })

  it('are gone after disposal, with the folder that was made for them', async () => {
    const files = createCredentialFiles(join(folder, 'c'), randomName)
    await files.write({ name: 'cloud', key: 'key' }, Buffer.from('x'))
    await files[Symbol.asyncDispose]()
    await assert.rejects(access(join(folder, 'c')))
  })

  it('leave a folder alone that was there before, and what others put into it', async () => {
    const shared = join(folder, 'd')
    await mkdir(shared)
    await writeFile(join(shared, 'precious'), '')
    const files = createCredentialFiles(shared, randomName)
    await files.write({ name: 'cloud', key: 'key' }, Buffer.from('x'))
    await files[Symbol.asyncDispose]()
    assert.deepEqual(await readdir(shared), ['precious'])
  })
})
