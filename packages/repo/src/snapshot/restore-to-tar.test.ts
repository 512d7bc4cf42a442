import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import type { BlobId } from '../blob/storage.ts'
import { parseObjectId } from '../object/object-id.ts'
import { chunksOf } from '../object/object-reader.ts'
import { createRepository, type Repository } from '../repository.ts'
import type { DirectoryEntry } from './directory.ts'
import { readDirectory } from './read-directory.ts'
import { restoreToTar } from './restore-to-tar.ts'
import { type EntryStore, storeDirectory, storeFile, storeSymlink } from './testing/store-entries.ts'

const storage = memoryStorage()
let repository: Repository

function build(make: (store: EntryStore) => Promise<DirectoryEntry>): Promise<DirectoryEntry> {
  return repository.writing({}, ({ objects }) => make(objects))
}

interface Member {
  name: string
  type: string
  size: number
  data: Buffer
}

/** Reads an archive as POSIX describes it, pax paths included. */
function readTar(archive: Buffer): Member[] {
  const members: Member[] = []
  let path: string | undefined
  for (let at = 0; archive[at] !== 0; ) {
    const text = (start: number, length: number) =>
      archive.toString('utf8', at + start, at + start + length).replace(/\0.*$/s, '')
    const size = Number.parseInt(text(124, 12), 8)
    const data = archive.subarray(at + 512, at + 512 + size)
    const type = text(156, 1)
    if (type === 'x') path = /\d+ path=(.*)\n/.exec(data.toString())?.[1]
    else members.push({ name: path ?? text(0, 100), type, size, data })
    if (type !== 'x') path = undefined
    at += 512 + Math.ceil(size / 512) * 512
  }
  return members
}

describe('a tree as a tar archive', () => {
  before(async () => {
    repository = await createRepository({ storage, password: 'p' })
  })
  after(() => repository[Symbol.asyncDispose]())

  it('holds every entry, a directory before its children, and ends in two empty blocks', async () => {
    const data = Buffer.alloc(9_000_000, 3)
    const long = 'n'.repeat(200)
    const root = await build(async store => {
      const big = await storeFile(store, 'big', { data })
      const sub = await storeDirectory(store, long, {
        entries: [big, await storeFile(store, 'é', { data: '1' })],
      })
      const link = await storeSymlink(store, 'link', { target: '../up' })
      return storeDirectory(store, '', { entries: [sub, link] })
    })
    const archive = Buffer.concat(
      await Array.fromAsync(restoreToTar({ contents: repository.contents, entry: root })),
    )
    assert.equal(archive.length % 512, 0)
    assert.ok(archive.subarray(-1024).equals(Buffer.alloc(1024)))
    const members = readTar(archive)
    assert.deepEqual(
      members.map(({ name, type, size }) => [name, type, size]),
      [
        ['./', '5', 0],
        [`${long}/`, '5', 0],
        [`${long}/big`, '0', 9_000_000],
        [`${long}/é`, '0', 1],
        ['link', '2', 0],
      ],
    )
    assert.ok(members[2]?.data.equals(data))
  })

  it('leaves out what cannot be restored, completes the archive and then fails, naming it', async () => {
    const root = await build(async store => {
      const bad = await storeFile(store, 'bad', { data: 'x', size: 5 })
      const up = await storeFile(store, '..', { data: 'x' })
      return storeDirectory(store, '', { entries: [bad, up, await storeFile(store, 'good', { data: 'x' })] })
    })
    const pieces: Uint8Array[] = []
    await assert.rejects(
      async () => {
        for await (const piece of restoreToTar({ contents: repository.contents, entry: root }))
          pieces.push(piece)
      },
      { code: 'CORRUPT', message: /2 entries.*"\.\.".*"bad"/ },
    )
    const archive = Buffer.concat(pieces)
    assert.deepEqual(
      readTar(archive).map(({ name }) => name),
      ['./', 'good'],
    )
    assert.ok(archive.subarray(-1024).equals(Buffer.alloc(1024)))
  })

  it('fills with zeros what is damaged after its header went out, and then fails, naming file and blob', async () => {
    const data = randomBytes(20_000_000)
    const root = await build(async store => {
      const hurt = await storeFile(store, 'hurt', { data })
      return storeDirectory(store, '', { entries: [hurt, await storeFile(store, 'last', { data: 'x' })] })
    })
    await repository.refresh()
    const { entries } = await readDirectory(repository.contents, root)
    const last = (await chunksOf(repository.contents, entries[0]!.obj)).at(-1)!
    const { packBlobId, packOffset } = repository.contents.info(parseObjectId(last.object).contentId)!
    const blob = storage.blobs.get(packBlobId as BlobId)!
    storage.blobs.set(packBlobId as BlobId, {
      ...blob,
      bytes: blob.bytes.with(packOffset + 100, blob.bytes[packOffset + 100]! ^ 1),
    })
    const pieces: Uint8Array[] = []
    await assert.rejects(
      async () => {
        for await (const piece of restoreToTar({ contents: repository.contents, entry: root }))
          pieces.push(piece)
      },
      { code: 'CORRUPT', message: new RegExp(`1 entries.*"hurt".*${packBlobId}`) },
    )
    storage.blobs.set(packBlobId as BlobId, blob)
    const members = readTar(Buffer.concat(pieces))
    assert.deepEqual(
      members.map(({ name, size }) => [name, size]),
      [
        ['./', 0],
        ['hurt', 20_000_000],
        ['last', 1],
      ],
    )
    assert.ok(members[1]?.data.subarray(0, last.start).equals(data.subarray(0, last.start)))
    assert.ok(members[1]?.data.subarray(last.start).every(byte => byte === 0))
  })

  it('stops when cancelled', async () => {
    const entry = await build(store => storeDirectory(store, '', { entries: [] }))
    const archive = restoreToTar({ contents: repository.contents, entry, signal: AbortSignal.abort() })
    await assert.rejects(Array.fromAsync(archive), { code: 'CANCELLED' })
  })
})
