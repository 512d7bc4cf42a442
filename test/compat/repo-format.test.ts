/** The lowest layers against repositories made by the real program: format blob, index blobs, pack tails, epochs. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, utimes } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { type BlobMetadata, type BlobStorage, blobId } from '../../packages/repo/src/blob/storage.ts'
import { systemClock } from '../../packages/repo/src/clock/clock.ts'
import { createContentEncryption } from '../../packages/repo/src/encryption/content-encryption.ts'
import { shouldAdvanceEpoch } from '../../packages/repo/src/epoch/epoch-decisions.ts'
import {
  checkpointRange,
  cleanUpMarkers,
  cleanUpSuperseded,
  compactSingleEpoch,
} from '../../packages/repo/src/epoch/epoch-maintenance.ts'
import { createEpochManager } from '../../packages/repo/src/epoch/epoch-manager.ts'
import { completeIndexSet } from '../../packages/repo/src/epoch/epoch-state.ts'
import { fetchIndexBlobs } from '../../packages/repo/src/epoch/fetch-index-blobs.ts'
import { readLegacyIndexSet } from '../../packages/repo/src/epoch/legacy-index.ts'
import { findFormatReplica, recoverFormatBlob } from '../../packages/repo/src/format/format-replica.ts'
import {
  createFormatBlob,
  formatBlobId,
  type OpenFormat,
  openFormatBlob,
} from '../../packages/repo/src/format/repository-format.ts'
import { createContentHash } from '../../packages/repo/src/hashing/content-hash.ts'
import type { IndexEntry } from '../../packages/repo/src/index-format/index-entry.ts'
import { emptyIndexSet } from '../../packages/repo/src/index-format/index-set.ts'
import { parseIndex } from '../../packages/repo/src/index-format/pack-index.ts'
import { mergeIndexPlaintexts, serializeIndex } from '../../packages/repo/src/index-format/serialize-index.ts'
import { recoverPackIndex } from '../../packages/repo/src/pack/recover-pack-index.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip, type TestScope } from './kopia.ts'
import { writeSourceTree } from './source-tree.ts'

const repositories: Record<string, { flags: string[]; version: number }> = {
  'of format 3 with defaults': { flags: [], version: 3 },
  'of format 3 with ChaCha20, BLAKE3 and PBKDF2': {
    flags: [
      '--encryption=CHACHA20-POLY1305-HMAC-SHA256',
      '--block-hash=BLAKE3-256',
      '--format-block-key-derivation-algorithm=pbkdf2-sha256-600000',
    ],
    version: 3,
  },
  'of format 3 with error correction': {
    flags: ['--ecc-overhead-percent=5', '--ecc=REED-SOLOMON-CRC32'],
    version: 3,
  },
  'of format 2': { flags: ['--format-version=2'], version: 2 },
  'of format 1': { flags: ['--format-version=1'], version: 1 },
}

/** A line of `kopia content list --json --long --deleted`. */
interface ListedContent {
  packFile: string
  time: number
  originalLength: number
  length: number
  packOffset: number
  compression?: number
  contentID: string
  deleted: boolean
  formatVersion: number
}

interface Opened {
  storage: BlobStorage
  open: OpenFormat
  crypto: {
    hash: Awaited<ReturnType<typeof createContentHash>>
    encryption: ReturnType<typeof createContentEncryption>
  }
}

async function openRepository({
  path: folder,
  password,
}: {
  path: string
  password: string
}): Promise<Opened> {
  const storage = await openFilesystemStorage({ path: folder })
  const open = await openFormatBlob(storage, password)
  const { format, keys } = open
  const ecc =
    format.ecc === undefined ? undefined : { name: format.ecc, overheadPercent: format.eccOverheadPercent }
  const encryption = createContentEncryption({ name: format.encryption, secret: keys.encryption, ecc })
  return { storage, open, crypto: { hash: await createContentHash(format.hash, keys.hash), encryption } }
}

function managerOf({ storage, open, crypto }: Opened) {
  const options = { storage, crypto, parameters: open.format.epochParameters, clock: systemClock }
  const manager = createEpochManager(options)
  const merge = (plaintexts: readonly Uint8Array[]) => mergeIndexPlaintexts(plaintexts, { version: 2 })
  return { ...options, manager, merge, randomBytes }
}

async function indexBlobs(opened: Opened) {
  const { storage, open, crypto } = opened
  if (open.format.epochParameters.enabled) return completeIndexSet(await managerOf(opened).manager.refresh())
  return readLegacyIndexSet({ storage, crypto })
}

async function entriesOf(opened: Opened): Promise<IndexEntry[]> {
  const { blobs, deletionWatermark } = await indexBlobs(opened)
  const names = blobs.map(({ id }) => id)
  const next = emptyIndexSet().next({ blobNames: names, deletionWatermark })
  await fetchIndexBlobs(names, opened, (name, plaintext) => next.add(name, plaintext))
  return [...next.build().entries()]
}

async function list(storage: BlobStorage, prefix: string): Promise<BlobMetadata[]> {
  return Array.fromAsync(storage.list(prefix))
}

const asListed = (entry: IndexEntry): ListedContent => ({
  packFile: entry.packBlobId,
  time: entry.timestamp,
  originalLength: entry.originalLength,
  length: entry.packedLength,
  packOffset: entry.packOffset,
  ...(entry.compressionId === 0 ? {} : { compression: entry.compressionId }),
  contentID: entry.contentId,
  deleted: entry.deleted,
  formatVersion: entry.formatVersion,
})

/** What the indexes inside the packs say, sorted. */
async function entriesInPacks({ storage, crypto }: Opened): Promise<IndexEntry[]> {
  const entries: IndexEntry[] = []
  for (const { id, length } of [...(await list(storage, 'p')), ...(await list(storage, 'q'))]) {
    const read = (offset: number, size: number) => storage.get(id, { offset, length: size })
    const index = await recoverPackIndex({ packBlobId: id, length, read }, crypto.encryption)
    entries.push(...index.entries())
  }
  return entries.sort((a, b) => (a.contentId < b.contentId ? -1 : 1))
}

function requireSameBytes(plaintext: Uint8Array, formatVersion: number): void {
  const index = parseIndex(plaintext)
  const again = serializeIndex(index.entries(), index.version)
  const original = Buffer.from(plaintext.subarray(0, again.length))
  assert.equal(Buffer.from(again).toString('hex'), original.toString('hex'))
  // Legacy indexes may end in 32 random bytes.
  assert.ok([0, ...(formatVersion === 1 ? [32] : [])].includes(plaintext.length - again.length))
}

async function listedBy(kopia: KopiaRepository): Promise<ListedContent[]> {
  return kopia.json<ListedContent[]>(['content', 'list', '--long', '--deleted'])
}

async function givenSnapshots(t: TestScope, createFlags: string[], count: number): Promise<KopiaRepository> {
  const kopia = await kopiaRepository(t, { createFlags })
  for (let i = 0; i < count; i++) {
    const folder = path.join(kopia.scratch, 'source', `${i}`)
    await mkdir(folder, { recursive: true })
    await writeSourceTree(folder, i, 300_000)
    await kopia.snapshot(folder)
  }
  return kopia
}

describe('what kopia writes', { skip: await kopiaSkip() }, () => {
  for (const [name, { flags, version }] of Object.entries(repositories)) {
    it(`is read from a repository ${name}, and its indexes are written again byte for byte`, async t => {
      const kopia = await givenSnapshots(t, flags, 2)
      const opened = await openRepository(kopia)
      assert.equal(opened.open.format.version, version)
      const entries = await entriesOf(opened)
      const listed = await listedBy(kopia)
      assert.ok(listed.length > 30)
      assert.deepEqual(entries.map(asListed), listed)
      assert.deepEqual(await entriesInPacks(opened), entries)
      const { blobs } = await indexBlobs(opened)
      const names = blobs.map(({ id }) => id)
      assert.ok(names.length > 0)
      await fetchIndexBlobs(names, opened, (_, plaintext) => requireSameBytes(plaintext, version))
    })
  }

  it('is found again in packs of format 1 when kopia.repository is lost', async t => {
    const { storage } = await openRepository(await givenSnapshots(t, ['--format-version=1'], 1))
    const original = await storage.get(formatBlobId)
    const [pack] = await list(storage, 'q')
    assert.ok(findFormatReplica(await storage.get(pack!.id)) !== undefined)
    assert.deepEqual(Buffer.from((await recoverFormatBlob(storage))!), Buffer.from(original))
  })

  it('is not opened with a wrong password', async t => {
    const kopia = await kopiaRepository(t)
    await assert.rejects(openRepository({ path: kopia.path, password: 'wrong' }), { code: 'BAD_PASSWORD' })
  })

  it('is read after deletion, collection and a watermark', async t => {
    const kopia = await givenSnapshots(t, [], 2)
    const [first] = await kopia.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    await kopia.kopia(['snapshot', 'delete', first!.id, '--delete'])
    for (let run = 0; run < 2; run++) await kopia.kopia(['maintenance', 'run', '--full', '--safety=none'])
    const opened = await openRepository(kopia)
    assert.ok((await indexBlobs(opened)).deletionWatermark > 0)
    assert.deepEqual((await entriesOf(opened)).map(asListed), await listedBy(kopia))
  })
})

describe('what we create', { skip: await kopiaSkip() }, () => {
  it('is a repository that kopia opens and writes to', async t => {
    const scratch = await kopiaRepository(t)
    const folder = path.join(scratch.scratch, 'ours')
    await using storage = await openFilesystemStorage({ path: folder, create: true })
    const created = await createFormatBlob(storage, { password: 'static-passw0rd' })
    const kopia = await kopiaRepository(t, { storage: { path: folder }, connect: true })
    const status = await kopia.json<{
      uniqueIDHex: string
      contentFormat: { version: number; hash: string }
    }>(['repository', 'status'])
    assert.equal(status.uniqueIDHex, Buffer.from(created.uniqueId).toString('hex'))
    assert.equal(status.contentFormat.version, 3)
    await mkdir(path.join(kopia.scratch, 'source'))
    await writeSourceTree(path.join(kopia.scratch, 'source'), 1, 1000)
    await kopia.snapshot(path.join(kopia.scratch, 'source'))
    await kopia.verify()
    assert.deepEqual((await entriesOf(await openRepository(kopia))).map(asListed), await listedBy(kopia))
  })
})

describe('epochs', { skip: await kopiaSkip() }, () => {
  /** A repository in a late epoch, with indexes in every one before. */
  async function inEpoch(t: TestScope, epoch: number): Promise<KopiaRepository> {
    const kopia = await givenSnapshots(t, [], 1)
    const file = path.join(kopia.scratch, 'changing')
    await mkdir(file)
    for (let next = 1; next <= epoch; next++) {
      const { storage } = await openRepository(kopia)
      await storage.put(blobId(`xe${next}`), Buffer.from('epoch-marker'))
      // It keeps listings for 30 s otherwise and does not notice the new epoch.
      await kopia.kopia(['cache', 'clear'])
      await writeSourceTree(await freshFolder(file, next), next, 1000)
      await kopia.snapshot(file)
    }
    return kopia
  }

  async function freshFolder(parent: string, number: number): Promise<string> {
    const folder = path.join(parent, `${number}`)
    await mkdir(folder)
    return folder
  }

  it('are compacted by us so that kopia and we still see every content', async t => {
    const kopia = await inEpoch(t, 5)
    const before = await listedBy(kopia)
    const context = managerOf(await openRepository(kopia))
    const compacted = []
    for (
      let done = await compactSingleEpoch(context);
      done !== undefined;
      done = await compactSingleEpoch(context)
    ) {
      compacted.push(done.first)
    }
    assert.deepEqual(compacted, [0, 1, 2, 3])
    const range = await checkpointRange({
      ...context,
      parameters: { ...context.parameters, fullCheckpointFrequency: 2 },
    })
    assert.deepEqual([range?.first, range?.last], [0, 3])
    const harsh = { ...context, parameters: { ...context.parameters, cleanupSafetyMargin: -60_000 } }
    await cleanUpMarkers(harsh)
    assert.ok((await cleanUpSuperseded(harsh)).length >= 4)
    await kopia.kopia(['cache', 'clear'])
    assert.deepEqual(await listedBy(kopia), before)
    assert.deepEqual((await entriesOf(await openRepository(kopia))).map(asListed), before)
    await kopia.verify()
  })

  it('that kopia compacted are read by us as kopia reads them', async t => {
    const kopia = await inEpoch(t, 5)
    await kopia.kopia(['repository', 'set-parameters', '--epoch-checkpoint-frequency=2'])
    for (let run = 0; run < 3; run++) await kopia.kopia(['maintenance', 'run', '--full'])
    const opened = await openRepository(kopia)
    const state = await managerOf(opened).manager.refresh()
    assert.ok(state.singles.size > 0)
    assert.ok(state.rangeChain.length > 0)
    assert.deepEqual((await entriesOf(opened)).map(asListed), await listedBy(kopia))
  })

  it('advance in kopia and in our reading of its listing alike', async t => {
    const kopia = await givenSnapshots(t, [], 1)
    await kopia.kopia(['repository', 'set-parameters', '--epoch-advance-on-count=10'])
    const folder = path.join(kopia.path, 'x', 'n0_')
    for (let i = 2; (await readdir(folder)).length < 10; i++) {
      await writeSourceTree(await freshFolder(path.join(kopia.scratch, 'source'), i), i, 10)
      await kopia.snapshot(path.join(kopia.scratch, 'source', `${i}`))
    }
    const twoDaysAgo = systemClock.now() / 1000 - 2 * 86400
    const [oldest] = await readdir(folder)
    await utimes(path.join(folder, oldest!), twoDaysAgo, twoDaysAgo)
    const opened = await openRepository(kopia)
    const state = await managerOf(opened).manager.refresh()
    assert.equal(shouldAdvanceEpoch(state, opened.open.format.epochParameters), true)
    await kopia.kopia(['maintenance', 'run', '--full'])
    assert.equal((await managerOf(opened).manager.refresh()).writeEpoch, 1)
  })
})
