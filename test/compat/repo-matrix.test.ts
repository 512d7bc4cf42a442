/** Repositories that kopia makes with each of its algorithms, one axis at a time. An ordinary run takes one of each axis. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { type BlobStorage, blobId } from '../../packages/repo/src/blob/storage.ts'
import { compressorNames } from '../../packages/repo/src/compression/compressor.ts'
import { encryptionNames } from '../../packages/repo/src/encryption/content-encryption.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import { keyAlgorithms } from '../../packages/repo/src/format/key-derivation.ts'
import { hashNames } from '../../packages/repo/src/hashing/content-hash.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { safetyNone } from '../../packages/repo/src/maintenance/safety.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import { manifestId } from '../../packages/repo/src/manifest/manifest-store.ts'
import { type ObjectId, objectId } from '../../packages/repo/src/object/object-id.ts'
import { openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { parseDirectory } from '../../packages/repo/src/snapshot/directory.ts'
import { listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { splitterNames } from '../../packages/repo/src/splitter/splitter.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { describeTree } from './rich-tree.ts'
import { readObject, storeAgain, writeSourceTree } from './source-tree.ts'

interface Setting {
  /** Flags of `kopia repository create`. */
  create?: readonly string[]
  compressor?: string
  /** Format version 1 is for reading. */
  readOnly?: boolean
  /** Whose repository it is, and what its snapshot is called, as Velero's data movers have it. */
  velero?: boolean
}

type Axis = Readonly<Record<string, Setting>>

function axis(names: readonly string[], setting: (name: string) => Setting): Axis {
  return Object.fromEntries(names.map(name => [name, setting(name)]))
}

const eccPercents = ['1', '2', '3', '5', '7', '10', '25']
const axes: Readonly<Record<string, Axis>> = {
  hash: axis(hashNames, name => ({ create: [`--block-hash=${name}`] })),
  encryption: axis(encryptionNames, name => ({ create: [`--encryption=${name}`] })),
  splitter: axis(splitterNames, name => ({ create: [`--object-splitter=${name}`] })),
  compressor: axis(compressorNames, name => ({ compressor: name })),
  'key derivation': axis(keyAlgorithms, name => ({
    create: [`--format-block-key-derivation-algorithm=${name}`],
  })),
  'error correction': axis(eccPercents, percent => ({
    create: ['--ecc=REED-SOLOMON-CRC32', `--ecc-overhead-percent=${percent}`],
  })),
  'format version': {
    1: { create: ['--format-version=1'], compressor: 'zstd', readOnly: true },
    2: { create: ['--format-version=2'] },
    3: { create: ['--format-version=3'] },
  },
  'names that Velero gives': { 'default@default': { velero: true } },
}

const velero = { username: 'default', hostname: 'default' }
const veleroFlags = [
  '--override-source=default@default:/snapshot-data-upload-download/kopia/ns/pvc',
  '--pin=velero-pin',
  '--tags=snapshot-requester:snapshot-data-upload-download',
]

const skip = await kopiaSkip()
const everything = process.env.LATEEN_SOAK === '1'
const [seed = 1] = rotatingSeeds({ name: 'algorithms', count: 1, soakCount: 1 })
const random = seededRandom(seed)

for (const [axisName, settings] of Object.entries(axes)) {
  const names = everything ? Object.keys(settings) : [random.pick(Object.keys(settings))]
  describe(`a repository that kopia made with the ${axisName}`, { skip }, () => {
    for (const name of names) {
      const setting = settings[name] as Setting
      it(`${name} is ours to read${setting.readOnly ? '' : ' and to write'} (seed ${seed})`, t =>
        check(t, setting))
    }
  })
}

async function check(t: TestContext, setting: Setting): Promise<void> {
  announceSeed(t, seed)
  const theirs = await kopiaRepository(t, {
    createFlags: setting.create ?? [],
    ...(setting.velero && velero),
  })
  if (setting.compressor)
    await theirs.kopia(['policy', 'set', '--global', `--compression=${setting.compressor}`])
  const source = path.join(theirs.scratch, 'source')
  await mkdir(source)
  await writeSourceTree(source, seed)
  const snapshot = await theirs.snapshot(source, setting.velero ? veleroFlags : [])
  const storage = await openFilesystemStorage({ path: theirs.path })
  if (setting.velero) await putVeleroMarker(storage)
  await using repository = await openRepository({ storage, password: theirs.password, rehash: true })
  const root = await rootOf(repository, snapshot)
  await sameContents(repository, theirs)
  await readsEverything(repository, snapshot, source)
  if (setting.compressor) await assertCompressed(repository, root)
  if (setting.readOnly) return refusesWriting(repository)
  await writesAlike(repository, theirs, { source, root, setting })
  await livesOn(repository, theirs, { source, snapshot })
}

async function putVeleroMarker(storage: BlobStorage): Promise<void> {
  const format = Buffer.from(await storage.get(blobId('kopia.repository'))).toString()
  const { uniqueID } = JSON.parse(format) as { uniqueID: string }
  await storage.put(blobId('udmrepo.Repository'), Buffer.from(JSON.stringify({ uniqueID })))
}

/** Lists, verifies and restores to the nanosecond. */
async function readsEverything(repository: Repository, snapshot: string, source: string): Promise<void> {
  const { snapshots } = await listSnapshots(repository.manifests)
  assert.deepEqual(
    snapshots.map(({ id }) => id),
    [snapshot],
  )
  const { found, files } = await verifyRepository(repository, { contents: 'all' })
  assert.deepEqual([found, files > 20], [[], true])
  const target = `${source}-restored`
  const [only] = snapshots
  assert.ok(only)
  const { problems } = await restoreTree({ contents: repository.contents, entry: only.rootEntry, target })
  assert.deepEqual(problems, [])
  assert.deepEqual(describeTree(target), describeTree(source))
}

/** Adds a snapshot, deletes the one that was there, and maintains; kopia then finds the new one whole. */
async function livesOn(
  repository: Repository,
  theirs: KopiaRepository,
  { source, snapshot }: { source: string; snapshot: string },
): Promise<void> {
  await writeFile(path.join(source, 'new'), 'new')
  const info = { host: 'testhost', userName: 'tester', path: source }
  const added = await repository.writing({}, writer => uploadTree(writer, source, { source: info }))
  await repository.refresh()
  await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [snapshot]))
  await repository.refresh()
  await runMaintenance(repository, { identity: 'any', mode: 'full', force: true, safety: safetyNone })
  await theirs.verify()
  const listed = await theirs.json<{ id: string }[]>(['snapshot', 'list', '--all'])
  assert.deepEqual(
    listed.map(({ id }) => id),
    [added.snapshot.id],
  )
}

async function rootOf(repository: Repository, snapshot: string) {
  const { payload } = await repository.manifests.get(manifestId(snapshot))
  return objectId((payload as { rootEntry: { obj: string } }).rootEntry.obj)
}

async function sameContents(repository: Repository, theirs: KopiaRepository): Promise<void> {
  const listed = await theirs.json<{ contentID: string; packFile: string; length: number }[]>([
    'content',
    'list',
  ])
  const ids = new Set<string>()
  for await (const { contentId } of repository.contents.entries()) {
    await repository.contents.read(contentId)
    ids.add(contentId)
  }
  assert.deepEqual(ids, new Set(listed.map(({ contentID }) => contentID)))
}

/** Contents carry the compression in the index, or in format version 1 inside and a Z in the object's id. */
async function assertCompressed(repository: Repository, root: ObjectId): Promise<void> {
  const entries = await Array.fromAsync(repository.contents.entries({ prefix: '' }))
  const nested = parseDirectory(await readObject(repository, root)).entries.find(
    ({ name }) => name === 'nested',
  )
  const { entries: files } = parseDirectory(await readObject(repository, nested?.obj ?? root))
  const text = files.find(({ name }) => name === 'text')?.obj ?? ''
  assert.ok(entries.some(({ compressionId }) => compressionId !== 0) || text.startsWith('Z'), text)
}

async function refusesWriting(repository: Repository): Promise<void> {
  const nothing = repository.writing({}, async () => {})
  await assert.rejects(
    nothing,
    error => isRepoError(error, 'UNSUPPORTED_FORMAT') && /upgrade/.test(error.hint ?? ''),
  )
}

interface Written {
  source: string
  root: ObjectId
  setting: Setting
}

async function writesAlike(repository: Repository, theirs: KopiaRepository, written: Written): Promise<void> {
  const { source, root, setting } = written
  const text = Buffer.from('the same again, and again. '.repeat(20_000))
  await repository.writing({}, async writer => {
    assert.equal(await storeAgain(writer, source, root), root)
    await writer.objects.put(text, { compressor: setting.compressor })
  })
  await theirs.kopia(['content', 'verify', '--full'])
}
