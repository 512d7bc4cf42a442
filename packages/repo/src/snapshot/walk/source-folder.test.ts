import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { OpenFolders, type SourceFolder } from './source-folder.ts'

const skip = !existsSync('/proc/self/fd') && 'this system has no /proc/self/fd'
const root = mkdtempSync(path.join(tmpdir(), 'lateen-folders-'))
after(() => rmSync(root, { recursive: true }))

/** Goes down 100 levels, as a walk does that waits in each folder for the one below. */
function wentDown(name: string): {
  folders: OpenFolders
  way: SourceFolder[]
  at: (level: number) => string
} {
  const top = path.join(root, name)
  const at = (level: number) => path.join(top, 'd/'.repeat(level))
  mkdirSync(at(100), { recursive: true })
  for (let level = 0; level <= 100; level++) writeFileSync(path.join(at(level), 'level'), `${level}`)
  const folders = new OpenFolders()
  const way = [folders.openRoot(top)]
  for (let level = 1; level <= 100; level++) {
    const folder = way.at(-1)?.openChild('d') as SourceFolder
    folder.leaveAbove()
    way.push(folder)
  }
  return { folders, way, at }
}

function goUp(way: SourceFolder[]): void {
  const left = way.pop()
  left?.returnAbove()
  left?.release()
}

describe('the folders above a walk', { skip }, () => {
  it('are closed when they are far down, and opened again on the way back', () => {
    const { folders, way } = wentDown('back')
    assert.ok(folders.count < 70, `${folders.count}`)
    for (let level = 100; level >= 0; level--) {
      const folder = way.at(-1) as SourceFolder
      assert.equal(readFileSync(folder.at('level'), 'utf8'), `${level}`)
      goUp(way)
    }
    assert.equal(folders.count, 0)
  })

  it('are not mistaken for the place to which the one below was moved', () => {
    const { folders, way, at } = wentDown('moved')
    renameSync(at(100), path.join(root, 'elsewhere'))
    goUp(way)
    assert.throws(() => way.at(-1)?.at('level'), /it was moved while it was read/)
    while (way.length > 0) goUp(way)
    assert.equal(folders.count, 0)
  })

  it('say when they are used after they were closed', () => {
    const folder = new OpenFolders().openRoot(root)
    folder.release()
    assert.throws(() => folder.at('x'), /used after it was closed/)
  })
})
