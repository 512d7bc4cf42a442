import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { systemClock } from '../../packages/repo/src/clock/clock.ts'
import { CommittedIndex } from '../../packages/repo/src/content/committed-index.ts'
import { ContentReader } from '../../packages/repo/src/content/content-reader.ts'
import { PackRanges } from '../../packages/repo/src/content/pack-ranges.ts'
import { createContentEncryption } from '../../packages/repo/src/encryption/content-encryption.ts'
import { openFormatBlob } from '../../packages/repo/src/format/repository-format.ts'
import { createContentHash } from '../../packages/repo/src/hashing/content-hash.ts'
import { withRebuiltIndexes } from '../../packages/repo/src/maintenance/rebuilt-indexes.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import type { VerifyResult } from '../../packages/repo/src/maintenance/verify-report.ts'
import { ManifestReader } from '../../packages/repo/src/manifest/manifest-reader.ts'
import { openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { makeRichTree, noise } from './rich-tree.ts'

async function open({ path: folder, password }: KopiaRepository): Promise<Repository> {
  const storage = await openFilesystemStorage({ path: folder })
  return openRepository({ storage, password, skipDamagedManifests: true })
}

async function verify(kopia: KopiaRepository): Promise<VerifyResult> {
  await using repository = await open(kopia)
  return verifyRepository(repository, { contents: 'all' })
}

/** Every blob of a repository in a folder, by name. */
function blobFiles(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.f'))
  return new Map(files.map(name => [name.replaceAll('/', '').slice(0, -2), path.join(folder, name)]))
}

function flip(file: string, at: number): () => void {
  const bytes = readFileSync(file)
  const damaged = Buffer.from(bytes)
  damaged[at < 0 ? bytes.length + at : at]! ^= 0x10
  writeFileSync(file, damaged)
  return () => writeFileSync(file, bytes)
}

function summary({ found }: VerifyResult): string[] {
  return found.map(({ what, error }) => `${what}: ${error.message}`)
}

describe('verifying a repository that kopia made', { skip: await kopiaSkip() }, () => {
  for (const flags of [
    [],
    ['--format-version=2', '--object-splitter=DYNAMIC-128K-BUZHASH'],
    ['--format-version=1'],
    ['--block-hash=HMAC-SHA3-224', '--encryption=CHACHA20-POLY1305-HMAC-SHA256'],
    ['--ecc=REED-SOLOMON-CRC32', '--ecc-overhead-percent=5'],
  ]) {
    it(`finds nothing wrong with a good one (${flags.join(' ') || 'defaults'})`, async t => {
      const kopia = await kopiaRepository(t, { createFlags: flags })
      const source = path.join(kopia.scratch, 'source')
      makeRichTree(source)
      await kopia.snapshot(source)
      rmSync(path.join(source, 'plain'))
      await kopia.snapshot(source)
      const result = await verify(kopia)
      assert.deepEqual(summary(result), [])
      assert.ok(result.ok)
      assert.equal(result.snapshots, 2)
      assert.equal(result.contentsRead, result.contents)
      assert.ok(result.files > 10 && result.directories > 5 && result.blobsRead > 3)
    })
  }

  it('finds a flipped bit in every kind of blob, names it, and other snapshots still restore', async t => {
    const kopia = await kopiaRepository(t)
    const sources = ['one', 'two'].map(name => path.join(kopia.scratch, name))
    for (const [at, source] of sources.entries()) {
      mkdirSync(path.join(source, 'sub'), { recursive: true })
      writeFileSync(path.join(source, 'sub/file'), noise(100_000).subarray(at))
      await kopia.snapshot(source)
    }
    await kopia.kopia(['maintenance', 'run', '--full'])
    const good = await verify(kopia)
    assert.deepEqual(summary(good), [])
    const kinds = new Set<string>()
    for (const [blob, file] of blobFiles(kopia.path)) {
      const kind = /^(kopia\..*|_log|x[a-z]|[a-z])/.exec(blob)?.[0] ?? blob
      kinds.add(kind)
      const undo = flip(file, /^[pq]/.test(blob) ? 60 : -3)
      try {
        await assertFound(kopia, blob)
      } finally {
        undo()
      }
    }
    for (const kind of ['kopia.repository', 'kopia.blobcfg', 'kopia.maintenance', '_log', 'xn', 'p', 'q']) {
      assert.ok(kinds.has(kind), `${kind} among ${[...kinds].join()}`)
    }
    assert.ok((await verify(kopia)).ok)
  })

  it('finds damage at the end of a pack, where its own index lies', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    mkdirSync(source)
    writeFileSync(path.join(source, 'file'), 'x')
    await kopia.snapshot(source)
    for (const [blob, file] of blobFiles(kopia.path)) {
      if (!/^[pq]/.test(blob)) continue
      const undo = flip(file, -40)
      const { found } = await verify(kopia)
      undo()
      assert.deepEqual(
        found.map(({ what, blobId }) => [what, blobId]),
        [['blob', blob]],
      )
    }
  })

  it('names every snapshot and file that a lost pack takes with it, and only those', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    mkdirSync(path.join(source, 'a/b'), { recursive: true })
    writeFileSync(path.join(source, 'a/b/lost'), 'lost data')
    const packsBefore = blobFiles(kopia.path)
    const first = await kopia.snapshot(source)
    const lost =
      [...blobFiles(kopia.path).keys()].find(blob => blob.startsWith('p') && !packsBefore.has(blob)) ?? ''
    writeFileSync(path.join(source, 'other'), 'other data')
    const second = await kopia.snapshot(source)
    const other = path.join(kopia.scratch, 'other')
    mkdirSync(other)
    writeFileSync(path.join(other, 'file'), 'unharmed')
    await kopia.snapshot(other)
    rmSync(blobFiles(kopia.path).get(lost) ?? '')
    const result = await verify(kopia)
    const files = result.found.filter(({ what }) => what === 'file')
    assert.deepEqual(
      new Set(files.map(({ snapshotId, path: place, blobId }) => `${snapshotId} ${place} ${blobId}`)),
      new Set([first, second].map(id => `${id} a/b/lost ${lost}`)),
    )
    assert.ok(files.every(({ error }) => error.code === 'BLOB_NOT_FOUND' && error.hint))
    assert.deepEqual(
      result.found.filter(({ what }) => what === 'content').map(({ blobId }) => blobId),
      [lost],
    )
  })
})

/** The blob is named by an error of opening or by the verification; snapshots that it does not belong to restore. */
async function assertFound(kopia: KopiaRepository, blob: string): Promise<void> {
  let repository: Repository
  try {
    repository = await open(kopia)
  } catch (error) {
    assert.match(`${(error as Error).message} ${(error as { hint?: string }).hint}`, openingError(blob), blob)
    if (blob.startsWith('x')) await assertRestoredWithoutIndex(kopia, blob)
    return
  }
  await using _ = repository
  const result = await verifyRepository(repository, { contents: 'all' })
  assert.ok(
    result.found.some(({ blobId }) => blobId === blob),
    `${blob}: ${summary(result).join('; ')}`,
  )
  const harmed = new Set(result.found.map(({ snapshotId }) => snapshotId))
  const { snapshots } = await listSnapshots(repository.manifests)
  for (const { id, rootEntry } of snapshots) {
    const target = path.join(kopia.scratch, 'restored')
    rmSync(target, { recursive: true, force: true })
    const { failed } = await restoreTree({ contents: repository.contents, entry: rootEntry, target })
    assert.equal(failed > 0, harmed.has(id), `${blob}: snapshot ${id}`)
  }
}

/** All snapshots restore through the indexes that the packs carry, although the index blob is damaged. */
async function assertRestoredWithoutIndex(kopia: KopiaRepository, blob: string): Promise<void> {
  await using storage = await openFilesystemStorage({ path: kopia.path })
  const { format, keys } = await openFormatBlob(storage, kopia.password)
  const crypto = {
    hash: await createContentHash(format.hash, keys.hash),
    encryption: createContentEncryption({ name: format.encryption, secret: keys.encryption }),
  }
  const rebuilt: string[] = []
  const through = withRebuiltIndexes(storage, { crypto, onRebuilt: ({ blobId }) => rebuilt.push(blobId) })
  const index = new CommittedIndex({ storage: through, crypto, clock: systemClock, format })
  await index.refresh()
  const contents = new ContentReader({ index, codec: crypto, ranges: new PackRanges({ storage }) })
  const { snapshots } = await listSnapshots(new ManifestReader({ contents }))
  assert.deepEqual(rebuilt, [blob])
  assert.equal(snapshots.length, 2)
  for (const { rootEntry } of snapshots) {
    const target = path.join(kopia.scratch, 'restored')
    rmSync(target, { recursive: true, force: true })
    assert.equal((await restoreTree({ contents, entry: rootEntry, target })).failed, 0)
  }
}

function openingError(blob: string): RegExp {
  if (blob === 'kopia.repository' || blob === 'kopia.blobcfg')
    return /kopia\.repository|kopia\.blobcfg|format blob/
  return new RegExp(blob)
}
