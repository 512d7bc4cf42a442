import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { CreateBucketCommand, GetObjectRetentionCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3Storage } from '../../packages/repo/src/blob/s3.ts'
import {
  type BlobStorage,
  createRepository,
  deleteSnapshots,
  diffSnapshots,
  loadMaintenanceParams,
  logged,
  openRepository,
  type Repository,
  type RepositoryCache,
  restoreTree,
  runMaintenance,
  type SnapshotManifest,
  safetyNone,
  saveMaintenanceParams,
  uploadTree,
  verifyRepository,
} from '../../packages/repo/src/index.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { kopiaRepository, kopiaSkip } from '../compat/kopia.ts'

const given = await givenCluster({ s3: true })
const skip = given.skip || (await kopiaSkip())
const password = 'secret'
const identity = 'default@default'
const source = { host: 'h', userName: 'u', path: '/tree' }
const day = 86_400_000

/** Requests since the last look, by kind. */
class Requests {
  #counts = new Map<string, number>()
  #read = new Set<string>()
  debug({ operation, blobId = '' }: { operation?: string; blobId?: string }): void {
    if (operation === 'get') this.#read.add(blobId.slice(0, 1))
    this.#counts.set(operation ?? '', (this.#counts.get(operation ?? '') ?? 0) + 1)
  }
  /** First letters of the blobs that were read since the last look. */
  takeRead(): Set<string> {
    const read = this.#read
    this.#read = new Set()
    return read
  }
  take(): Record<string, number> {
    const counts = Object.fromEntries(this.#counts)
    this.#counts = new Map()
    return counts
  }
}

function placeFor(bucket = given.cluster.s3.bucket) {
  const { endpoint, region, accessKeyId, secretAccessKey } = given.cluster.s3
  const prefix = `engine-${randomBytes(6).toString('hex')}/`
  const credentials = { accessKeyId, secretAccessKey }
  return { endpoint, region, accessKeyId, secretAccessKey, bucket, prefix, credentials }
}

async function scratchFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-engine-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function makeTree(folder: string): string {
  const tree = path.join(folder, 'tree')
  for (let n = 0; n < 20; n++) {
    mkdirSync(path.join(tree, `folder-${n}`), { recursive: true })
    writeFileSync(path.join(tree, `folder-${n}/file`), `file ${n}\n`.repeat(200))
  }
  writeFileSync(path.join(tree, 'big'), randomBytes(6_000_000))
  return tree
}

function upload(repository: Repository, tree: string): Promise<SnapshotManifest> {
  return repository.writing({}, async writer => (await uploadTree(writer, tree, { source })).snapshot)
}

async function assertRestores(
  repository: Repository,
  { rootEntry }: SnapshotManifest,
  tree: string,
): Promise<void> {
  const target = await mkdtemp(path.join(path.dirname(tree), 'restored-'))
  const { failed } = await restoreTree({ contents: repository.contents, entry: rootEntry, target })
  assert.equal(failed, 0)
  await promisify(execFile)('diff', ['-r', tree, target])
}

async function open(storage: BlobStorage, cache?: RepositoryCache): Promise<Repository> {
  return openRepository({ storage, password, cache, metadataPackBytes: 64 << 20 })
}

describe('a repository in S3', { skip }, () => {
  it('is written, compared, verified, restored, emptied and maintained, and kopia agrees', async t => {
    const place = placeFor()
    const tree = makeTree(await scratchFolder(t))
    const requests = new Requests()
    const tell = (what: string) => t.diagnostic(`${what}: ${JSON.stringify(requests.take())}`)
    const storage = logged(await openS3Storage(place), { log: requests })
    await using repository = await createRepository({ storage, password })
    tell('create')
    const first = await upload(repository, tree)
    tell('first upload')
    writeFileSync(path.join(tree, 'folder-3/file'), 'changed')
    writeFileSync(path.join(tree, 'more'), randomBytes(100_000))
    const second = await upload(repository, tree)
    tell('second upload')

    await repository.refresh()
    const trees = { before: first.rootEntry, after: second.rootEntry }
    const changes = await Array.fromAsync(
      diffSnapshots(repository.contents, trees),
      ({ kind, before, after }) => [kind, (after ?? before)?.name].join(' '),
    )
    assert.deepEqual(changes, ['modified tree', 'modified file', 'added more'])
    tell('diff')
    const before = await verifyRepository(repository, { contents: 'all' })
    assert.deepEqual([before.ok, before.snapshots], [true, 2])
    tell('verify')

    await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [first.id]))
    await repository.refresh()
    tell('delete')
    const quick = await runMaintenance(repository, { identity, mode: 'quick' })
    tell('quick maintenance')
    const full = await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
    assert.ok(quick.ran && full.ran)
    const deleted = full.steps.find(({ task }) => task === 'full-delete-blobs')?.effects[0]
    assert.ok((deleted?.count ?? 0) > 0, 'packs of the deleted snapshot are gone')
    tell('full maintenance')
    await assertRestores(repository, second, tree)
    tell('restore')

    const kopia = await kopiaRepository(t, { storage: place, connect: true, password })
    await kopia.verify()
    await promisify(execFile)('diff', ['-r', tree, await kopia.restore(second.id)])
    await kopia.kopia(['maintenance', 'run', '--full', '--force'])
    const fresh = await open(await openS3Storage(place))
    assert.equal((await verifyRepository(fresh, { contents: 'all' })).ok, true)
  })

  it('is read from the cache once it was read, also by two at once, and through a full cache disk', async t => {
    const place = placeFor()
    const scratch = await scratchFolder(t)
    const tree = makeTree(scratch)
    const created = await createRepository({ storage: await openS3Storage(place), password })
    const snapshot = await upload(created, tree)
    const requests = new Requests()
    const counted = async () => logged(await openS3Storage(place), { log: requests })
    const cache = { folder: path.join(scratch, 'cache'), metadataBytes: 50 << 20, contentBytes: 50 << 20 }
    const restore = async (with_: RepositoryCache | undefined) => {
      await using repository = await open(await counted(), with_)
      await assertRestores(repository, snapshot, tree)
    }
    await restore(cache)
    const cold = requests.takeRead()
    await restore(cache)
    const warm = requests.takeRead()
    assert.ok(['q', 'x', 'p'].every(kind => cold.has(kind)))
    // Data may be asked for in other pieces than before; metadata is kept whole.
    warm.delete('p')
    assert.deepEqual(warm, new Set(['k']), 'only kopia.repository and kopia.blobcfg, which may change')
    await Promise.all([restore(cache), restore({ ...cache, contentBytes: 1 << 20 })])

    for (const name of await readdir(cache.folder, { recursive: true })) {
      const file = path.join(cache.folder, name)
      const bytes = await readFile(file).catch(() => undefined)
      if (bytes !== undefined) writeFileSync(file, bytes.with(9, (bytes[9] ?? 0) ^ 1))
    }
    await restore(cache)
    if (process.getuid?.() === 0) await throughFullDisk(scratch, restore)
  })
})

async function throughFullDisk(
  scratch: string,
  restore: (cache: RepositoryCache) => Promise<void>,
): Promise<void> {
  const folder = path.join(scratch, 'small')
  mkdirSync(folder)
  const run = promisify(execFile)
  await run('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', folder])
  try {
    await restore({ folder })
    const left = (await readdir(folder, { recursive: true })).filter(name => name.includes('.tmp.'))
    assert.deepEqual(left, [])
  } finally {
    await run('umount', [folder])
  }
}

describe('a repository in a bucket with object lock', { skip }, () => {
  const client = () => {
    const { endpoint, region, accessKeyId, secretAccessKey } = given.cluster.s3
    return new S3Client({
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    })
  }

  async function lockedPlace() {
    const bucket = `locks-${randomBytes(6).toString('hex')}`
    await client().send(new CreateBucketCommand({ Bucket: bucket, ObjectLockEnabledForBucket: true }))
    return placeFor(bucket)
  }

  /** Until when each blob is protected; undefined for those that are not. */
  async function locks({ bucket, prefix }: { bucket: string; prefix: string }, storage: BlobStorage) {
    const s3 = client()
    const until = new Map<string, number | undefined>()
    for await (const { id } of storage.list('')) {
      const answer = await s3
        .send(new GetObjectRetentionCommand({ Bucket: bucket, Key: prefix + id }))
        .catch(() => undefined)
      until.set(id, answer?.Retention?.RetainUntilDate?.getTime())
    }
    return until
  }

  const isProtected = (id: string) => /^([pqxn]|kopia\.repository|kopia\.blobcfg)/.test(id)

  it('protects what it is made of for the period, and full maintenance protects it again', async t => {
    const place = await lockedPlace()
    const tree = makeTree(await scratchFolder(t))
    const retention = { mode: 'GOVERNANCE', period: 3 * day } as const
    const storage = await openS3Storage(place)
    const begin = Date.now()
    await using repository = await createRepository({ storage, password, blobConfig: { retention } })
    const snapshot = await upload(repository, tree)
    const first = await locks(place, storage)
    assert.ok([...first.keys()].some(id => id.startsWith('p')) && first.has('kopia.blobcfg'))
    for (const [id, until] of first) {
      if (isProtected(id)) assert.ok((until ?? 0) >= begin + retention.period - 1000, `${id} until ${until}`)
      else assert.equal(until, undefined, id)
    }

    const params = await loadMaintenanceParams(repository.manifests)
    await saveMaintenanceParams(repository, { ...params, extendObjectLocks: true })
    const report = await runMaintenance(repository, { identity, mode: 'full' })
    assert.ok(report.ran)
    const step = report.steps.find(({ task }) => task === 'extend-blob-retention-time')
    assert.ok((step?.effects[0]?.count ?? 0) >= first.size - 1)
    const second = await locks(place, storage)
    for (const [id, until] of first) if (isProtected(id)) assert.ok((second.get(id) ?? 0) > (until ?? 0), id)
    await assertRestores(repository, snapshot, tree)

    const kopia = await kopiaRepository(t, { storage: place, connect: true, password })
    await kopia.verify()
    const history = await kopia.kopia(['maintenance', 'info', '--json'])
    assert.match(history, /"extend-blob-retention-time"/)
  })

  it('is protected as kopia asked for when it made the repository', async t => {
    const place = await lockedPlace()
    const createFlags = ['--retention-mode=GOVERNANCE', '--retention-period=72h']
    const { password: theirs } = await kopiaRepository(t, { storage: place, createFlags })
    const tree = makeTree(await scratchFolder(t))
    const storage = await openS3Storage(place)
    await using repository = await openRepository({ storage, password: theirs })
    assert.deepEqual(repository.format.blobConfig.retention, { mode: 'GOVERNANCE', period: 3 * day })
    await upload(repository, tree)
    for (const [id, until] of await locks(place, storage))
      assert.equal(until !== undefined, isProtected(id), id)
  })
})
