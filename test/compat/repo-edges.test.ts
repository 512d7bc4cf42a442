/** Sources and places that are hard: devices, deep paths, bytes that are no text, holes, full disks, files in use. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { uploadBlockDevice } from '../../packages/repo/src/snapshot/block-device.ts'
import type { DirectoryEntry } from '../../packages/repo/src/snapshot/directory.ts'
import { findSnapshot } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreDevice } from '../../packages/repo/src/snapshot/restore-device.ts'
import { type RestoreTreeOptions, restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { describeTree } from './upload-source-tree.ts'

const skip = await kopiaSkip()
const [seed = 1] = rotatingSeeds({ name: 'edges', count: 1, soakCount: 20 })
const source = { host: 'testhost', userName: 'tester', path: '/data' }

async function open({
  path: folder,
  password,
}: Pick<KopiaRepository, 'path' | 'password'>): Promise<Repository> {
  return openRepository({ storage: await openFilesystemStorage({ path: folder }), password, rehash: true })
}

function upload(repository: Repository, folder: string) {
  return repository.writing({}, writer => uploadTree(writer, folder, { source }))
}

function restore(
  repository: Repository,
  entry: DirectoryEntry,
  options: Pick<RestoreTreeOptions, 'target'> & Partial<RestoreTreeOptions>,
) {
  return restoreTree({ contents: repository.contents, entry, ...options })
}

/** A loop device over an image, or undefined where none can be made. */
function loopDevice(t: TestContext, image: string): string | undefined {
  try {
    const device = execFileSync('losetup', ['--find', '--show', image], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
    t.after(() => execFileSync('losetup', ['--detach', device]))
    return device
  } catch {
    return undefined
  }
}

/** A small file system of its own, or undefined where none may be mounted. */
async function smallDisk(t: TestContext, size: string): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-small-'))
  let mounted = false
  t.after(async () => {
    if (mounted) execFileSync('umount', [folder])
    await rm(folder, { recursive: true })
  })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' })
    mounted = true
    return folder
  } catch {
    return undefined
  }
}

describe(`at the edges (seed ${seed})`, { skip }, () => {
  it('a real block device is one object, which kopia and we write back', async t => {
    const kopia = await kopiaRepository(t)
    const [image, other] = ['image', 'other'].map(name => path.join(kopia.scratch, name)) as [string, string]
    const bytes = Buffer.concat([
      seededRandom(seed).bytes(1 << 20),
      Buffer.alloc(6 << 20),
      Buffer.alloc(1 << 20, 7),
    ])
    writeFileSync(image, bytes)
    writeFileSync(other, Buffer.alloc(bytes.length, 0xff))
    const [device, target] = [loopDevice(t, image), loopDevice(t, other)]
    if (device === undefined || target === undefined) return t.skip('no loop device can be made here')
    await using repository = await open(kopia)
    const { snapshot } = await repository.writing({}, writer => uploadBlockDevice(writer, device, { source }))
    assert.equal(snapshot.rootEntry.summary?.size, bytes.length)
    await repository.refresh()
    const { rootEntry } = await findSnapshot(repository.manifests, snapshot.id)
    const written = await restoreDevice({ contents: repository.contents, entry: rootEntry, device: target })
    assert.equal(written, bytes.length)
    assert.ok(readFileSync(other).equals(bytes))
    await kopia.verify()
    const listed = JSON.parse(await kopia.kopia(['show', rootEntry.obj])) as { entries: { obj: string }[] }
    const restored = path.join(kopia.scratch, 'by-kopia')
    await kopia.kopia(['restore', listed.entries[0]?.obj ?? '', restored])
    assert.ok(readFileSync(restored).equals(bytes))
  })

  it('a source deeper than any path can name is stored whole, and kopia verifies it', async t => {
    const kopia = await kopiaRepository(t)
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-deep-'))
    t.after(() => execFileSync('rm', ['-rf', folder]))
    const name = 'd'.repeat(200)
    const deepen = `const fs = require('fs'); for (let n = 0; n < 30; n++) { fs.mkdirSync('${name}'); process.chdir('${name}'); fs.writeFileSync('f', 'x') }`
    execFileSync(process.execPath, ['-e', deepen], { cwd: folder })
    writeFileSync(path.join(folder, 'beside'), 'beside')
    await using repository = await open(kopia)
    const { snapshot } = await upload(repository, folder)
    const summary = snapshot.rootEntry.summary
    assert.deepEqual([summary?.numFailed, summary?.files], [0, 31])
    await kopia.verify()
    const theirs = await kopia
      .kopia(['snapshot', 'create', folder, '--json', '--no-auto-maintenance'])
      .catch(error => String(error))
    assert.match(theirs, /too long/, 'kopia reaches no deeper')
  })

  it('names that are not UTF-8 are restored by us as by kopia, whoever stored them', async t => {
    const kopia = await kopiaRepository(t)
    const folder = path.join(kopia.scratch, 'source')
    mkdirSync(folder)
    for (const bytes of [[0x61, 0xff], [0xc3, 0x28], [0x62, 0x80, 0x2e, 0x74], [0x63]])
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(bytes)]), Buffer.from(bytes))
    await using repository = await open(kopia)
    const theirs = await kopia.snapshot(folder)
    const ours = (await upload(repository, folder)).snapshot.id
    await repository.refresh()
    for (const id of [theirs, ours]) {
      const { rootEntry } = await findSnapshot(repository.manifests, id)
      const target = path.join(kopia.scratch, `by-us-${id}`)
      const { problems } = await restore(repository, rootEntry, { target })
      assert.deepEqual(problems, [])
      assert.deepEqual(readdirSync(target).sort(), ['a\ufffd', 'b\ufffd.t', 'c', '\ufffd('])
      const [byUs, byKopia] = [describeTree(target), describeTree(await kopia.restore(id))]
      for (const tree of [byUs, byKopia]) delete tree['']
      assert.deepEqual(byUs, byKopia)
    }
  })

  it('a sparse file comes back with its bytes and its holes', async t => {
    const kopia = await kopiaRepository(t)
    const folder = path.join(kopia.scratch, 'source')
    mkdirSync(folder)
    const file = path.join(folder, 'sparse')
    writeFileSync(file, '')
    truncateSync(file, 48 << 20)
    const fd = openSync(file, 'r+')
    for (const offset of [0, (17 << 20) + 5, (48 << 20) - 100]) writeSync(fd, 'not a hole', offset)
    closeSync(fd)
    await using repository = await open(kopia)
    const { snapshot } = await upload(repository, folder)
    const target = path.join(kopia.scratch, 'target')
    const { problems } = await restore(repository, snapshot.rootEntry, { target, sparse: true })
    assert.deepEqual(problems, [])
    assert.ok(readFileSync(path.join(target, 'sparse')).equals(readFileSync(file)))
    const { blocks, size } = lstatSync(path.join(target, 'sparse'))
    assert.equal(size, 48 << 20)
    assert.ok(blocks * 512 < 4 << 20, `${blocks} blocks are allocated`)
    assert.ok(readFileSync(path.join(await kopia.restore(snapshot.id), 'sparse')).equals(readFileSync(file)))
  })

  it('a full disk ends an upload with one error, keeps what it has, and takes the next one when there is room', async t => {
    const disk = await smallDisk(t, '8m')
    if (disk === undefined) return t.skip('no file system can be mounted here')
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-source-'))
    t.after(() => rm(folder, { recursive: true }))
    const random = seededRandom(seed)
    writeFileSync(path.join(folder, 'first'), random.bytes(2 << 20))
    const storage = { path: path.join(disk, 'repository'), password: 'static-passw0rd' }
    await using repository = await createRepository({
      storage: await openFilesystemStorage({ path: storage.path, create: true }),
      password: storage.password,
    })
    const first = (await upload(repository, folder)).snapshot
    writeFileSync(path.join(folder, 'second'), random.bytes(9 << 20))
    await assert.rejects(upload(repository, folder), {
      code: 'STORAGE_FULL',
      message: /full|no space/i,
      hint: /./,
    })
    const verify = async () => {
      await using fresh = await open(storage)
      const { found, snapshots } = await verifyRepository(fresh, { contents: 'all' })
      assert.deepEqual(found, [])
      return snapshots
    }
    assert.equal(await verify(), 1)
    execFileSync('mount', ['-o', 'remount,ro', disk])
    await assert.rejects(upload(repository, folder), { code: 'READ_ONLY' })
    execFileSync('mount', ['-o', 'remount,rw,size=32m', disk])
    const second = (await upload(repository, folder)).snapshot
    assert.notEqual(second.rootEntry.obj, first.rootEntry.obj)
    assert.equal(await verify(), 2)
    const kopia = await kopiaRepository(t, {
      storage: { path: storage.path },
      connect: true,
      password: storage.password,
    })
    await kopia.verify()
  })

  it('files that another process changes, removes and makes all the time end up in snapshots that are whole', async t => {
    announceSeed(t, seed)
    const kopia = await kopiaRepository(t)
    const folder = path.join(kopia.scratch, 'source')
    mkdirSync(folder)
    const writer = spawn(
      process.execPath,
      [path.join(import.meta.dirname, 'busy-writer.ts'), folder, `${seed}`],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const ended = once(writer, 'exit')
    await once(writer.stdout, 'data')
    await using repository = await open(kopia)
    try {
      for (let round = 0; round < 8; round += 1) {
        const { snapshot } = await upload(repository, folder)
        assert.equal(snapshot.incomplete, undefined)
      }
    } finally {
      writer.kill('SIGKILL')
      await ended
    }
    const { snapshot } = await upload(repository, folder)
    assert.equal(snapshot.rootEntry.summary?.numFailed, 0)
    await kopia.verify()
    assert.deepEqual(describeTree(await kopia.restore(snapshot.id)), describeTree(folder))
    const { found } = await verifyRepository(await open(kopia), { contents: 'all' })
    assert.deepEqual(found, [])
  })
})
