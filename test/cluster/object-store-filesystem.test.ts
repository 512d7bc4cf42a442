import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const needsRoot = process.getuid?.() === 0 ? false : 'mounting a small file system needs root'

describe('the filesystem store on a file system that is full or read-only', { skip: needsRoot }, () => {
  let folder = ''
  let seen: {
    full: { code: string; message: string }
    kept: boolean
    leftovers: string[]
    afterwards: string
    readOnly: Record<
      'put' | 'remove' | 'init' | 'initForReading',
      { code: string; message: string } | undefined
    >
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-mounts-'))
    const script = path.join(import.meta.dirname, 'object-store-filesystem-mounts.ts')
    // The mount lives in the child's namespace and ends with it, however it ends.
    const shell = 'mount -t tmpfs -o size=2m lateen "$1" && exec "$2" "$3" "$1"'
    const { stdout } = await run('unshare', [
      '--mount',
      'sh',
      '-c',
      shell,
      'sh',
      folder,
      process.execPath,
      script,
    ])
    seen = JSON.parse(stdout)
  })
  after(() => rm(folder, { recursive: true }))

  it('says that there is no space, where, and what to do', () => {
    assert.equal(seen.full.code, 'FULL')
    assert.ok(seen.full.message.startsWith(`cannot write ${folder}/b/dir/object: there is no space left`))
    assert.match(seen.full.message, /Free space/)
  })

  it('keeps the old object, leaves nothing unfinished, and works on when there is space', () => {
    assert.equal(seen.kept, true)
    assert.deepEqual(seen.leftovers, [])
    assert.equal(seen.afterwards, 'small')
  })

  it('says that the file system is read-only, on writing and when it is opened for writing', () => {
    for (const failure of [seen.readOnly.put, seen.readOnly.remove, seen.readOnly.init]) {
      assert.equal(failure?.code, 'ACCESS_DENIED')
      assert.match(failure?.message ?? '', new RegExp(`${folder}/b.*mounted read-only.*ReadOnly`))
    }
  })

  it('opens a read-only file system for reading', () => {
    assert.equal(seen.readOnly.initForReading, undefined)
  })
})
