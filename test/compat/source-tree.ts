/** Folders to back up, and what is in a folder or a snapshot as something to compare. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { ObjectId } from '../../packages/repo/src/object/object-id.ts'
import type { Repository, RepositoryWriter } from '../../packages/repo/src/repository.ts'
import { parseDirectory, serializeDirectory } from '../../packages/repo/src/snapshot/directory.ts'
import { seededRandom } from '../../tools/test/seeded-random.ts'

/** Each path below a folder with what is there: `folder`, `link to …`, or a file's size and SHA-256. */
export type TreeListing = Record<string, string>

/** Writes a small tree: nested and empty folders, links, an empty file, text, random bytes, and `bigBytes` of zeros. */
export async function writeSourceTree(folder: string, seed: number, bigBytes = 5 << 20): Promise<void> {
  const random = seededRandom(seed)
  await mkdir(path.join(folder, 'nested', 'deeper', 'empty'), { recursive: true })
  const files: [string, string | Uint8Array][] = [
    ['empty', ''],
    ['hello <&> "wörld" 🚢', `seed ${seed}\n`],
    ['nested/text', 'all work and no play makes jack a dull boy\n'.repeat(9000 + (seed % 1000))],
    ['nested/random', random.bytes(700_000)],
    ['nested/deeper/zeros', new Uint8Array(bigBytes)],
  ]
  for (let index = 0; index < 20; index += 1)
    files.push([`nested/deeper/small-${index}`, random.bytes(random.integer(1, 5000))])
  for (const [name, content] of files) await writeFile(path.join(folder, name), content)
  await symlink('nested/text', path.join(folder, 'link'))
  await symlink('/does/not/exist', path.join(folder, 'nested', 'dangling'))
}

/** What lies in a folder of this machine. */
export async function listFolder(folder: string): Promise<TreeListing> {
  const listing: TreeListing = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const full = path.join(entry.parentPath, entry.name)
    const name = path.relative(folder, full)
    if (entry.isDirectory()) listing[name] = 'folder'
    else if (entry.isSymbolicLink()) listing[name] = linkTo(await readlink(full))
    else listing[name] = file(await readFile(full))
  }
  return listing
}

/** What a directory object holds, every byte read out of the repository. */
export async function listObject(repository: Repository, root: ObjectId, parent = ''): Promise<TreeListing> {
  const listing: TreeListing = {}
  for (const { name, type, obj } of parseDirectory(await readObject(repository, root)).entries) {
    const full = path.join(parent, name)
    if (type === 'd') Object.assign(listing, { [full]: 'folder' }, await listObject(repository, obj, full))
    else if (type === 's') listing[full] = linkTo(Buffer.from(await readObject(repository, obj)).toString())
    else listing[full] = file(await readObject(repository, obj))
  }
  return listing
}

/** All bytes of an object. */
export async function readObject(repository: Repository, id: ObjectId): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of (await repository.objects.open(id)).stream()) pieces.push(piece)
  return Buffer.concat(pieces)
}

/**
 * Writes what a directory object lists again from the source folder, and the directory itself. Every object must get the
 * id that it has already.
 */
export async function storeAgain(writer: RepositoryWriter, folder: string, id: ObjectId): Promise<ObjectId> {
  const bytes = await readObject(writer.repository, id)
  for (const { name, type, obj } of parseDirectory(bytes).entries) {
    const full = path.join(folder, name)
    if (type === 'd') assert.equal(await storeAgain(writer, full, obj), obj)
    else if (type === 's') assert.equal(await writer.objects.put(Buffer.from(await readlink(full))), obj)
    else assert.equal(await storeFile(writer, await readFile(full)), obj)
  }
  return writer.objects.put(serializeDirectory(parseDirectory(bytes)), { prefix: 'k' })
}

/** Writes an object 64 KiB at a time, as from a file. */
export async function storeFile(writer: RepositoryWriter, bytes: Uint8Array): Promise<ObjectId> {
  const object = writer.objects.create()
  for (let start = 0; start < bytes.length; start += 65_536)
    await object.write(bytes.subarray(start, start + 65_536))
  return object.finish()
}

function linkTo(target: string): string {
  return `link to ${target}`
}

function file(bytes: Uint8Array): string {
  return `${bytes.length} bytes, sha256 ${createHash('sha256').update(bytes).digest('hex')}`
}
