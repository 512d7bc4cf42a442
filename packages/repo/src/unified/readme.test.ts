import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'

const packageFolder = path.resolve(import.meta.dirname, '../..')

describe('the README', () => {
  it('has an example that runs', async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-readme-'))
    t.after(() => rm(folder, { recursive: true }))
    const readme = await readFile(path.join(packageFolder, 'README.md'), 'utf8')
    const example = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? ''
    await writeFile(path.join(folder, 'example.mts'), example)
    await mkdir(path.join(folder, 'node_modules/@lateen'), { recursive: true })
    await symlink(packageFolder, path.join(folder, 'node_modules/@lateen/repo'))
    await mkdir(path.join(folder, 'documents'))
    await writeFile(path.join(folder, 'documents/letter'), 'Dear reader')
    const { status, stdout, stderr } = spawnSync(process.execPath, ['example.mts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^snapshot [0-9a-f]{32} is in restored\/\n$/)
    assert.equal(await readFile(path.join(folder, 'restored/letter'), 'utf8'), 'Dear reader')
  })
})
