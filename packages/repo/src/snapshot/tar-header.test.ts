import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decimalSeconds, serializeTarHeader, type TarEntry, tarPadding } from './tar-header.ts'

const plain: TarEntry = {
  path: 'a',
  type: 'file',
  mode: 0o644,
  uid: 1,
  gid: 2,
  size: 3,
  mtime: 5_000_000_000n,
}

function text(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, end)).toString('latin1')
}

describe('a tar header', () => {
  it('is one ustar block when everything fits', () => {
    const header = serializeTarHeader({ ...plain, mode: 0o4755 })
    assert.equal(header.length, 512)
    assert.equal(text(header, 0, 2), 'a\0')
    assert.equal(text(header, 100, 108), '0004755\0')
    assert.equal(text(header, 124, 136), '00000000003\0')
    assert.equal(text(header, 136, 148), '00000000005\0')
    assert.equal(text(header, 257, 265), 'ustar\u000000')
  })

  it('has the checksum that POSIX describes', () => {
    const header = Uint8Array.from(serializeTarHeader(plain))
    const stored = Number.parseInt(text(header, 148, 154), 8)
    header.fill(0x20, 148, 156)
    assert.equal(
      stored,
      header.reduce((sum, byte) => sum + byte, 0),
    )
  })

  it('counts its own length in a pax record', () => {
    const header = serializeTarHeader({ ...plain, mtime: 5_000_000_001n })
    assert.equal(header.length, 3 * 512)
    assert.equal(text(header, 512, 512 + 21), '21 mtime=5.000000001\n')
    for (const length of [85, 86, 87, 88, 89, 90, 91, 92, 983, 984, 985, 986]) {
      const path = 'é'.repeat(length)
      const record = serializeTarHeader({ ...plain, path }).subarray(512)
      const stated = Number.parseInt(text(record, 0, 8), 10)
      assert.equal(text(record, stated - 1, stated), '\n')
      assert.equal(text(record, stated, stated + 1), '\0')
    }
  })

  it('puts into pax records what ustar cannot hold', () => {
    const header = serializeTarHeader({
      ...plain,
      ...{ path: 'p'.repeat(101), uid: 2 ** 31, gid: 2 ** 21, size: 8 ** 11, mtime: -1n, type: 'symlink' },
      target: Buffer.from('t'.repeat(200)),
    })
    const body = text(header, 512, header.length - 512)
    for (const record of [
      `path=${'p'.repeat(101)}\n`,
      `linkpath=${'t'.repeat(200)}\n`,
      'mtime=-0.000000001\n',
      'uid=2147483648\n',
      'gid=2097152\n',
      'size=8589934592\n',
    ]) {
      assert.ok(body.includes(record), record)
    }
  })

  it('writes seconds with as many digits as they need', () => {
    assert.equal(decimalSeconds(0n), '0')
    assert.equal(decimalSeconds(1_500_000_000n), '1.5')
    assert.equal(decimalSeconds(-500_000_000n), '-0.5')
    assert.equal(decimalSeconds(-1_000_000_001n), '-1.000000001')
  })

  it('is followed by data padded to whole blocks', () => {
    assert.deepEqual([0, 1, 511, 512, 513].map(tarPadding), [0, 511, 1, 0, 511])
  })
})
