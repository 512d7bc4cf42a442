import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { ContainedFolder } from './contained-folder.ts'
import { removeContained } from './remove-contained.ts'

// Trees of thousands of levels are made and removed; in memory that takes a fraction of the time.
const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const base = mkdtempSync(path.join(scratch, 'lateen-contained-'))
const inside = path.join(base, 'inside')
const outside = path.join(base, 'outside')

function deepTree(depth: number): void {
  let folder = ContainedFolder.openTrusted(inside)
  for (let level = 0; level < depth; level++) {
    folder.makeFolder('deep')
    const below = folder.openFolder('deep')
    folder.close()
    folder = below
  }
  writeFileSync(folder.at('file'), 'x')
  folder.close()
}

describe('a contained folder', () => {
  beforeEach(() => {
    rmSync(base, { recursive: true, force: true })
    mkdirSync(inside, { recursive: true })
    mkdirSync(outside)
    writeFileSync(path.join(outside, 'precious'), 'kept')
  })
  after(() => rmSync(base, { recursive: true, force: true }))

  it('gives no path for a name that is not the name of a child', () => {
    using folder = ContainedFolder.openTrusted(inside)
    for (const name of ['', '.', '..', '../outside', '/etc', 'a/b', 'a\0']) {
      assert.throws(() => folder.at(name), { code: 'UNSAFE_PATH' })
      assert.throws(() => folder.at(Buffer.from(name)), { code: 'UNSAFE_PATH' })
    }
  })

  for (const addressing of ['descriptor', 'path'] as const) {
    it(`does not open a symlink to a folder, addressed by ${addressing}`, () => {
      symlinkSync(outside, path.join(inside, 'link'))
      using folder = ContainedFolder.openTrusted(inside, addressing)
      assert.throws(() => folder.openFolder('link'), /ELOOP|ENOTDIR/)
    })

    it(`writes nothing outside when a folder is swapped for a symlink, addressed by ${addressing}`, () => {
      mkdirSync(path.join(inside, 'a/b'), { recursive: true })
      using folder = ContainedFolder.openTrusted(inside, addressing)
      using a = folder.openFolder('a')
      renameSync(path.join(inside, 'a'), path.join(inside, 'moved'))
      symlinkSync(outside, path.join(inside, 'a'))
      if (addressing === 'path') assert.throws(() => a.at('new'), { code: 'UNSAFE_PATH' })
      else writeFileSync(a.at('new'), 'x')
      assert.deepEqual(readdirSync(outside), ['precious'])
    })

    it(`makes, lists and removes children, addressed by ${addressing}`, () => {
      using folder = ContainedFolder.openTrusted(inside, addressing)
      folder.makeFolder('a')
      using a = folder.openFolder('a')
      a.makeFolder('b')
      writeFileSync(a.at('f'), 'x')
      assert.deepEqual(new Set(a.names().map(String)), new Set(['b', 'f']))
      assert.equal(removeContained(folder, 'a'), 3)
    })
  }

  it('removes a symlink and not what it points to', () => {
    mkdirSync(path.join(inside, 'a'))
    symlinkSync(outside, path.join(inside, 'a/link'))
    symlinkSync(outside, path.join(inside, 'link'))
    using folder = ContainedFolder.openTrusted(inside)
    assert.equal(removeContained(folder, 'a'), 2)
    assert.equal(removeContained(folder, 'link'), 1)
    assert.equal(removeContained(folder, 'missing'), 0)
    assert.deepEqual(readdirSync(inside), [])
    assert.ok(existsSync(path.join(outside, 'precious')))
  })

  it('makes and removes a tree of 3,000 levels, whose path is longer than any path may be', () => {
    deepTree(3000)
    using folder = ContainedFolder.openTrusted(inside)
    assert.equal(removeContained(folder, 'deep'), 3001)
    assert.deepEqual(readdirSync(inside), [])
  })

  it('is opened again through a child, but not when the child was moved elsewhere', () => {
    mkdirSync(path.join(inside, 'child'))
    const parent = ContainedFolder.openTrusted(inside)
    using child = parent.openFolder('child')
    parent.close()
    child.reopenParent(parent)
    assert.deepEqual(parent.names().map(String), ['child'])
    parent.close()
    const other = ContainedFolder.openTrusted(outside)
    other.close()
    assert.throws(() => child.reopenParent(other), { code: 'UNSAFE_PATH' })
  })

  it('stops a removal that is cancelled', () => {
    mkdirSync(path.join(inside, 'a/b'), { recursive: true })
    using folder = ContainedFolder.openTrusted(inside)
    assert.throws(() => removeContained(folder, 'a', AbortSignal.abort()), { code: 'CANCELLED' })
    assert.ok(existsSync(path.join(inside, 'a/b')))
  })
})
