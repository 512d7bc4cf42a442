import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { folderSize } from './folder-size.ts'

describe('the size of a folder', () => {
  it('is that of all files in it, and of nothing that links lead to', async () => {
    await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-folder-size-'))
    await mkdir(path.join(folder.path, 'a/b'), { recursive: true })
    await writeFile(path.join(folder.path, 'one'), 'x'.repeat(10))
    await writeFile(path.join(folder.path, 'a/b/two'), 'x'.repeat(7))
    await symlink('/', path.join(folder.path, 'root'))
    const { signal } = new AbortController()
    assert.equal(await folderSize(folder.path, signal), 17)
    assert.equal(await folderSize(path.join(folder.path, 'missing'), signal), 0)
    await assert.rejects(folderSize(folder.path, AbortSignal.abort()), { name: 'AbortError' })
  })
})
