import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { ImageError } from './image-error.ts'
import { parseTar, serializeTar, serializeTarHeader, type TarFile, tarPadding } from './tar.ts'

function file(path: string, content: string, rest: Partial<TarFile> = {}): TarFile {
  const bytes = Buffer.from(content)
  return {
    path,
    type: 'file',
    mode: 0o644,
    size: bytes.length,
    uid: 0,
    gid: 0,
    mtime: 0,
    content: bytes,
    ...rest,
  }
}

const longName = `${'folder/'.repeat(30)}name.txt`
const files: TarFile[] = [
  file('bin', '', { type: 'directory', mode: 0o755 }),
  file('bin/run', 'x'.repeat(1025), { mode: 0o4755, uid: 10, gid: 1000, mtime: 1_700_000_000 }),
  file('bin/sh', '', { type: 'symlink', mode: 0o777, linkTo: 'run' }),
  file('empty', ''),
  file('exact', 'y'.repeat(512)),
  file(longName, 'long'),
  file(`${'d'.repeat(99)}`, '', { type: 'directory', mode: 0o700 }),
  file(`${'e'.repeat(100)}`, '', { type: 'directory', mode: 0o700 }),
  file('deep', '', { type: 'symlink', mode: 0o777, linkTo: `../${longName}` }),
  file('größe', 'ü'),
]

function systemTar(args: string[], input: Uint8Array): string {
  return execFileSync('tar', args, { input, env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH } }).toString()
}

function hasSystemTar(): boolean {
  try {
    return execFileSync('tar', ['--version']).toString().includes('GNU tar')
  } catch {
    return false
  }
}

describe('a tar archive', () => {
  it('is read back as it was written', () => {
    const read = parseTar(serializeTar(files))
    assert.deepEqual(
      read.map(({ content, ...entry }) => ({ ...entry, content: Buffer.from(content).toString() })),
      files.map(({ content, ...entry }) => ({ ...entry, content: Buffer.from(content).toString() })),
    )
  })

  it('has the same bytes for the same entries', () => {
    assert.deepEqual(serializeTar(files), serializeTar(structuredClone(files)))
  })

  it('says sizes from 8 GiB on in a pax header', () => {
    const size = 8 * 2 ** 30
    const header = Buffer.from(serializeTarHeader({ path: 'huge', type: 'file', mode: 0o644, size }))
    assert.ok(header.includes(`size=${size}\n`))
    assert.equal(serializeTarHeader({ path: 'huge', type: 'file', mode: 0o644, size: size - 1 }).length, 512)
  })

  it('fills every entry up to whole blocks', () => {
    for (const size of [0, 1, 511, 512, 513]) assert.equal((size + tarPadding(size)) % 512, 0)
    assert.equal(serializeTar(files).length % 512, 0)
  })

  it('is refused with a flipped bit, cut short or without an end', () => {
    const archive = Buffer.from(serializeTar([file('a', 'content')]))
    const flipped = Buffer.from(archive)
    flipped[3] = 1
    for (const broken of [
      flipped,
      archive.subarray(0, 300),
      archive.subarray(0, 515),
      archive.subarray(0, 1024),
    ]) {
      assert.throws(
        () => parseTar(broken),
        (error: unknown) => error instanceof ImageError && error.code === 'TAR_MALFORMED',
      )
    }
  })
})

describe('the system tar', { skip: hasSystemTar() ? false : 'GNU tar is not installed' }, () => {
  it('lists names, modes, owners, sizes and links as we wrote them', () => {
    const listing = systemTar(['-tv', '--numeric-owner', '--utc', '--full-time'], serializeTar(files))
      .trimEnd()
      .split('\n')
    assert.equal(listing.length, files.length)
    assert.match(listing[0] ?? '', /^drwxr-xr-x 0\/0 +0 1970-01-01 00:00:00 bin\/$/)
    assert.match(listing[1] ?? '', /^-rwsr-xr-x 10\/1000 +1025 2023-11-14 22:13:20 bin\/run$/)
    assert.match(listing[2] ?? '', /^lrwxrwxrwx .* bin\/sh -> run$/)
    assert.ok(listing[5]?.endsWith(` ${longName}`))
    assert.ok(listing[8]?.endsWith(` deep -> ../${longName}`))
  })

  it('extracts the contents', () => {
    const archive = serializeTar(files)
    assert.equal(systemTar(['-xO', longName], archive), 'long')
    assert.equal(systemTar(['-xO', 'bin/run'], archive), 'x'.repeat(1025))
    assert.equal(systemTar(['-xO', '--wildcards', 'gr*'], archive), 'ü')
  })
})
