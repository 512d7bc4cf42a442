import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { planLayer } from './image-file.ts'
import { writeRootfs } from './write-rootfs.ts'

describe('writeRootfs', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-rootfs-'))
  after(() => rm(folder, { recursive: true }))
  const source = path.join(folder, 'source')
  const root = path.join(folder, 'root')
  const image = {
    name: 'localhost/test:1',
    config: {},
    files: [
      { path: '/bin/program', from: source, mode: 0o755 },
      { path: '/etc/text', content: 'some text' },
      { path: '/velero', linkTo: 'bin/program' },
      { path: '/tmp', directory: true as const, mode: 0o1777 },
    ],
  }

  it('shows the same files, modes, links and content as the layer, whatever the umask', async () => {
    await writeFile(source, 'the program')
    const before = process.umask(0o077)
    await writeRootfs(image, root)
    process.umask(before)
    const planned = await planLayer(image.files)
    const names = new Set(await readdir(root, { recursive: true }))
    assert.deepEqual(names, new Set(planned.map(({ entry }) => entry.path)))
    for (const { entry } of planned.filter(({ entry: { type } }) => type !== 'symlink')) {
      assert.equal((await stat(path.join(root, entry.path))).mode & 0o7777, entry.mode, entry.path)
    }
    assert.equal(await readFile(path.join(root, 'bin/program'), 'utf8'), 'the program')
    assert.equal(await readFile(path.join(root, 'etc/text'), 'utf8'), 'some text')
    assert.equal(await readlink(path.join(root, 'velero')), 'bin/program')
  })

  it('leaves nothing of an earlier one', async () => {
    await writeFile(path.join(root, 'leftover'), '')
    await writeRootfs(image, root)
    assert.ok(!(await readdir(root)).includes('leftover'))
  })
})
