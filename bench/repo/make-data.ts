import { randomFillSync } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { seededRandom } from '../../tools/test/seeds.ts'

/** A folder to back up, and what it is called in the report. */
export interface DataSet {
  name: string
  folder: string
}

/** Makes the folders once; they are kept between runs, because contenders must see the same bytes. */
export function makeDataSets(root: string): { large: DataSet; tree: DataSet; small: DataSet } {
  const large = { name: '1 GiB random in 4 files', folder: path.join(root, 'large') }
  const tree = { name: '29,384 files, 575 MB', folder: path.join(root, 'tree') }
  onceIn(large.folder, () => writeLargeFiles(large.folder))
  const small = { name: '100 files of 100 bytes', folder: path.join(root, 'small') }
  onceIn(tree.folder, () => writeTree(tree.folder))
  onceIn(small.folder, () => writeTinyFiles(small.folder, { folders: 10, filesEach: 10 }))
  return { large, tree, small }
}

/**
 * A million files of 100 bytes in 1,000 folders, made once: about 4 GB of disk and a million inodes. The bytes come from a
 * seed, so that the same folder comes out on every machine.
 */
export function makeMillionFiles(root: string): DataSet {
  const million = { name: '1,000,000 files of 100 bytes', folder: path.join(root, 'million') }
  onceIn(million.folder, () => writeTinyFiles(million.folder, { folders: 1_000, filesEach: 1_000 }))
  return million
}

/** One folder with 200,000 files of 100 bytes, made once. */
export function makeWideFolder(root: string): DataSet {
  const wide = { name: 'one folder of 200,000 files of 100 bytes', folder: path.join(root, 'wide') }
  onceIn(wide.folder, () => writeTinyFiles(wide.folder, { folders: 1, filesEach: 200_000 }))
  return wide
}

/** Reads everything once, so that no contender pays for the others' first look at the disk. */
export function warmUp({ folder }: DataSet): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) readFileSync(path.join(entry.parentPath, entry.name))
  }
}

function onceIn(folder: string, make: () => void): void {
  const mark = `${folder}.complete`
  if (existsSync(mark)) return
  mkdirSync(folder, { recursive: true })
  make()
  writeFileSync(mark, '')
}

function writeLargeFiles(folder: string): void {
  const block = Buffer.alloc(4 * 1024 * 1024)
  for (let file = 0; file < 4; file += 1) {
    const handle = openSync(path.join(folder, `large-${file}`), 'w')
    for (let written = 0; written < 256; written += 4) writeSync(handle, randomFillSync(block))
    closeSync(handle)
  }
}

const fileCount = 29_384
const words = [
  'func',
  'return',
  'error',
  'context',
  'import',
  'package',
  'string',
  'if err != nil {',
  '}',
  '\n\t',
  '\n',
]

/** Text like source code: a few long files, many short ones, in folders of some twenty files. */
function writeTree(folder: string): void {
  const random = seededRandom(1)
  const text = Array.from(
    { length: 200_000 },
    () => `${random.pick(words)} ${random.integer(0, 9_999)} `,
  ).join('')
  for (let number = 0; number < fileCount; number += 1) {
    const parent = path.join(folder, `d${number % 40}`, `e${Math.floor(number / 40) % 37}`)
    mkdirSync(parent, { recursive: true })
    const length = Math.min(400_000, Math.floor(600 * 2 ** (random.next() * 7.4)))
    const start = random.integer(0, text.length - length)
    writeFileSync(
      path.join(parent, `file-${number}.go`),
      `// ${number}\n${text.slice(start, start + length)}`,
    )
  }
}

/** Every file differs: it begins with its number, and the rest is cut from noise. */
function writeTinyFiles(root: string, { folders, filesEach }: { folders: number; filesEach: number }): void {
  const random = seededRandom(2)
  const noise = Buffer.from(Array.from({ length: 65_536 }, () => random.integer(0, 255)))
  for (let folder = 0; folder < folders; folder += 1) {
    const parent = path.join(root, `d${String(folder).padStart(3, '0')}`)
    mkdirSync(parent, { recursive: true })
    for (let file = 0; file < filesEach; file += 1) {
      const bytes = Buffer.alloc(100)
      noise.copy(bytes, 0, (folder * filesEach + file) % 65_000)
      bytes.writeUInt32BE(folder * filesEach + file)
      writeFileSync(path.join(parent, `file-${file}`), bytes)
    }
  }
}
