import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { manifestId } from '../../packages/repo/src/manifest/manifest-store.ts'
import { objectId } from '../../packages/repo/src/object/object-id.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { rotatingSeeds } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { snapshotByHand } from './snapshot-by-hand.ts'
import { listFolder, listObject, storeAgain, writeSourceTree } from './source-tree.ts'

const skip = await kopiaSkip()
const [seed = 1] = rotatingSeeds({ name: 'source tree', count: 1, soakCount: 1 })
const password = 'static-passw0rd'

const cleanUps: (() => Promise<void>)[] = []
const scope = { after: (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp) }
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp()
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-repo-'))
  scope.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function openFolder(folder: string, options: { rehash?: boolean } = {}): Promise<Repository> {
  return openRepository({ storage: await openFilesystemStorage({ path: folder }), password, ...options })
}

function byCharacters(a: string, b: string): number {
  return a < b ? -1 : 1
}

async function blobNames(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  return files.filter(file => file.endsWith('.f')).map(file => file.replaceAll('/', ''))
}

describe(`a repository that kopia made (seed ${seed})`, { skip }, () => {
  let theirs: KopiaRepository
  let source: string
  let snapshot: string

  before(async () => {
    theirs = await kopiaRepository(scope, { password })
    source = path.join(theirs.scratch, 'source')
    await writeSourceTree(source, seed)
    snapshot = await theirs.snapshot(source)
    await theirs.kopia(['policy', 'set', source, '--keep-latest=3', '--compression=zstd'])
    const gone = await theirs.snapshot(source, ['--tags=kind:deleted'])
    await theirs.kopia(['snapshot', 'delete', gone, '--delete'])
  })

  it('holds the same manifests for us as for kopia', async () => {
    await using repository = await openFolder(theirs.path)
    const listed = await theirs.json<{ id: string; labels: Record<string, string>; length: number }[]>([
      'manifest',
      'list',
    ])
    const found = await repository.manifests.find({})
    assert.deepEqual(
      new Map(found.map(({ id, labels }) => [String(id), { ...labels }])),
      new Map(listed.map(({ id, labels }) => [id, labels])),
    )
  })

  it('holds the same contents, each of which we decrypt and hash to its own id', async () => {
    await using repository = await openFolder(theirs.path, { rehash: true })
    const listed = await theirs.json<{ contentID: string }[]>(['content', 'list'])
    const ids: string[] = []
    for await (const { contentId } of repository.contents.entries()) {
      await repository.contents.read(contentId)
      ids.push(contentId)
    }
    assert.deepEqual(ids, listed.map(({ contentID }) => contentID).toSorted(byCharacters))
  })

  it('gives us every byte of a snapshot', async () => {
    await using repository = await openFolder(theirs.path)
    const { payload } = await repository.manifests.get(manifestId(snapshot))
    const { rootEntry } = payload as { rootEntry: { obj: string } }
    assert.deepEqual(await listObject(repository, objectId(rootEntry.obj)), await listFolder(source))
  })

  it('gets no new contents when we write the same data: our ids are its ids', async () => {
    await using repository = await openFolder(theirs.path)
    const { payload } = await repository.manifests.get(manifestId(snapshot))
    const root = objectId((payload as { rootEntry: { obj: string } }).rootEntry.obj)
    const names = await blobNames(theirs.path)
    await repository.writing({}, async writer => {
      const rewritten = await storeAgain(writer, source, root)
      assert.equal(rewritten, root)
    })
    const added = (await blobNames(theirs.path)).filter(name => !names.includes(name))
    assert.deepEqual(added, [])
  })

  it('takes our contents and manifests beside its own', async () => {
    await using repository = await openFolder(theirs.path)
    const labels = { type: 'lateen-test', seed: String(seed) }
    const id = await repository.writing({}, async writer => {
      await writer.objects.put(new Uint8Array(3 << 20).fill(7))
      return writer.manifests.put(labels, { big: 9_223_372_036_854_775_807n })
    })
    await theirs.verify()
    const shown = await theirs.kopia(['manifest', 'show', id])
    assert.match(shown, /9223372036854775807/)
    await theirs.kopia(['manifest', 'delete', id, '--dangerous-commands=enabled'])
    await repository.refresh()
    assert.deepEqual(await repository.manifests.find(labels), [])
  })
})

describe(`a repository that we made (seed ${seed})`, { skip }, () => {
  let folder: string
  let source: string
  let snapshot: string
  let kopia: KopiaRepository

  before(async () => {
    folder = path.join(await temporaryFolder(), 'repository')
    source = path.join(await temporaryFolder(), 'source')
    await mkdir(source)
    await writeSourceTree(source, seed)
    const storage = await openFilesystemStorage({ path: folder, create: true })
    await using repository = await createRepository({
      storage,
      password,
      client: { username: 'tester', hostname: 'testhost' },
    })
    snapshot = await repository.writing({}, writer => snapshotByHand(writer, source))
    kopia = await kopiaRepository(scope, { storage: { path: folder }, connect: true, password })
  })

  it('passes every check of kopia', async () => {
    await kopia.verify()
  })

  it('lists our snapshot in kopia', async () => {
    const listed = await kopia.json<{ id: string; source: { path: string } }[]>(['snapshot', 'list', '--all'])
    assert.deepEqual(
      listed.map(({ id, source: from }) => [id, from.path]),
      [[snapshot, source]],
    )
  })

  it('is restored by kopia byte for byte', async () => {
    assert.deepEqual(await listFolder(await kopia.restore(snapshot)), await listFolder(source))
  })

  it('gets no new data packs when kopia snapshots the same folder', async () => {
    const packs = async () =>
      (await blobNames(folder)).filter(name => name.startsWith('p')).toSorted(byCharacters)
    const earlier = await packs()
    const second = await kopia.snapshot(source)
    assert.deepEqual(await packs(), earlier)
    await using repository = await openFolder(folder)
    const { payload } = await repository.manifests.get(manifestId(second))
    const root = objectId((payload as { rootEntry: { obj: string } }).rootEntry.obj)
    assert.deepEqual(await listObject(repository, root), await listFolder(source))
  })

  it('survives full maintenance by kopia', async () => {
    await kopia.kopia(['maintenance', 'run', '--full', '--safety=none'])
    await kopia.verify()
    await using repository = await openFolder(folder)
    const { payload } = await repository.manifests.get(manifestId(snapshot))
    const root = objectId((payload as { rootEntry: { obj: string } }).rootEntry.obj)
    assert.deepEqual(await listObject(repository, root), await listFolder(source))
  })

  it('gives back its index to kopia out of its packs when all index blobs are lost', async () => {
    const copy = path.join(await temporaryFolder(), 'copy')
    await cp(folder, copy, { recursive: true })
    await rm(path.join(copy, 'x'), { recursive: true })
    const recovered = await kopiaRepository(scope, { storage: { path: copy }, connect: true, password })
    await recovered.kopia(['index', 'recover', '--commit', '--dangerous-commands=enabled'])
    await recovered.verify()
    assert.deepEqual(await listFolder(await recovered.restore(snapshot)), await listFolder(source))
  })
})
