import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { memoryStorage } from '../blob/memory.ts'
import { systemClock } from '../clock/clock.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { createRepository, type Repository } from '../repository.ts'
import type { ToThread } from '../threads/thread-messages.ts'
import { type DirectoryEntry, parseDirectory } from './directory.ts'
import { listSnapshots } from './list-snapshots.ts'
import { defaultPolicy, type Policy } from './policy.ts'
import { policyTree } from './policy-tree.ts'
import type { UploadOptions } from './upload-options.ts'
import { uploadTree } from './upload-tree.ts'

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const { postMessage } = Worker.prototype
afterEach(() => {
  Worker.prototype.postMessage = postMessage
})

/** Does something just before a thread is told to read. */
function beforeReading(act: (worker: Worker, message: ToThread) => void): void {
  Worker.prototype.postMessage = function (this: Worker, ...args: Parameters<typeof postMessage>) {
    const message = args[0] as ToThread
    if (message.kind === 'files' || message.kind === 'file') act(this, message)
    postMessage.apply(this, args)
  }
}

function given(files: Record<string, string | Buffer>): string {
  const root = mkdtempSync(path.join(tmpdir(), 'lateen-threads-'))
  folders.push(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), content)
  }
  return root
}

const source = { host: 'h', userName: 'u', path: '/data' }
const newRepository = () => createRepository({ storage: memoryStorage(), password: 'secret' })
const nobody = 65534
const forced = { threads: 2, threadsFrom: 0 } as const

function upload(repository: Repository, tree: string, options: Partial<UploadOptions> = {}) {
  return repository.writing({}, writer => uploadTree(writer, tree, { source, ...forced, ...options }))
}

/** Every file below an entry with its bytes. */
async function filesBelow(
  repository: Repository,
  entry: DirectoryEntry,
  name = '',
): Promise<Map<string, Buffer>> {
  const reader = await repository.objects.open(entry.obj)
  const bytes = Buffer.from(await reader.read(0, reader.length))
  if (entry.type !== 'd') return new Map([[name, bytes]])
  const found = new Map<string, Buffer>()
  for (const child of parseDirectory(bytes).entries) {
    const below = await filesBelow(repository, child, path.posix.join(name, child.name))
    for (const [below_, content] of below) found.set(below_, content)
  }
  return found
}

/** A small tree with one of everything. */
function richTree(): { tree: string; files: Record<string, Buffer> } {
  const files: Record<string, Buffer> = {
    empty: Buffer.alloc(0),
    'a/one': Buffer.from('same'),
    'b/two': Buffer.from('same'),
    'b/c/text': Buffer.alloc(300_000, 'text and more text '),
    'b/middle': randomBytes(900_000),
    large: randomBytes(14 << 20),
    'large-text': Buffer.alloc(5 << 20, 'the same words again and again '),
  }
  for (let at = 0; at < 700; at++) files[`many/${at % 50}/${at}`] = randomBytes(at % 97 === 0 ? 200_000 : 50)
  const tree = given(files)
  symlinkSync('a/one', path.join(tree, 'link'))
  return { tree, files }
}

function policyWith(sections: Partial<Policy>) {
  return policyTree({ ...defaultPolicy(), ...sections })
}

describe('an upload with threads', () => {
  const { tree, files } = richTree()
  const policies: [string, UploadOptions['policies']][] = [
    ['by default', undefined],
    ['cut into short chunks', policyWith({ splitter: { algorithm: 'DYNAMIC-128K-BUZHASH' } })],
    ['compressed', policyWith({ compression: { ...defaultPolicy().compression, compressorName: 'zstd' } })],
    [
      'in parallel parts',
      policyWith({ upload: { ...defaultPolicy().upload, parallelUploadAboveSize: 3n << 20n } }),
    ],
  ]
  for (const [how, policy] of policies) {
    it(`makes the same objects as one without, ${how}`, async () => {
      await using repository = await newRepository()
      const options = policy === undefined ? {} : { policies: policy }
      const threaded = await upload(repository, tree, { ...options, rereadAll: true })
      const stored = await filesBelow(repository, threaded.snapshot.rootEntry)
      assert.equal(stored.get('link')?.toString(), 'a/one')
      for (const [name, bytes] of Object.entries(files)) assert.ok(stored.get(name)?.equals(bytes), name)
      const single = await upload(repository, tree, { ...options, rereadAll: true, threads: 0 })
      assert.equal(threaded.snapshot.rootEntry.obj, single.snapshot.rootEntry.obj)
      const varying = { bytesPerSecond: 0, path: '' }
      assert.deepEqual({ ...threaded.progress, ...varying }, { ...single.progress, ...varying })
    })
  }

  it('stores nothing twice when it reads everything again', async () => {
    const storage = memoryStorage()
    await using repository = await createRepository({ storage, password: 'secret' })
    const packs = () => [...storage.blobs.keys()].filter(id => id.startsWith('p')).length
    await upload(repository, tree, { threads: 0 })
    const before = packs()
    await upload(repository, tree, { rereadAll: true })
    assert.equal(packs(), before)
  })

  it('makes the same objects of a file with holes, and stores what fills them once', async () => {
    const sparse = given({ file: randomBytes(1 << 20) })
    const file = path.join(sparse, 'file')
    truncateSync(file, 40 << 20)
    appendFileSync(file, randomBytes(1000))
    truncateSync(file, (64 << 20) + 77)
    await using repository = await newRepository()
    const threaded = await upload(repository, sparse)
    let stored = 0
    for await (const { packBlobId, packedLength } of repository.contents.entries()) {
      if (packBlobId.startsWith('p')) stored += packedLength
    }
    assert.ok(stored < 16 << 20, `${stored} bytes`)
    const single = await upload(repository, sparse, { rereadAll: true, threads: 0 })
    assert.equal(threaded.snapshot.rootEntry.obj, single.snapshot.rootEntry.obj)
    const read = (await filesBelow(repository, threaded.snapshot.rootEntry)).get('file')
    assert.ok(read?.equals(readFileSync(file)))
  })

  it('stores a content once that two threads find at the same time', async () => {
    const same = randomBytes(5 << 20)
    const twice = given({ a: same, b: same })
    await using repository = await newRepository()
    await upload(repository, twice)
    let stored = 0
    for await (const { packBlobId, packedLength } of repository.contents.entries()) {
      if (packBlobId.startsWith('p')) stored += packedLength
    }
    assert.ok(stored < 6 << 20)
  })

  it('takes files that shrink, grow or vanish as they are when they are read', async () => {
    const names = Array.from({ length: 400 }, (_, at) => `f${at}`)
    const changing = given(Object.fromEntries(names.map(name => [name, randomBytes(5000)])))
    const changed = new Set<string>()
    beforeReading((_, message) => {
      if (message.kind !== 'files') return
      const [shrunk, grown, vanished, huge] = message.files.paths.map(String)
      if (!shrunk || !grown || !vanished || !huge || changed.size > 0) return
      truncateSync(shrunk, 10)
      appendFileSync(grown, 'more')
      rmSync(vanished)
      appendFileSync(huge, Buffer.alloc(3 << 20))
      for (const name of [shrunk, grown, vanished, huge]) changed.add(path.basename(name))
    })
    await using repository = await newRepository()
    const { snapshot, progress } = await upload(repository, changing)
    assert.equal(changed.size, 4)
    assert.deepEqual([progress.filesRead, progress.skipped, progress.errors], [399, 1, 0])
    const stored = await filesBelow(repository, snapshot.rootEntry)
    const [shrunk = '', grown = '', vanished = '', huge = ''] = changed
    const lengths = [shrunk, grown, vanished, huge].map(name => stored.get(name)?.length)
    assert.deepEqual(lengths, [10, 5004, undefined, 5000 + (3 << 20)])
    assert.equal((await upload(repository, changing)).progress.filesRead, 3)
  })

  it('notes a file that it may not read, among those that it may, and goes on', async () => {
    const secretive = given(
      Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`f${at}`, Buffer.alloc(100, at)])),
    )
    chmodSync(path.join(secretive, 'f399'), 0)
    await using repository = await newRepository()
    const asNobody = process.getuid?.() === 0
    chmodSync(secretive, 0o755)
    if (asNobody) process.seteuid?.(65534)
    try {
      const { snapshot } = await upload(repository, secretive)
      assert.equal(snapshot.rootEntry.summary?.files, 399)
      assert.deepEqual(
        snapshot.rootEntry.summary?.errors.map(({ path: failed }) => failed),
        ['f399'],
      )
    } finally {
      if (asNobody) process.seteuid?.(0)
    }
  })

  it('is one clear error when a thread dies, and the next upload succeeds', async () => {
    await using repository = await newRepository()
    beforeReading((worker, { kind }) => {
      if (kind === 'file') void worker.terminate()
    })
    await assert.rejects(
      upload(repository, tree),
      error => isRepoError(error, 'SOURCE_FAILED') && /A thread .* has died/.test(error.message),
    )
    Worker.prototype.postMessage = postMessage
    assert.equal((await upload(repository, tree)).snapshot.incomplete, undefined)
  })

  it('is cancelled while threads work, and keeps what was complete when told so', async () => {
    await using repository = await newRepository()
    const cancelled = (keepCancelled: boolean) => {
      const controller = new AbortController()
      beforeReading((_, { kind }) => {
        if (kind === 'file') setImmediate(() => controller.abort())
      })
      return upload(repository, tree, { signal: controller.signal, keepCancelled, parallel: 1 })
    }
    await assert.rejects(cancelled(false), error => isRepoError(error, 'CANCELLED'))
    const { snapshot } = await cancelled(true)
    assert.equal(snapshot.incomplete, 'canceled')
    for (const [name, bytes] of await filesBelow(repository, snapshot.rootEntry)) {
      assert.ok(name === 'link' || files[name]?.equals(bytes), name)
    }
  })

  it('ends with the error of the storage', async () => {
    const storage = memoryStorage()
    await using repository = await createRepository({
      password: 'secret',
      storage: {
        ...storage,
        async put(id, ...rest) {
          if (id.startsWith('p')) throw new RepoError('STORAGE_FULL', { message: 'no space left' })
          return storage.put(id, ...rest)
        },
      },
    })
    await assert.rejects(upload(repository, tree), error => isRepoError(error, 'STORAGE_FULL'))
  })

  it('goes on while what threads have is read and flushed', async () => {
    const storage = memoryStorage()
    await using repository = await createRepository({
      storage,
      password: 'secret',
      format: { maxPackSize: 4 << 20 },
    })
    let ended = false
    const { snapshot } = await repository.writing({}, async writer => {
      const uploading = uploadTree(writer, tree, { source, ...forced }).finally(() => {
        ended = true
      })
      while (!ended) {
        await sleep(1)
        for await (const { contentId, originalLength } of writer.contents.entries({ prefix: '' })) {
          assert.equal((await writer.contents.read(contentId)).length, originalLength)
        }
        await writer.flush()
      }
      return uploading
    })
    const stored = await filesBelow(repository, snapshot.rootEntry)
    for (const [name, bytes] of Object.entries(files)) assert.ok(stored.get(name)?.equals(bytes), name)
  })

  it('saves checkpoints with the chunks that are stored of a large file', async () => {
    const big = given({ big: randomBytes(60 << 20) })
    await using repository = await newRepository()
    const { snapshot } = await upload(repository, big, {
      checkpointInterval: 10,
      applyRetention: false,
    })
    const { snapshots } = await listSnapshots(repository.manifests, source)
    const checkpoints = snapshots.filter(({ incomplete }) => incomplete === 'checkpoint')
    const parts: number[] = []
    for (const { rootEntry } of checkpoints) {
      for (const [name, bytes] of await filesBelow(repository, rootEntry)) {
        if (name !== 'big') parts.push(bytes.length)
      }
    }
    assert.ok(parts.some(length => length > 0 && length < 60 << 20))
    assert.equal((await filesBelow(repository, snapshot.rootEntry)).get('big')?.length, 60 << 20)
  })
})

describe('a folder that cannot be read any more while one in it is', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, () => {
  it('kept the upload for ever, which could not be cancelled either: it ends with what is wrong', async () => {
    const names = Array.from({ length: 300 }, (_, at) => `z${at}`)
    const files = [...names, ...names.map(name => `sub/${name}`)]
    const tree = given(Object.fromEntries(files.map(name => [name, name])))
    for (const folder of [tree, path.join(tree, 'sub')]) chownSync(folder, nobody, nobody)
    await using repository = await newRepository()
    let now = systemClock.now()
    const uploading = upload(repository, tree, {
      parallel: 2,
      // Every look at it is a while later, so that walks take turns and tell of each entry.
      clock: { now: () => (now += 200), sleep: systemClock.sleep },
      onProgress: ({ directories }) => {
        if (directories < 2) return
        process.seteuid?.(nobody)
        chmodSync(tree, 0o400)
      },
      signal: AbortSignal.timeout(20_000),
    }).finally(() => process.seteuid?.(0))
    await assert.rejects(
      uploading,
      error => isRepoError(error, 'SOURCE_FAILED') && /EACCES/.test(error.message),
    )
  })
})
