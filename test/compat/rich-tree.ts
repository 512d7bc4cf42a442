/** A folder with everything a file system can hold and a snapshot keeps, and the exact comparison of two of them. */

import { hash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'

/** Makes the tree. Owners differ only when this process may change them. */
export function makeRichTree(root: string): void {
  const at = (name: string) => path.join(root, name)
  mkdirSync(at('empty folder'), { recursive: true })
  mkdirSync(at('deep/er/and/deeper'), { recursive: true })
  mkdirSync(at('sticky'))
  mkdirSync(at('<&>"\\'))
  writeFileSync(at('plain'), 'plain text\n')
  writeFileSync(at('empty'), '')
  writeFileSync(at('setuid'), '#!/bin/sh\n')
  writeFileSync(at('setgid'), '#!/bin/sh\n')
  writeFileSync(at('unreadable'), 'secret')
  writeFileSync(at('deep/er/and/deeper/last'), 'x'.repeat(5000))
  writeFileSync(at('<&>"\\/\u{1f600} ünïcode\u2028'), 'emoji')
  writeFileSync(at('sticky/new\nline'), 'odd name')
  writeFileSync(at('noise'), noise(9_500_000))
  writeFileSync(at('zeros'), Buffer.alloc(4_500_000))
  makeSparse(at('sparse'))
  linkSync(at('plain'), at('hard link'))
  symlinkSync('plain', at('link'))
  symlinkSync('no/such/file', at('dangling'))
  symlinkSync('/etc/passwd', at('absolute'))
  symlinkSync('..', at('deep/up'))
  setModes(at)
  setTimes(at)
}

function setModes(at: (name: string) => string): void {
  if (process.getuid?.() === 0) {
    chownSync(at('setgid'), 1234, 5678)
    chownSync(at('sticky'), 0, 4321)
    lchownSync(at('dangling'), 77, 88)
  }
  chmodSync(at('setuid'), 0o4755)
  chmodSync(at('setgid'), 0o2750)
  chmodSync(at('sticky'), 0o1777)
  chmodSync(at('unreadable'), 0o000)
  chmodSync(at('empty folder'), 0o700)
}

function setTimes(at: (name: string) => string): void {
  lutimesSync(at('dangling'), 1_111_111_111.123, 1_111_111_111.123)
  utimesSync(at('plain'), 1_234_567_890.987654, 1_234_567_890.987654)
  utimesSync(at('empty'), 0, 0)
  utimesSync(at('zeros'), -1000.5, -1000.5)
  utimesSync(at('deep/er/and/deeper/last'), 4_000_000_000.25, 4_000_000_000.25)
  for (const folder of ['deep/er/and/deeper', 'deep/er', 'empty folder'])
    utimesSync(at(folder), 1e9, 1e9 + 0.5)
}

function makeSparse(file: string): void {
  writeFileSync(file, '')
  truncateSync(file, 6_000_000)
  const fd = openSync(file, 'r+')
  writeSync(fd, 'in the middle', 3_000_000)
  closeSync(fd)
}

/** Bytes that do not compress, the same for each call. */
export function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = 0x9e3779b9
  for (let at = 0; at + 4 <= length; at += 4) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes.writeInt32LE(state, at)
  }
  return bytes
}

/** What a comparison looks at, by path: everything a snapshot keeps of an entry. */
export type TreeDescription = Record<string, string>

/** Describes every entry below a folder, itself included, by kind, mode, owner, time in nanoseconds, size and bytes. */
export function describeTree(root: string, options: { folderTimes?: boolean } = {}): TreeDescription {
  const description: TreeDescription = {}
  const visit = (relative: string) => {
    const place = path.join(root, relative)
    const stats = lstatSync(place, { bigint: true })
    const time = stats.isDirectory() && options.folderTimes === false ? '' : `mtime=${stats.mtimeNs}`
    const common = `${stats.mode.toString(8)} ${stats.uid}:${stats.gid} ${time}`
    if (stats.isDirectory()) {
      description[relative] = `folder ${common}`
      for (const name of readdirSync(place)) visit(path.join(relative, name))
    } else if (stats.isSymbolicLink()) {
      description[relative] = `link ${common} -> ${readlinkSync(place)}`
    } else {
      description[relative] = `file ${common} ${stats.size} ${digest(readFileSync(place))}`
    }
  }
  visit('.')
  return description
}

function digest(bytes: Buffer): string {
  return hash('sha256', bytes)
}
