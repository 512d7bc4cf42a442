import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'

const packageFolder = path.resolve(import.meta.dirname, '../..')

describe('the README', () => {
  it('has examples that run', async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-readme-'))
    t.after(() => rm(folder, { recursive: true }))
    const readme = await readFile(path.join(packageFolder, 'README.md'), 'utf8')
    const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, example = '']) => example)
    assert.equal(examples.length, 2)
    await mkdir(path.join(folder, 'node_modules/@lateen'), { recursive: true })
    await symlink(packageFolder, path.join(folder, 'node_modules/@lateen/repo'))
    await mkdir(path.join(folder, 'documents'))
    await writeFile(path.join(folder, 'documents/letter'), 'Dear reader')
    for (const [number, example] of examples.entries()) {
      const file = `example-${number}.mts`
      await writeFile(path.join(folder, file), example)
      const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
        cwd: folder,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stderr)
      const target = /^snapshot [0-9a-f]{32} is in (\w+)\/\n$/.exec(stdout)?.[1] ?? assert.fail(stdout)
      assert.equal(await readFile(path.join(folder, target, 'letter'), 'utf8'), 'Dear reader')
    }
  })
})
