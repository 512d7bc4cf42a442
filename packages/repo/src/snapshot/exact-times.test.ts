import assert from 'node:assert/strict'
import { closeSync, lstatSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { roundingSetter, timeSetter, timespecPair } from './exact-times.ts'

describe('modification times', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'lateen-times-'))
    writeFileSync(path.join(folder, 'file'), 'x')
    symlinkSync('nowhere', path.join(folder, 'link'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const mtime of [0n, 1n, -1n, 1234567890123456789n, -1_500_000_001n, 4_102_444_800_999_999_999n]) {
    it(`are set to the nanosecond: ${mtime}`, {
      skip: !timeSetter().exact && 'utimensat cannot be called',
    }, () => {
      const setter = timeSetter()
      const fd = openSync(path.join(folder, 'file'), 'r')
      setter.setOpen(fd, mtime)
      closeSync(fd)
      assert.equal(lstatSync(path.join(folder, 'file'), { bigint: true }).mtimeNs, mtime)
      setter.setPath(path.join(folder, 'link'), mtime)
      assert.equal(lstatSync(path.join(folder, 'link'), { bigint: true }).mtimeNs, mtime)
    })
  }

  it('are set to the microsecond by the rounding setter', () => {
    const mtime = 1234567890123456789n
    roundingSetter.setPath(path.join(folder, 'link'), mtime)
    const seen = lstatSync(path.join(folder, 'link'), { bigint: true }).mtimeNs
    assert.ok(seen > mtime - 1000n && seen < mtime + 1000n, String(seen))
  })

  it('before the epoch are set by the rounding setter too', () => {
    const mtime = -3_600_500_000_000n
    const fd = openSync(path.join(folder, 'file'), 'r')
    roundingSetter.setOpen(fd, mtime)
    closeSync(fd)
    roundingSetter.setPath(path.join(folder, 'link'), mtime)
    for (const name of ['file', 'link']) {
      assert.equal(lstatSync(path.join(folder, name), { bigint: true }).mtimeNs, mtime)
    }
  })

  it('of something missing fail with the name of the system error', () => {
    for (const setter of [timeSetter(), roundingSetter]) {
      assert.throws(() => setter.setPath(path.join(folder, 'missing'), 0n), { code: 'ENOENT' })
    }
  })

  it('before the epoch have seconds rounded down and nanoseconds that are not negative', () => {
    assert.deepEqual([...timespecPair(-1n, new BigInt64Array(4))], [-1n, 999_999_999n, -1n, 999_999_999n])
    assert.deepEqual([...timespecPair(-1_000_000_000n, new BigInt64Array(4))], [-1n, 0n, -1n, 0n])
  })
})
