/** A folder with every kind of entry, name and metadata that a snapshot has to carry, and its description to compare. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { seededRandom } from '../../tools/test/seeded-random.ts'

const isRoot = process.getuid?.() === 0

/** Writes a folder with everything a snapshot can hold and a fifo, which it cannot. Three of its names are not UTF-8 or look like it. */
export function writeRichTree(folder: string, seed: number): void {
  const random = seededRandom(seed)
  const at = (name: string) => path.join(folder, name)
  for (const name of ['a/b/c', 'empty', 'sticky', 'много', 'a.b']) mkdirSync(at(name), { recursive: true })
  for (let index = 0; index < 60; index++)
    writeFileSync(at(`a/b/file-${index}`), random.bytes(random.integer(0, 3000)))
  writeFileSync(at('a/large'), random.bytes(9_500_000))
  writeFileSync(at('a/zeros'), Buffer.alloc(4_700_000))
  writeFileSync(at('sparse'), 'start')
  truncateSync(at('sparse'), 3_000_000)
  for (const name of [
    '<&>"\\',
    'tab\there',
    '\u2028',
    'z-\uffee',
    'z-😀',
    '\x7f\x01',
    'empty-file',
    'A',
    'a-',
    '.dot',
  ])
    writeFileSync(at(name), name === 'empty-file' ? '' : `content of ${name}`)
  for (const bytes of [Buffer.of(0x62, 0xff, 0xfe, 0x2d), Buffer.of(0xc3, 0x28), Buffer.from('\ufffd')])
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), bytes]), bytes)
  linkSync(at('A'), at('hard link'))
  symlinkSync('a/b', at('link'))
  symlinkSync('/does/not/exist', at('a/dangling'))
  symlinkSync(Buffer.of(0x78, 0xff), at('odd-target'))
  execFileSync('mkfifo', [at('fifo')])
  chmodSync(at('sticky'), 0o1777)
  chmodSync(at('a/b/file-1'), 0o4755)
  chmodSync(at('a/b/file-2'), 0o2750)
  chmodSync(at('a/b/file-3'), 0o000)
  if (isRoot)
    for (const [index, name] of ['a/b/file-4', 'a/b', 'A'].entries()) chownSync(at(name), 1000 + index, 2000)
  execFileSync('touch', ['-d', '2001-02-03T04:05:06.123456789Z', at('a/b/file-5')])
  execFileSync('touch', ['-d', '1960-01-01T00:00:00.5Z', at('a/b/file-6')])
  execFileSync('touch', ['-h', '-d', '2011-01-01T00:00:00.000000001Z', at('link')])
  execFileSync('touch', ['-d', '1970-01-01T00:00:00Z', at('empty')])
}

/** Each path with its bytes and its metadata; folders other than the root without their time, which `kopia` restores as that of their newest entry. */
export function describeTree(folder: string): Record<string, string> {
  const listing: Record<string, string> = {}
  for (const name of ['', ...(readdirSync(folder, { recursive: true, encoding: 'latin1' }) as string[])]) {
    const full = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')])
    const { mode, uid, gid, mtimeNs, size } = lstatSync(full, { bigint: true })
    const kind = Number(mode) & 0o170000
    if (kind === 0o010000 || kind === 0o140000) continue
    const common = `${mode.toString(8)} ${uid}:${gid}`
    if (kind === 0o040000) listing[name] = `${common} folder${name === '' ? ` ${mtimeNs}` : ''}`
    // `kopia` rounds the times of links up to microseconds.
    else if (kind === 0o120000)
      listing[name] = `${common} ${(mtimeNs + 999n) / 1000n} -> ${readlinkSync(full, 'latin1')}`
    else listing[name] = `${common} ${mtimeNs} ${size} ${sha256(full)}`
  }
  return listing
}

function sha256(file: Buffer): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Whether a name, in Latin-1 as `describeTree` has it, is UTF-8. */
export function isUtf8(name: string): boolean {
  return Buffer.from(name, 'latin1').toString('utf8').includes('\ufffd') === false
}
