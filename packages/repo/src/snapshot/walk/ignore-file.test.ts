import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { readIgnoreFile } from './ignore-file.ts'
import { OpenFolders, SourceFolder } from './source-folder.ts'

const name = '.kopiaignore'
const top = mkdtempSync(path.join(tmpdir(), 'lateen-ignore-'))
after(() => rmSync(top, { recursive: true }))
const tree = path.join(top, 'tree')
const at = path.join(tree, 'sub', name)
mkdirSync(path.join(tree, 'sub'), { recursive: true })
mkdirSync(path.join(top, 'tree-beside'))
for (const file of ['tree/rules', 'tree-beside/rules']) writeFileSync(path.join(top, file), '*.tmp\n')

/** As a walk reads it that came from the root of the tree. */
function read(): string | undefined {
  const folders = new OpenFolders()
  try {
    return readIgnoreFile(folders.openRoot(tree).openChild('sub'), name)
  } finally {
    folders.close()
  }
}

describe('An ignore file', () => {
  afterEach(() => rmSync(at, { recursive: true, force: true }))

  it('is a file, or a symlink to one in the same tree', () => {
    writeFileSync(at, 'größer\n')
    assert.equal(read(), 'größer\n')
    for (const target of ['../rules', path.join(tree, 'rules')]) {
      unlinkSync(at)
      symlinkSync(target, at)
      assert.equal(read(), '*.tmp\n')
    }
  })

  it('that is a folder holds no rules', () => {
    mkdirSync(at)
    assert.equal(read(), undefined)
  })

  it('is not read outside of the tree', () => {
    // Where there is no /proc.
    const place = { path: path.dirname(at), realRoot: realpathSync(tree), descriptor: undefined }
    const byPath = new SourceFolder(new Set(), place)
    const refused = { name: 'SourceReadError', path: at, message: /\.kopiaignore leads out of the tree/ }
    for (const target of ['/etc/passwd', path.join(top, 'tree-beside/rules'), '/proc/self/environ']) {
      symlinkSync(target, at)
      assert.throws(read, refused)
      assert.throws(() => readIgnoreFile(byPath, name), refused)
      unlinkSync(at)
    }
    symlinkSync('../rules', at)
    assert.equal(readIgnoreFile(byPath, name), '*.tmp\n')
  })

  it('does not make anybody wait for the writer of a fifo, nor read a device', () => {
    execFileSync('mkfifo', [path.join(tree, 'fifo')])
    symlinkSync('/dev/zero', path.join(tree, 'zero'))
    const refused = { name: 'SourceReadError', message: /leads to what is no regular file/ }
    for (const target of ['../fifo', '../zero', '..']) {
      symlinkSync(target, at)
      assert.throws(read, refused)
      unlinkSync(at)
    }
  })

  it('that is too large for one is not taken into memory', () => {
    writeFileSync(at, 'rule\n'.repeat(200_000))
    assert.equal(read()?.length, 1_000_000)
    truncateSync(at, 1 << 26)
    assert.throws(read, { name: 'SourceReadError', message: /has more than 1048576 bytes/ })
  })

  it('that leads nowhere is an error', () => {
    symlinkSync('/does/not/exist', at)
    assert.throws(read, { name: 'SourceReadError', reason: 'ENOENT', path: at })
  })
})
