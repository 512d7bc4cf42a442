import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findPrograms } from './find-programs.ts'

async function givenFolder(t: TestContext, files: Readonly<Record<string, number>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-find-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const [name, mode] of Object.entries(files)) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, '')
    await chmod(file, mode)
  }
  return folder
}

async function namesFound(folder: string) {
  const { programs, skipped } = await findPrograms(folder)
  const shown = (file: string) => path.relative(folder, file)
  return { programs: programs.map(shown), skipped: skipped.map(({ file }) => shown(file)) }
}

describe('Looking for programs', () => {
  it('finds what anybody may run, in folders too, in the order of the bytes of names', async t => {
    const folder = await givenFolder(t, {
      b: 0o755,
      B: 0o100,
      'a/z': 0o755,
      'a/é': 0o755,
      'a.b': 0o010,
      ä: 0o001,
      'Z.EXE': 0o644,
    })
    assert.deepEqual(await namesFound(folder), {
      programs: ['B', 'Z.EXE', 'a/z', 'a/é', 'a.b', 'b', 'ä'],
      skipped: [],
    })
  })

  it('leaves out what nobody may run, and tells why', async t => {
    const folder = await givenFolder(t, { 'lib.so': 0o644, plugin: 0o755 })
    const { skipped } = await findPrograms(folder)
    assert.deepEqual(skipped, [
      {
        file: path.join(folder, 'lib.so'),
        reason: 'its mode 0644 does not allow to run it',
        hint: 'If it is a plugin, chmod 0755 it',
      },
    ])
  })

  it('takes every link for a program and follows none into a folder', async t => {
    const folder = await givenFolder(t, { 'real/one': 0o755 })
    await symlink('real', path.join(folder, 'linked'))
    await symlink('/nowhere', path.join(folder, 'broken'))
    assert.deepEqual(await namesFound(folder), { programs: ['broken', 'linked', 'real/one'], skipped: [] })
  })

  it('finds none in a folder that is not there', async () => {
    assert.deepEqual(await findPrograms('/no/such/folder'), { programs: [], skipped: [] })
  })

  it('tells of a folder that is a file', async t => {
    const folder = await givenFolder(t, { plugins: 0o644 })
    const { programs, skipped } = await findPrograms(path.join(folder, 'plugins'))
    assert.deepEqual(programs, [])
    assert.match(skipped[0]?.reason ?? '', /cannot be read: ENOTDIR/)
  })
})
