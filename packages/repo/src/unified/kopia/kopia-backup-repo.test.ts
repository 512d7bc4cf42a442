import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../../clock/clock.ts'
import { parseObjectId } from '../../object/object-id.ts'
import { chunksOf } from '../../object/object-reader.ts'
import {
  type BackupRepo,
  ObjectBackupMode,
  type RepoId,
  type RepoOptions,
  WritePriority,
} from '../backup-repo.ts'
import type { KopiaBackupRepo } from './kopia-backup-repo.ts'
import { kopiaRepoService } from './kopia-repo-service.ts'

const MIB = 1 << 20
let folder = ''
let options: RepoOptions
const service = kopiaRepoService({ clock: systemClock })

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lateen-unified-'))
  options = {
    storageType: 'filesystem',
    repoPassword: 'p',
    storageOptions: { fspath: path.join(folder, 'repo') },
    generalOptions: { splitAlgo: 'DYNAMIC-128K-BUZHASH' },
  }
  await service.init(options, { createNew: true })
})
after(() => rm(folder, { recursive: true }))

async function written(repo: BackupRepo, bytes: Uint8Array): Promise<RepoId> {
  await using writer = repo.newObjectWriter()
  for (let at = 0; at < bytes.length; at += 100_000) await writer.write(bytes.subarray(at, at + 100_000))
  return writer.result()
}

async function bytesOf(repo: BackupRepo, id: RepoId): Promise<Buffer> {
  await using reader = await repo.openObject(id)
  return Buffer.concat(await Array.fromAsync(reader.stream()))
}

async function contentsOf({ repository }: KopiaBackupRepo, id: RepoId): Promise<string[]> {
  const chunks = await chunksOf(repository.contents, id as never)
  return chunks.map(({ object }) => parseObjectId(object).contentId)
}

describe('a unified repository', () => {
  it('is created once and then connected to', async () => {
    await assert.rejects(service.init(options, { createNew: true }), { code: 'ALREADY_EXISTS' })
    await service.init(options, { createNew: false })
    await assert.rejects(service.init({ ...options, repoPassword: 'q' }, { createNew: false }), {
      code: 'BAD_PASSWORD',
    })
    const elsewhere = { ...options, storageOptions: { fspath: path.join(folder, 'none') } }
    await assert.rejects(service.init(elsewhere, { createNew: false }), { code: 'NOT_A_REPOSITORY' })
  })

  it('reads an object from any position', async () => {
    await using repo = await service.open(options)
    const bytes = randomBytes(MIB)
    const id = await written(repo, bytes)
    await using reader = await repo.openObject(id)
    assert.equal(reader.length, MIB)
    assert.equal(reader.seek(-10, 'end'), MIB - 10)
    assert.deepEqual(Buffer.from(await reader.read(100)), bytes.subarray(-10))
    assert.equal((await reader.read(100)).length, 0)
    assert.equal(reader.seek(500_000), 500_000)
    assert.deepEqual(Buffer.from(await reader.read(7)), bytes.subarray(500_000, 500_007))
    assert.equal(reader.seek(3, 'current'), 500_010)
    assert.deepEqual(Buffer.from(await reader.read(1)), bytes.subarray(500_010, 500_011))
    assert.throws(() => reader.seek(-1), { code: 'INVALID_RANGE' })
  })

  it('keeps manifests that others see after a flush', async () => {
    await using repo = await service.open(options)
    const labels = { type: 'test', name: 'one' }
    const id = await repo.putManifest({ payload: { answer: 42 }, metadata: { labels } })
    assert.deepEqual((await repo.getManifest(id)).payload, { answer: 42 })
    await using other = await service.open(options)
    assert.deepEqual(await other.findManifests({ labels: { type: 'test' } }), [])
    await repo.flush()
    await using third = await service.open(options)
    const [found] = await third.findManifests({ labels: { name: 'one' } })
    assert.equal(found?.id, id)
    assert.deepEqual(found.labels, labels)
    assert.equal(found.length, '{"answer":42}'.length)
    await third.deleteManifest(id)
    await third.flush()
    await assert.rejects(third.getManifest(id), { code: 'MANIFEST_NOT_FOUND' })
  })

  it('gives up what was not flushed when it is closed', async () => {
    let id: RepoId
    {
      await using repo = await service.open(options)
      id = await written(repo, randomBytes(1000))
    }
    await using repo = await service.open(options)
    await assert.rejects(repo.openObject(id), { code: 'OBJECT_NOT_FOUND' })
  })
})

describe('a full write', () => {
  it('has zeros where it was sought over', async () => {
    await using repo = await service.open(options)
    const [head, tail] = [randomBytes(300_000), randomBytes(5)]
    await using writer = repo.newObjectWriter({ backupMode: ObjectBackupMode.full })
    assert.equal(await writer.seek(10), 10)
    await writer.write(head)
    assert.equal(await writer.seek(2 * MIB, 'current'), 300_010 + 2 * MIB)
    await writer.write(tail)
    const expected = Buffer.concat([Buffer.alloc(10), head, Buffer.alloc(2 * MIB), tail])
    assert.deepEqual(await bytesOf(repo, await writer.result()), expected)
  })

  it('is the same object as one that spells the zeros out', async () => {
    await using repo = await service.open(options)
    const tail = randomBytes(200_000)
    const spelled = await written(repo, Buffer.concat([Buffer.alloc(MIB), tail]))
    await using writer = repo.newObjectWriter({ priority: WritePriority.low })
    await writer.seek(MIB)
    await writer.write(tail)
    assert.equal(await writer.result(), spelled)
  })

  it('goes forward only and ends once', async () => {
    await using repo = await service.open(options)
    await using writer = repo.newObjectWriter()
    await writer.write(Buffer.alloc(10))
    await assert.rejects(writer.seek(9), { code: 'INVALID_RANGE' })
    await writer.result()
    await assert.rejects(writer.write(Buffer.alloc(1)), { code: 'INVALID_ARGUMENT' })
  })

  it('of nothing is an empty object', async () => {
    await using repo = await service.open(options)
    await using writer = repo.newObjectWriter()
    assert.equal((await bytesOf(repo, await writer.result())).length, 0)
  })
})

describe('an incremental write', () => {
  it('has the bytes of its parent where it was sought over, without storing them again', async () => {
    await using repo = await service.open(options)
    const bytes = randomBytes(4 * MIB)
    const parentObject = await written(repo, bytes)
    await repo.flush()
    const patch = randomBytes(1000)
    await using writer = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await writer.seek(2 * MIB + 77)
    await writer.write(patch)
    await writer.seek(4 * MIB)
    const id = await writer.result()
    await repo.flush()

    const expected = Buffer.from(bytes)
    patch.copy(expected, 2 * MIB + 77)
    await using again = await service.open(options)
    assert.deepEqual(await bytesOf(again, id), expected)
    const [before, after] = [await contentsOf(again, parentObject), await contentsOf(again, id)]
    assert.ok(after.filter(content => !before.includes(content)).length <= 4)
    assert.ok(after.filter(content => before.includes(content)).length >= before.length - 3)
  })

  it('that changes nothing is its parent', async () => {
    await using repo = await service.open(options)
    const parentObject = await written(repo, randomBytes(MIB))
    await using writer = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await writer.seek(MIB / 2)
    await writer.seek(MIB)
    assert.deepEqual(await bytesOf(repo, await writer.result()), await bytesOf(repo, parentObject))
    await using whole = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await whole.seek(MIB)
    assert.equal(await whole.result(), parentObject)
  })

  it('may be longer than its parent, with zeros where neither wrote, or shorter', async () => {
    await using repo = await service.open(options)
    const bytes = randomBytes(400_000)
    const parentObject = await written(repo, bytes)
    await using longer = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await longer.seek(500_000)
    await longer.write(Buffer.from('end'))
    const expected = Buffer.concat([bytes, Buffer.alloc(100_000), Buffer.from('end')])
    assert.deepEqual(await bytesOf(repo, await longer.result()), expected)
    await using shorter = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await shorter.seek(5)
    assert.deepEqual(await bytesOf(repo, await shorter.result()), bytes.subarray(0, 5))
  })

  it('stores again what maintenance has marked deleted meanwhile', async () => {
    await using repo = await service.open(options)
    const parentObject = await written(repo, randomBytes(MIB))
    await repo.flush()
    await repo.repository.writing({}, async ({ contents }) => {
      for (const id of await contentsOf(repo, parentObject)) await contents.delete(id as never)
    })
    await using fresh = await service.open(options)
    await using writer = fresh.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await writer.seek(MIB)
    const id = await writer.result()
    await fresh.flush()
    await using again = await service.open(options)
    for (const content of await contentsOf(again, id)) {
      assert.equal(again.repository.contents.info(content as never)?.deleted, false)
    }
  })

  it('has checkpoints that hold what came before', async () => {
    await using repo = await service.open(options)
    const bytes = randomBytes(MIB)
    const parentObject = await written(repo, bytes)
    await using writer = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    assert.equal(await writer.checkpoint(), undefined)
    await writer.seek(MIB / 2)
    await writer.write(Buffer.alloc(MIB))
    const checkpoint = await writer.checkpoint()
    assert.ok(checkpoint)
    const saved = await bytesOf(repo, checkpoint)
    const expected = Buffer.concat([bytes.subarray(0, MIB / 2), Buffer.alloc(MIB)])
    assert.ok(saved.length > MIB / 2)
    assert.deepEqual(saved, expected.subarray(0, saved.length))
    assert.deepEqual(await bytesOf(repo, await writer.result()), expected)
  })

  it('needs a parent, and no other write has one', async () => {
    await using repo = await service.open(options)
    await assert.rejects(repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental }).result(), {
      code: 'INVALID_ARGUMENT',
    })
    const parentObject = await written(repo, Buffer.from('x'))
    await assert.rejects(repo.newObjectWriter({ parentObject }).result(), { code: 'INVALID_ARGUMENT' })
  })
})
