import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { type Clock, systemClock } from '../clock/clock.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { parseObjectId } from '../object/object-id.ts'
import { chunksOf } from '../object/object-reader.ts'
import { createRepository, openRepository, type Repository, type RepositoryWriter } from '../repository.ts'
import { type Directory, type DirectoryEntry, parseDirectory } from './directory.ts'
import { defaultPolicy, emptyPolicy, type Policy, policyLabels, policyPayload } from './policy.ts'
import { policyTree } from './policy-tree.ts'
import type { UploadProgress } from './progress.ts'
import type { UploadOptions, UploadTarget } from './upload-options.ts'
import { uploadTree } from './upload-tree.ts'

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A new folder with these files; a name that ends with a slash is a folder. */
function given(files: Record<string, string | Buffer>): string {
  const root = mkdtempSync(path.join(tmpdir(), 'lateen-tree-'))
  folders.push(root)
  for (const [name, content] of Object.entries(files)) {
    const full = path.join(root, name)
    mkdirSync(name.endsWith('/') ? full : path.dirname(full), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(full, content)
  }
  return root
}

const source = { host: 'h', userName: 'u', path: '/data' }
const newRepository = () => createRepository({ storage: memoryStorage(), password: 'secret' })

function upload(repository: Repository, tree: string, options: Partial<UploadOptions> = {}) {
  return repository.writing({}, writer => uploadTree(writer, tree, { source, ...options }))
}

async function readDirectory(repository: Repository, entry: DirectoryEntry): Promise<Directory> {
  const reader = await repository.objects.open(entry.obj)
  return parseDirectory(await reader.read(0, reader.length))
}

async function entryAt(
  repository: Repository,
  root: DirectoryEntry,
  names: string,
): Promise<DirectoryEntry | undefined> {
  let entry: DirectoryEntry | undefined = root
  for (const name of names.split('/')) {
    if (!entry) return undefined
    entry = (await readDirectory(repository, entry)).entries.find(child => child.name === name)
  }
  return entry
}

/** A clock that goes on with every look at it, so that every file is followed by a report. */
function tickingClock(): Clock {
  let now = systemClock.now()
  return { now: () => (now += 200), sleep: systemClock.sleep }
}

/** The same target, told of every write to a large file. */
function watched(writer: RepositoryWriter, onWrite: () => void): UploadTarget {
  const { repository, contents, manifests, objects } = writer
  return {
    repository,
    contents,
    manifests,
    flush: signal => writer.flush(signal),
    objects: {
      ...objects,
      create(options) {
        const inner = objects.create(options)
        return {
          async write(bytes) {
            await inner.write(bytes)
            onWrite()
          },
          checkpoint: () => inner.checkpoint(),
          finish: () => inner.finish(),
        }
      },
    },
  }
}

/** Runs `work` as a user to whom permissions apply. */
async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

function policyWith(sections: Partial<Policy>) {
  return policyTree({ ...defaultPolicy(), ...sections })
}

describe('an upload', () => {
  const changes: [string, (file: string) => void][] = [
    ['grows', file => appendFileSync(file, 'more')],
    ['shrinks', file => truncateSync(file, 2 << 20)],
  ]
  for (const [name, change] of changes) {
    it(`stores what was read of a file that ${name} meanwhile, and reads it again the next time`, async () => {
      const tree = given({ [name]: Buffer.alloc(4 << 20, 1) })
      await using repository = await newRepository()
      let writes = 0
      const { snapshot } = await repository.writing({}, writer => {
        const target = watched(writer, () => {
          if (writes++ === 0) change(path.join(tree, name))
        })
        return uploadTree(target, tree, { source })
      })
      assert.equal(snapshot.rootEntry.summary?.numFailed, 0)
      const entry = await entryAt(repository, snapshot.rootEntry, name)
      assert.ok(entry)
      assert.equal((await repository.objects.open(entry.obj)).length, entry.size)
      assert.equal((await upload(repository, tree)).progress.filesRead, 1)
      assert.equal((await upload(repository, tree)).progress.filesRead, 0)
    })
  }

  it('goes on without folders that vanish before it gets to them', async () => {
    const tree = given({ 'a/file': 'x', 'b/file': 'x', 'c/file': 'x' })
    await using repository = await newRepository()
    const { snapshot, progress } = await upload(repository, tree, {
      clock: tickingClock(),
      parallel: 1,
      estimate: false,
      onProgress({ filesRead }) {
        if (filesRead !== 1) return
        for (const name of ['a', 'b', 'c']) rmSync(path.join(tree, name), { recursive: true, force: true })
      },
    })
    assert.deepEqual([progress.errors, snapshot.rootEntry.summary?.numFailed], [0, 0])
    assert.ok(progress.filesRead < 3)
  })

  it('counts what cannot be read, fails fast when told so, and does not count what policy ignores', async () => {
    const tree = given({ secret: 'x', 'closed/file': 'x', open: 'x' })
    chmodSync(tree, 0o755)
    chmodSync(path.join(tree, 'secret'), 0)
    chmodSync(path.join(tree, 'closed'), 0)
    await using repository = await newRepository()
    await unprivileged(async () => {
      const { snapshot, progress } = await upload(repository, tree)
      const { numFailed, errors, files } = snapshot.rootEntry.summary ?? assert.fail('no summary')
      assert.deepEqual([numFailed, files, progress.errors, snapshot.stats.errorCount], [2, 1, 2, 2])
      assert.deepEqual(
        errors.map(failed => failed.path),
        ['closed', 'secret'],
      )
      assert.match(errors[0]?.error ?? '', /EACCES/)
      await assert.rejects(
        upload(repository, tree, { failFast: true }),
        error => isRepoError(error, 'SOURCE_FAILED') && /closed|secret/.test(error.path ?? ''),
      )
      const policies = policyWith({ errorHandling: { ignoreFileErrors: true, ignoreDirectoryErrors: true } })
      const tolerant = await upload(repository, tree, { policies, failFast: true })
      const { summary } = tolerant.snapshot.rootEntry
      assert.deepEqual([summary?.numFailed, summary?.numIgnoredErrors], [0, 2])
    })
  })

  it('fails when its root cannot be read, and leaves no snapshot', async () => {
    const tree = given({ 'closed/file': 'x', '.kopiaignore/': '' })
    chmodSync(tree, 0o755)
    chmodSync(path.join(tree, 'closed'), 0)
    await using repository = await newRepository()
    const failed = (error: unknown) => isRepoError(error, 'SOURCE_FAILED')
    await unprivileged(() => assert.rejects(upload(repository, path.join(tree, 'closed')), failed))
    await assert.rejects(upload(repository, path.join(tree, 'nowhere')), failed)
    await assert.rejects(upload(repository, '/dev/null'), failed)
    assert.deepEqual(await repository.manifests.find({ type: 'snapshot' }), [])
  })

  it('names the line of an ignore file that cannot be used', async () => {
    const tree = given({ '.kopiaignore': 'fine\n[broken\n', 'sub/file': 'x' })
    await using repository = await newRepository()
    await assert.rejects(
      upload(repository, tree),
      error => isRepoError(error, 'SOURCE_FAILED') && error.message.includes('[broken'),
    )
    const all = await upload(repository, tree, { ignoreRules: false })
    assert.equal(all.snapshot.rootEntry.summary?.files, 2)
  })

  it('stores equal trees as equal objects, at any degree of parallelism', async () => {
    const files: Record<string, string | Buffer> = {}
    for (let index = 0; index < 200; index++)
      files[`d${index % 7}/e${index % 3}/f${index}`] = `content ${index}`
    for (let index = 0; index < 4; index++) files[`d${index}/large`] = Buffer.alloc(3 << 20, index)
    const tree = given(files)
    symlinkSync('d1', path.join(tree, 'link'))
    const roots = new Set<string>()
    await using repository = await newRepository()
    for (const parallel of [1, 2, 8]) {
      const { snapshot } = await upload(repository, tree, { parallel, rereadAll: true })
      roots.add(snapshot.rootEntry.obj)
    }
    assert.equal(roots.size, 1)
  })

  it('takes directories of many entries and deep ones', async () => {
    const files: Record<string, string> = {}
    for (let index = 0; index < 5000; index++) files[`many/${index}`] = ''
    files[`${'d/'.repeat(1500)}file`] = 'deep'
    const tree = given(files)
    await using repository = await newRepository()
    const { snapshot } = await upload(repository, tree)
    const { files: count, dirs } = snapshot.rootEntry.summary ?? assert.fail('no summary')
    assert.deepEqual([count, dirs], [5001, 1502])
    const again = await upload(repository, tree)
    assert.deepEqual([again.progress.filesRead, again.snapshot.rootEntry.obj], [0, snapshot.rootEntry.obj])
  })

  it('ends with an incomplete snapshot at its limit, and goes on from there', async () => {
    const files: Record<string, Buffer> = {}
    for (let index = 0; index < 20; index++) files[`d${index}/file`] = Buffer.alloc(10_000, index)
    const tree = given(files)
    await using repository = await newRepository()
    const limited = await upload(repository, tree, { maxUploadBytes: 55_000, parallel: 1 })
    assert.deepEqual([limited.snapshot.incomplete, limited.progress.filesRead], ['limit reached', 6])
    assert.equal(limited.snapshot.rootEntry.summary?.incomplete, 'limit reached')
    const rest = await upload(repository, tree)
    assert.deepEqual(
      [rest.snapshot.incomplete, rest.progress.filesCached, rest.progress.filesRead],
      [undefined, 6, 14],
    )
  })

  it('reports bytes and files and knows the total, from the tree or from the snapshot before', async () => {
    const files: Record<string, Buffer> = {}
    for (let index = 0; index < 50; index++) files[`d${index % 5}/f${index}`] = Buffer.alloc(1000, index)
    const tree = given(files)
    await using repository = await newRepository()
    const seen: UploadProgress[] = []
    const onProgress = (progress: UploadProgress) => void seen.push(progress)
    await upload(repository, tree, { clock: tickingClock(), onProgress })
    assert.ok(seen.length > 5)
    for (const [index, report] of seen.entries())
      assert.ok(report.bytesRead >= (seen[index - 1]?.bytesRead ?? 0))
    assert.deepEqual([seen.at(-1)?.bytesRead, seen.at(-1)?.filesRead], [50_000, 50])
    assert.ok((seen.at(-1)?.bytesPerSecond ?? 0) > 0)
    const { progress } = await upload(repository, tree, { onProgress })
    assert.deepEqual([progress.totalFiles, progress.totalBytes, progress.bytesCached], [50, 50_000, 50_000])
  })

  it('reads an unchanged file again when maintenance has marked what was stored of it', async () => {
    const repository = await newRepository()
    const tree = given({ kept: 'kept', marked: 'marked' })
    const first = await upload(repository, tree)
    const marked = await entryAt(repository, first.snapshot.rootEntry, 'marked')
    assert.ok(marked)
    const { contentId } = parseObjectId(marked.obj)
    await repository.writing({}, writer => writer.contents.delete(contentId))
    const second = await upload(repository, tree)
    assert.equal(second.progress.filesCached, 1)
    assert.equal(repository.contents.info(contentId)?.deleted, false, 'the next snapshot needs it')
  })

  it('reads an unchanged file again when maintenance has marked a chunk of it, or the list of its chunks', async () => {
    const repository = await newRepository()
    const tree = given({ large: randomBytes(20 << 20) })
    const { snapshot } = await upload(repository, tree)
    const { obj } = (await entryAt(repository, snapshot.rootEntry, 'large')) ?? assert.fail('it is not there')
    const chunks = await chunksOf(repository.contents, obj)
    assert.ok(chunks.length > 1)
    const last = parseObjectId(chunks.at(-1)?.object ?? assert.fail('no chunk')).contentId
    for (const marked of [last, parseObjectId(obj).contentId]) {
      assert.equal((await upload(repository, tree)).progress.filesCached, 1)
      await repository.writing({}, writer => writer.contents.delete(marked))
      const next = await upload(repository, tree)
      assert.deepEqual([next.progress.filesCached, next.progress.filesRead], [0, 1])
      assert.equal(repository.contents.info(marked)?.deleted, false, 'the next snapshot needs it')
    }
  })

  it('stores an unchanged directory again when maintenance has marked it', async () => {
    const repository = await newRepository()
    const tree = given({ 'sub/file': 'x' })
    const { snapshot } = await upload(repository, tree)
    const sub = (await entryAt(repository, snapshot.rootEntry, 'sub')) ?? assert.fail('it is not there')
    const { contentId } = parseObjectId(sub.obj)
    await repository.writing({}, writer => writer.contents.delete(contentId))
    const again = await upload(repository, tree)
    assert.deepEqual([again.progress.filesCached, again.snapshot.rootEntry.obj], [1, snapshot.rootEntry.obj])
    assert.equal(repository.contents.info(contentId)?.deleted, false, 'the next snapshot needs it')
  })

  it('looks at the indexes again before it relies on what it knew a quarter of an hour ago', async () => {
    let now = Date.UTC(2026, 0, 1)
    const clock = { now: () => now, sleep: systemClock.sleep }
    const storage = memoryStorage({ clock })
    const options = { storage, password: 'secret', clock }
    await using repository = await createRepository(options)
    const tree = given({ file: 'x' })
    const { snapshot } = await upload(repository, tree, { clock })
    const file = (await entryAt(repository, snapshot.rootEntry, 'file')) ?? assert.fail('it is not there')
    const { contentId } = parseObjectId(file.obj)
    const other = await openRepository(options)
    await other.writing({}, writer => writer.contents.delete(contentId))
    now += 16 * 60_000
    const again = await upload(repository, tree, { clock, previous: [snapshot] })
    assert.equal(again.progress.filesRead, 1)
    assert.equal(repository.contents.info(contentId)?.deleted, false, 'the next snapshot needs it')
  })

  const differences: [string, (tree: string) => void][] = [
    ['nothing', () => {}],
    ['the bytes of a file', tree => appendFileSync(path.join(tree, 'a/b/file'), 'more')],
    ['the time of a file', tree => utimesSync(path.join(tree, 'a/b/file'), 1, 1)],
    ['the mode of a file', tree => chmodSync(path.join(tree, 'a/b/file'), 0o600)],
    ['the mode of a folder', tree => chmodSync(path.join(tree, 'a/b'), 0o700)],
    ['the name of a file', tree => renameSync(path.join(tree, 'a/b/file'), path.join(tree, 'a/b/g'))],
    ['one file less', tree => rmSync(path.join(tree, 'a/b/file'))],
    ['one file more', tree => writeFileSync(path.join(tree, 'a/new'), 'x')],
    ['an empty folder less', tree => rmdirSync(path.join(tree, 'a/empty'))],
  ]
  for (const [what, change] of differences) {
    it(`stores the same objects after a change of ${what} whether or not it compares with the snapshot before`, async () => {
      const tree = given({ 'a/b/file': 'x', 'a/b/other': 'y', 'a/empty/': '', 'c/<&>': 'z' })
      symlinkSync('c', path.join(tree, 'link'))
      await using repository = await newRepository()
      const first = await upload(repository, tree)
      change(tree)
      const compared = await upload(repository, tree)
      const read = await upload(repository, tree, { rereadAll: true })
      assert.equal(compared.snapshot.rootEntry.obj, read.snapshot.rootEntry.obj)
      assert.equal(first.snapshot.rootEntry.obj === read.snapshot.rootEntry.obj, what === 'nothing')
    })
  }

  it('reads everything when told so, and also where the previous snapshot is damaged', async () => {
    const tree = given({ 'a/file': 'x', b: 'y' })
    await using repository = await newRepository()
    const { snapshot } = await upload(repository, tree)
    assert.equal((await upload(repository, tree, { rereadAll: true })).progress.filesRead, 2)
    const { obj } = snapshot.rootEntry
    const missing = {
      ...snapshot,
      rootEntry: { ...snapshot.rootEntry, obj: obj.replace(/^k.{8}/, 'k00000000') as typeof obj },
    }
    const warnings: object[] = []
    const log = { debug() {}, warn: (fields: object) => void warnings.push(fields) }
    const again = await upload(repository, tree, { previous: [missing], log })
    assert.deepEqual([again.progress.filesRead, again.snapshot.rootEntry.obj, warnings.length], [2, obj, 1])
  })

  it('skips sockets, or counts them as failed when policy says so', async () => {
    const tree = given({ file: 'x' })
    const server = createServer().listen(path.join(tree, 'socket'))
    try {
      await once(server, 'listening')
      await using repository = await newRepository()
      const { snapshot, progress } = await upload(repository, tree)
      assert.deepEqual([progress.skipped, progress.errors, snapshot.rootEntry.summary?.files], [1, 0, 1])
      const policies = policyWith({ errorHandling: { ignoreUnknownTypes: false } })
      const strict = await upload(repository, tree, { policies })
      assert.equal(strict.snapshot.rootEntry.summary?.numFailed, 1)
    } finally {
      server.close()
    }
  })

  it('keeps to the retention of its source', async () => {
    const tree = given({ file: 'x' })
    await using repository = await newRepository()
    const retention = {
      keepLatest: 2,
      keepHourly: 0,
      keepDaily: 0,
      keepWeekly: 0,
      keepMonthly: 0,
      keepAnnual: 0,
    }
    await repository.writing({}, ({ manifests }) =>
      manifests.replace(policyLabels(source), policyPayload({ ...emptyPolicy(), retention })),
    )
    const ids: string[] = []
    let now = Date.UTC(2026, 0, 1)
    for (let index = 0; index < 4; index++) {
      now += 60_000
      const time = now
      const { snapshot } = await upload(repository, tree, {
        clock: { now: () => time, sleep: systemClock.sleep },
      })
      ids.push(snapshot.id)
    }
    const kept = (await repository.manifests.find({ type: 'snapshot' })).map(({ id }) => String(id))
    assert.deepEqual(new Set(kept), new Set(ids.slice(2)))
  })

  it('is cancelled in the middle of a large file, and then keeps what was complete when told so', async () => {
    const tree = given({ 'a/small': 'x', 'b/large': Buffer.alloc(20 << 20, 1) })
    await using repository = await newRepository()
    const cancelled = (keepCancelled: boolean) => {
      const controller = new AbortController()
      const { signal } = controller
      return repository.writing({}, writer =>
        uploadTree(
          watched(writer, () => controller.abort()),
          tree,
          { source, signal, keepCancelled, parallel: 1, threads: 0 },
        ),
      )
    }
    await assert.rejects(cancelled(false), error => isRepoError(error, 'CANCELLED'))
    const { snapshot } = await cancelled(true)
    assert.equal(snapshot.incomplete, 'canceled')
    const [files, size] = [snapshot.rootEntry.summary?.files ?? -1, snapshot.rootEntry.summary?.size ?? -1]
    assert.ok(files <= 1 && size === files)
  })

  it('ends with the error of the storage, and the next one succeeds', async () => {
    const storage = memoryStorage()
    const disk: { full: boolean } = { full: false }
    const limited = {
      ...storage,
      description: storage.description,
      get: storage.get.bind(storage),
      head: storage.head.bind(storage),
      delete: storage.delete.bind(storage),
      list: storage.list.bind(storage),
      [Symbol.asyncDispose]: async () => {},
      async put(...args: Parameters<typeof storage.put>) {
        if (disk.full) throw new RepoError('STORAGE_FULL', { message: 'no space left' })
        return storage.put(...args)
      },
    }
    const files: Record<string, Buffer> = {}
    for (let index = 0; index < 40; index++) files[`d${index}/f`] = randomBytes(900_000)
    const tree = given(files)
    await using repository = await createRepository({ storage: limited, password: 'secret' })
    disk.full = true
    await assert.rejects(upload(repository, tree), error => isRepoError(error, 'STORAGE_FULL'))
    disk.full = false
    const { snapshot } = await upload(repository, tree)
    assert.equal(snapshot.rootEntry.summary?.files, 40)
  })

  it('fails for a folder whose ignore file leads nowhere', async () => {
    const tree = given({ 'sub/file': 'x', other: 'x' })
    symlinkSync('/does/not/exist', path.join(tree, 'sub', '.kopiaignore'))
    await using repository = await newRepository()
    const { snapshot } = await upload(repository, tree)
    assert.deepEqual(
      snapshot.rootEntry.summary?.errors.map(failed => failed.path),
      ['sub'],
    )
  })

  it('leaves no snapshot of what is not confirmed when all was read', async () => {
    const storage = memoryStorage()
    const tree = given({ a: 'x' })
    await using repository = await createRepository({ storage, password: 'secret' })
    const gone = new Error('the volume is gone')
    await assert.rejects(upload(repository, tree, { confirm: () => Promise.reject(gone) }), gone)
    await using other = await openRepository({ storage, password: 'secret' })
    assert.deepEqual(await other.manifests.find({ type: 'snapshot' }), [])
    await upload(repository, tree, { confirm: async () => {} })
    await other.refresh()
    assert.equal((await other.manifests.find({ type: 'snapshot' })).length, 1)
  })

  it('that failed leaves the repository as it was for everybody else', async () => {
    const storage = memoryStorage()
    const tree = given({ a: 'x', 'z/b': 'y' })
    await using repository = await createRepository({ storage, password: 'secret' })
    await upload(repository, tree)
    const controller = new AbortController()
    controller.abort()
    writeFileSync(path.join(tree, 'a'), 'changed')
    await assert.rejects(upload(repository, tree, { signal: controller.signal }), error =>
      isRepoError(error, 'CANCELLED'),
    )
    await using other = await openRepository({ storage, password: 'secret' })
    const [only, ...rest] = await other.manifests.find({ type: 'snapshot' })
    assert.ok(only && rest.length === 0)
  })
})
