import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideOverwrite, type Existing } from './decide-overwrite.ts'

const all = { files: true, symlinks: true, folders: true, deleteExtra: false }
const none = { files: false, symlinks: false, folders: false, deleteExtra: false }
const clean = { ...none, deleteExtra: true }
const wanted = ['file', 'symlink', 'folder'] as const
const everything: Existing[] = ['nothing', 'file', 'symlink', 'empty folder', 'folder', 'other']

describe('what is already in the target', () => {
  it('does not matter when it is nothing', () => {
    for (const rules of [all, none, clean]) {
      for (const kind of wanted) assert.equal(decideOverwrite(kind, 'nothing', rules), 'create')
    }
  })

  it('is kept when nothing may be overwritten, except an empty folder that a folder fills', () => {
    for (const kind of wanted) {
      for (const existing of everything.slice(1)) {
        const expected = kind === 'folder' && existing === 'empty folder' ? 'merge' : 'refuse'
        assert.equal(decideOverwrite(kind, existing, none), expected, `${kind} over ${existing}`)
      }
    }
  })

  it('never gives way as a whole folder or special file unless extra files are deleted', () => {
    for (const kind of ['file', 'symlink'] as const) {
      for (const existing of ['empty folder', 'folder', 'other'] as const) {
        assert.equal(decideOverwrite(kind, existing, all), 'refuse')
        assert.equal(decideOverwrite(kind, existing, clean), 'replace')
      }
    }
  })

  it('is merged when both are folders, replaced when it is a file or a symlink', () => {
    assert.equal(decideOverwrite('folder', 'folder', all), 'merge')
    for (const kind of wanted) {
      assert.equal(decideOverwrite(kind, 'file', all), 'replace')
      assert.equal(decideOverwrite(kind, 'symlink', all), 'replace')
    }
  })
})
