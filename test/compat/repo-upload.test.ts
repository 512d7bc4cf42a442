import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { systemClock } from '../../packages/repo/src/clock/clock.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import { openRepository } from '../../packages/repo/src/repository.ts'
import { uploadBlockDevice } from '../../packages/repo/src/snapshot/block-device.ts'
import type { UploadResult } from '../../packages/repo/src/snapshot/save-snapshot.ts'
import { veleroConventions, veleroSource } from '../../packages/repo/src/snapshot/source.ts'
import type { UploadOptions } from '../../packages/repo/src/snapshot/upload-options.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { seededRandom } from '../../tools/test/seeded-random.ts'
import { rotatingSeeds } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { describeTree, isUtf8, writeRichTree } from './upload-source-tree.ts'

const skip = await kopiaSkip()
const [seed = 1] = rotatingSeeds({ name: 'upload', count: 1, soakCount: 5 })

const cleanUps: (() => Promise<void>)[] = []
const scope = { after: (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp) }
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp()
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-upload-'))
  scope.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const source = { host: 'ours', userName: 'lateen', path: '/data' }

async function upload(
  { path: folder, password }: KopiaRepository,
  tree: string,
  options: Partial<UploadOptions> = {},
): Promise<UploadResult> {
  await using repository = await openRepository({
    storage: await openFilesystemStorage({ path: folder }),
    password,
  })
  const everyFileInThreads = { threads: 2, threadsFrom: 0 }
  return await repository.writing({}, writer =>
    uploadTree(writer, tree, { source, ...everyFileInThreads, ...options }),
  )
}

async function richTree(): Promise<string> {
  const folder = path.join(await temporaryFolder(), 'tree')
  writeRichTree(folder, seed)
  return folder
}

function dataBlobs({ path: folder }: KopiaRepository): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.startsWith('p') && name.endsWith('.f'))
    .sort()
}

interface ListedSnapshot {
  id: string
  source: { host: string; userName: string; path: string }
  description: string
  incomplete?: string
  rootEntry: { obj: string; summ: { size: number; files: number; numFailed: number } }
  tags?: Record<string, string>
  pins?: string[]
}

async function rootOf(kopia: KopiaRepository, id: string): Promise<string> {
  const all = await kopia.json<ListedSnapshot[]>(['snapshot', 'list', '--all', '--incomplete'])
  return all.find(snapshot => snapshot.id === id)?.rootEntry.obj ?? 'missing'
}

describe('an upload of ours', { skip, concurrency: 2 }, () => {
  it('is verified, listed and restored exactly by kopia', async () => {
    const tree = await richTree()
    const kopia = await kopiaRepository(scope)
    const { snapshot, progress } = await upload(kopia, tree, {
      description: 'rich',
      tags: { 'tag:purpose': 'test' },
      pins: ['keep'],
    })
    assert.equal(progress.skipped, 1)
    await kopia.verify()
    const [listed, ...others] = await kopia.json<ListedSnapshot[]>(['snapshot', 'list', '--all'])
    assert.equal(others.length, 0)
    assert.ok(listed)
    assert.deepEqual(
      [listed.id, listed.source, listed.description, listed.tags, listed.pins, listed.incomplete],
      [snapshot.id, source, 'rich', { 'tag:purpose': 'test' }, ['keep'], undefined],
    )
    assert.equal(listed.rootEntry.summ.files, snapshot.rootEntry.summary?.files)
    const restored = describeTree(await kopia.restore(snapshot.id))
    const expected = describeTree(tree)
    for (const name of Object.keys(expected)) if (!isUtf8(name)) delete expected[name]
    for (const name of Object.keys(restored)) if (!isUtf8(name)) delete restored[name]
    assert.deepEqual(restored, expected)
  })

  it('of an unchanged tree reads no file and yields the same root', async () => {
    const tree = await richTree()
    const kopia = await kopiaRepository(scope)
    const first = await upload(kopia, tree)
    const blobs = dataBlobs(kopia)
    const second = await upload(kopia, tree)
    // The names that are not UTF-8 are stored lossily and cannot be recognised.
    assert.deepEqual(
      [second.progress.filesRead, second.progress.filesCached],
      [3, first.progress.filesRead - 3],
    )
    assert.equal(second.snapshot.rootEntry.obj, first.snapshot.rootEntry.obj)
    assert.deepEqual(dataBlobs(kopia), blobs)
    assert.deepEqual(
      [second.snapshot.stats.fileCount, second.snapshot.stats.cachedFiles],
      [3, second.progress.filesCached],
    )
    writeFileSync(path.join(tree, 'a/b/file-7'), 'changed')
    const third = await upload(kopia, tree)
    assert.equal(third.progress.filesRead, 4)
    assert.notEqual(third.snapshot.rootEntry.obj, first.snapshot.rootEntry.obj)
    await kopia.verify()
  })

  it('has the ids that kopia finds for the same tree, so that neither adds data after the other', async () => {
    const tree = await richTree()
    const oursFirst = await kopiaRepository(scope)
    const ours = await upload(oursFirst, tree)
    const blobs = dataBlobs(oursFirst)
    assert.equal(await rootOf(oursFirst, await oursFirst.snapshot(tree)), ours.snapshot.rootEntry.obj)
    assert.deepEqual(dataBlobs(oursFirst), blobs)

    const theirsFirst = await kopiaRepository(scope)
    const theirs = await theirsFirst.snapshot(tree)
    const theirBlobs = dataBlobs(theirsFirst)
    const second = await upload(theirsFirst, tree)
    assert.equal(second.snapshot.rootEntry.obj, await rootOf(theirsFirst, theirs))
    assert.deepEqual(dataBlobs(theirsFirst), theirBlobs)
    assert.ok(second.progress.filesRead > 60)
    const sameSource = { host: 'testhost', userName: 'tester', path: tree }
    const third = await upload(theirsFirst, tree, { source: sameSource })
    assert.equal(third.progress.filesRead, 3)
  })

  it('has the ids of kopia for files in parts, other splitters and compression', async () => {
    const tree = await temporaryFolder()
    const random = seededRandom(seed)
    writeFileSync(path.join(tree, 'parts'), random.bytes(7 << 20))
    writeFileSync(path.join(tree, 'exact'), Buffer.alloc(6 << 20, 'text '))
    writeFileSync(path.join(tree, 'small.txt'), 'hello '.repeat(10_000))
    const kopia = await kopiaRepository(scope)
    const flags = [
      '--parallel-upload-above-size-mib=3',
      '--splitter=DYNAMIC-256K-BUZHASH',
      '--compression=zstd',
    ]
    await kopia.kopia(['policy', 'set', '--global', ...flags])
    const ours = await upload(kopia, tree)
    await kopia.verify()
    assert.equal(await rootOf(kopia, await kopia.snapshot(tree)), ours.snapshot.rootEntry.obj)
    assert.deepEqual(describeTree(await kopia.restore(ours.snapshot.id)), describeTree(tree))
    const compressed = await kopia.kopia(['content', 'stats'])
    assert.match(compressed, /zstd/)
  })

  it('leaves out what kopia leaves out', async () => {
    const tree = await temporaryFolder()
    const names = [
      'keep.txt',
      'skip.tmp',
      'keep.tmp',
      'x/skip.tmp',
      'build/out',
      'x/build',
      'x/y/z',
      'x/y/deep/z',
      'ax/b',
      'a/b',
    ]
    names.push(
      'cache/data',
      'cache/CACHEDIR.TAG',
      'sub/only-here',
      'sub/x/only-here',
      'only-here',
      'big',
      'abc',
      'a[c',
      '7k',
      '!bang',
      'xx7',
    )
    for (const name of names) {
      mkdirSync(path.dirname(path.join(tree, name)), { recursive: true })
      writeFileSync(path.join(tree, name), `content of ${name}`)
    }
    writeFileSync(path.join(tree, 'cache/CACHEDIR.TAG'), 'Signature: 8a477f597d28d172789f06886806bc55\n')
    writeFileSync(path.join(tree, 'big'), Buffer.alloc(2000))
    const rules = [
      '# comment',
      '*.tmp',
      '!keep.tmp',
      'build/',
      'x/**/z',
      '/a*b',
      'a[[]c',
      '[[:digit:]]k',
      '\\!bang',
      'xx[[:digit:]]',
      '',
    ]
    writeFileSync(path.join(tree, '.kopiaignore'), rules.join('\n'))
    writeFileSync(path.join(tree, 'sub/.kopiaignore'), '/only-here\r\n')
    writeFileSync(path.join(tree, 'x/.kopiaignore'), '!skip.tmp\n')
    const kopia = await kopiaRepository(scope)
    await kopia.kopia(['policy', 'set', '--global', '--max-file-size=1000', '--add-ignore=abc'])
    await kopia.kopia(['policy', 'set', path.join(tree, 'sub', 'x'), '--add-ignore=only-*'])
    const theirs = await kopia.snapshot(tree)
    const ours = await upload(kopia, tree, {
      source: { host: 'testhost', userName: 'tester', path: tree },
      rereadAll: true,
    })
    const listing = await kopia.kopia(['ls', '-r', ours.snapshot.id])
    assert.equal(ours.snapshot.rootEntry.obj, await rootOf(kopia, theirs), listing)
    assert.doesNotMatch(listing, /big|abc|sub\/only-here|cache\/data/)
    assert.match(listing, /keep\.tmp/)
    assert.ok(ours.progress.excludedFiles > 5)
  })

  it('matches each of many rules against each of many paths as kopia does', async () => {
    const tree = await temporaryFolder()
    const random = seededRandom(seed)
    const pick = (choices: readonly string[]) => choices[random.integer(0, choices.length - 1)] ?? ''
    const letters = ['a', 'b', 'c', 'ab', 'abc', 'a.b', '7', 'A', '-', '!', 'é', '😀', ' ', '[', ']', '*']
    const parts = [
      'a',
      'b',
      'c',
      '*',
      '**',
      '?',
      '/',
      '/',
      '**/',
      '/**',
      '***',
      '.',
      '7',
      'é',
      '😀',
      ' ',
      '#',
      '!',
    ]
    const sets = [
      '[ab]',
      '[!a]',
      '[^a]',
      '[a-b]',
      '[a-]',
      '[]a]',
      '[!]',
      '[😀-😁]',
      '\\*',
      '\\[',
      '[[:alpha:]b]',
    ]
    const classes = ['digit', 'alpha', 'punct', 'space', 'upper', 'graph', 'xdigit'].map(
      name => `[[:${name}:]]`,
    )
    const pieces = [...parts, ...parts, ...sets, ...classes]
    const name = () => `${pick(letters)}${random.integer(0, 2) === 0 ? pick(letters) : ''}`
    const rule = () =>
      [
        pick(['', '', '!', '/', ' ']),
        ...Array.from({ length: random.integer(1, 6) }, () => pick(pieces)),
        pick(['', '', '/', ' ']),
      ].join('')
    for (let folder = 0; folder < 150; folder++) {
      const root = path.join(tree, `case-${folder}`)
      mkdirSync(root)
      for (let file = 0; file < 12; file++) {
        const full = path.join(root, ...Array.from({ length: random.integer(1, 3) }, name))
        try {
          mkdirSync(path.dirname(full), { recursive: true })
          writeFileSync(full, full)
        } catch {
          // A file is where a folder would have to be, or the other way round.
        }
      }
      writeFileSync(
        path.join(root, '.kopiaignore'),
        Array.from({ length: random.integer(1, 3) }, rule).join('\n'),
      )
    }
    const kopia = await kopiaRepository(scope)
    const theirs = await rootOf(kopia, await kopia.snapshot(tree))
    const ours = await upload(kopia, tree)
    if (ours.snapshot.rootEntry.obj === theirs) return
    const differences = await kopia.kopia(['diff', theirs, ours.snapshot.rootEntry.obj])
    assert.fail(`seed ${seed}: kopia and we leave out different files\n${differences}`)
  })

  it('that is cancelled leaves nothing, or on request an incomplete snapshot from which the next one continues', async () => {
    const tree = await temporaryFolder()
    const random = seededRandom(seed)
    for (let index = 0; index < 30; index++) {
      mkdirSync(path.join(tree, `d${index}`))
      writeFileSync(path.join(tree, `d${index}`, 'file'), random.bytes(400_000))
    }
    const kopia = await kopiaRepository(scope)
    const cancelAfter = (files: number) => {
      const controller = new AbortController()
      // Ticks with every look at it, so that every file is followed by a report.
      let now = systemClock.now()
      const clock = { ...systemClock, now: () => (now += 200) }
      const onProgress = ({ filesRead }: { filesRead: number }) => {
        if (filesRead >= files) controller.abort(new Error('enough'))
      }
      return { signal: controller.signal, onProgress, clock, estimate: false }
    }
    await assert.rejects(upload(kopia, tree, cancelAfter(5)), error => isRepoError(error, 'CANCELLED'))
    assert.deepEqual(await kopia.json(['snapshot', 'list', '--all', '--incomplete']), [])
    const kept = await upload(kopia, tree, { ...cancelAfter(5), keepCancelled: true })
    assert.equal(kept.snapshot.incomplete, 'canceled')
    assert.ok(kept.progress.filesRead >= 5 && kept.progress.filesRead < 30)
    await kopia.verify()
    const next = await upload(kopia, tree)
    assert.equal(next.progress.filesCached, kept.progress.filesRead)
    assert.equal(next.snapshot.incomplete, undefined)
    const listed = await kopia.json<ListedSnapshot[]>(['snapshot', 'list', '--all', '--incomplete'])
    assert.deepEqual(
      listed.map(snapshot => snapshot.id),
      [next.snapshot.id],
    )
    await kopia.verify()
  })

  it('saves checkpoints that kopia verifies, and the next upload continues from them', async () => {
    const tree = await temporaryFolder()
    const random = seededRandom(seed)
    mkdirSync(path.join(tree, 'done'))
    mkdirSync(path.join(tree, 'z'))
    for (let index = 0; index < 20; index++)
      writeFileSync(path.join(tree, 'done', `f${index}`), random.bytes(1000))
    writeFileSync(path.join(tree, 'z', 'huge'), random.bytes(30 << 20))
    const kopia = await kopiaRepository(scope)
    const [smallDone, due, saved] = [0, 1, 2].map(() => Promise.withResolvers<void>())
    const controller = new AbortController()
    let checkpoints = 0
    let now = systemClock.now()
    const clock = {
      // Ticks with every look at it, so that every file is followed by a report.
      now: () => (now += 200),
      async sleep(_ms: number, signal?: AbortSignal) {
        if (checkpoints++ === 0) return due?.promise
        saved?.resolve()
        controller.abort(new Error('broken'))
        await systemClock.sleep(60_000, signal)
      },
    }
    await using repository = await openRepository({
      storage: await openFilesystemStorage({ path: kopia.path }),
      password: kopia.password,
    })
    const broken = repository.writing({}, writer => {
      const { contents, manifests, objects } = writer
      let written = 0
      const create = (options: Parameters<typeof objects.create>[0]) => {
        const inner = objects.create(options)
        const write = async (bytes: Uint8Array) => {
          await inner.write(bytes)
          written += bytes.length
          if (written < 20 << 20) return
          await smallDone?.promise
          due?.resolve()
          await saved?.promise
        }
        return { write, checkpoint: () => inner.checkpoint(), finish: () => inner.finish() }
      }
      const target = {
        repository,
        contents,
        manifests,
        objects: { ...objects, create },
        flush: () => writer.flush(),
      }
      return uploadTree(target, tree, {
        source,
        clock,
        signal: controller.signal,
        parallel: 3,
        // The writes that this test waits for are those of the main thread.
        threads: 0,
        estimate: false,
        onProgress: ({ filesRead }) => filesRead === 20 && smallDone?.resolve(),
      })
    })
    await assert.rejects(broken, error => isRepoError(error, 'CANCELLED'))
    await kopia.verify()
    const [checkpoint] = await kopia.json<ListedSnapshot[]>(['snapshot', 'list', '--all', '--incomplete'])
    assert.equal(checkpoint?.incomplete, 'checkpoint')
    // The large file is there as far as it was cut into chunks, and not under its own name.
    assert.match(await kopia.kopia(['ls', '-r', checkpoint.id]), /\.checkpointed\.huge\./)
    const blobs = dataBlobs(kopia)
    const next = await upload(kopia, tree)
    assert.deepEqual([next.progress.filesCached, next.progress.filesRead], [20, 1])
    assert.ok(dataBlobs(kopia).length - blobs.length <= 1)
    assert.deepEqual(describeTree(await kopia.restore(next.snapshot.id)), describeTree(tree))
    await kopia.verify()
  })

  it('of the image of a device is one file in the shape that Velero gives it', async () => {
    const image = path.join(await temporaryFolder(), 'disk')
    const bytes = Buffer.concat([
      seededRandom(seed).bytes(3 << 20),
      Buffer.alloc(5 << 20),
      Buffer.from('end'),
    ])
    writeFileSync(image, bytes)
    const kopia = await kopiaRepository(scope)
    await using repository = await openRepository({
      storage: await openFilesystemStorage({ path: kopia.path }),
      password: kopia.password,
    })
    const volume = veleroSource('snapshot-data-upload-download', 'ns/pvc')
    const { snapshot } = await repository.writing({}, writer =>
      uploadBlockDevice(writer, image, {
        source: volume,
        description: veleroConventions.description,
        pins: [veleroConventions.pin],
        metadataCompressor: '',
      }),
    )
    await kopia.verify()
    const [listed] = await kopia.json<ListedSnapshot[]>(['snapshot', 'list', '--all'])
    assert.deepEqual([listed?.id, listed?.source, listed?.pins], [snapshot.id, volume, ['velero-pin']])
    assert.equal(listed?.rootEntry.summ.size, bytes.length)
    const directory = JSON.parse(await kopia.kopia(['show', snapshot.rootEntry.obj])) as {
      entries: { name: string; mode: string; obj: string }[]
    }
    assert.deepEqual(
      directory.entries.map(entry => [entry.name, entry.mode]),
      [[image, '0777']],
    )
    const restored = path.join(kopia.scratch, 'image')
    await kopia.kopia(['restore', directory.entries[0]?.obj ?? '', restored])
    assert.ok(readFileSync(restored).equals(bytes))
  })

  it('of a single file is restored by kopia', async () => {
    const file = path.join(await temporaryFolder(), 'one file')
    writeFileSync(file, 'alone')
    const kopia = await kopiaRepository(scope)
    const { snapshot } = await upload(kopia, file)
    await kopia.verify()
    assert.equal(readFileSync(await kopia.restore(snapshot.id), 'utf8'), 'alone')
    assert.equal(await rootOf(kopia, await kopia.snapshot(file)), snapshot.rootEntry.obj)
  })
})
