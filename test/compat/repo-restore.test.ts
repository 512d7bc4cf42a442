import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { diffSnapshots } from '../../packages/repo/src/snapshot/diff-snapshots.ts'
import { formatEntryPath } from '../../packages/repo/src/snapshot/entry-name.ts'
import { findSnapshot, listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreToTar } from '../../packages/repo/src/snapshot/restore-to-tar.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { describeTree, makeRichTree, noise } from './rich-tree.ts'

async function open({ path: folder, password }: KopiaRepository): Promise<Repository> {
  return openRepository({ storage: await openFilesystemStorage({ path: folder }), password })
}

async function restored(kopia: KopiaRepository, id: string, options: { sparse?: boolean } = {}) {
  await using repository = await open(kopia)
  const { rootEntry } = await findSnapshot(repository.manifests, id)
  const target = path.join(kopia.scratch, `ours-${id}`)
  const result = await restoreTree({ contents: repository.contents, entry: rootEntry, target, ...options })
  return { target, result }
}

describe('restoring what kopia stored', { skip: await kopiaSkip() }, () => {
  for (const flags of [[], ['--block-hash=BLAKE3-256', '--encryption=CHACHA20-POLY1305-HMAC-SHA256']]) {
    it(`gives back exactly the tree that was there, to the nanosecond (${flags.join(' ') || 'defaults'})`, async t => {
      const kopia = await kopiaRepository(t, { createFlags: flags })
      const source = path.join(kopia.scratch, 'source')
      makeRichTree(source)
      const expected = describeTree(source)
      const id = await kopia.snapshot(source)
      const { target, result } = await restored(kopia, id)
      assert.deepEqual(result.problems, [])
      assert.deepEqual(describeTree(target), expected)
    })
  }

  it('gives what kopia itself restores, except the times of folders, which kopia does not keep', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    makeRichTree(source)
    const id = await kopia.snapshot(source)
    const theirs = describeTree(await kopia.restore(id), { folderTimes: false })
    const { target } = await restored(kopia, id, { sparse: true })
    const ours = describeTree(target, { folderTimes: false })
    // kopia sets the times of symlinks to the microsecond only.
    const withoutLinkTimes = (tree: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(tree).map(([name, text]) => [name, text.replace(/^(link .*)mtime=\d+/, '$1')]),
      )
    assert.deepEqual(withoutLinkTimes(ours), withoutLinkTimes(theirs))
    assert.ok(statSync(path.join(target, 'sparse')).blocks * 512 < 100_000, 'holes stay holes')
  })

  it('leaves nothing that kopia would read again in the next snapshot of the restored folder', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    makeRichTree(source)
    const id = await kopia.snapshot(source)
    const { target } = await restored(kopia, id)
    await runCommand('rm', ['-rf', source])
    await runCommand('mv', [target, source])
    const second = await kopia.snapshot(source)
    await using repository = await open(kopia)
    const { stats, rootEntry } = await findSnapshot(repository.manifests, second)
    assert.equal(stats.nonCachedFiles, 0)
    assert.ok(stats.cachedFiles > 10)
    assert.equal(rootEntry.obj, (await findSnapshot(repository.manifests, id)).rootEntry.obj)
  })

  it('writes a tar archive from which tar extracts the same tree', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    makeRichTree(source)
    const long = path.join(source, 'l'.repeat(200), 'm'.repeat(200))
    mkdirSync(long, { recursive: true })
    writeFileSync(path.join(long, 'n'.repeat(200)), 'long')
    const expected = describeTree(source)
    const id = await kopia.snapshot(source)
    await using repository = await open(kopia)
    const { rootEntry } = await findSnapshot(repository.manifests, id)
    const archive = path.join(kopia.scratch, 'archive.tar')
    const pieces = restoreToTar({ contents: repository.contents, entry: rootEntry })
    writeFileSync(archive, Buffer.concat(await Array.fromAsync(pieces)))
    const target = path.join(kopia.scratch, 'extracted')
    mkdirSync(target)
    await runCommand('tar', ['-xpf', archive, '-C', target, '--numeric-owner'])
    assert.deepEqual(describeTree(target), expected)
  })

  it('lists, compares and deletes snapshots; kopia sees the deletion', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    mkdirSync(path.join(source, 'sub'), { recursive: true })
    writeFileSync(path.join(source, 'kept'), '1')
    writeFileSync(path.join(source, 'sub/changed'), '1')
    const first = await kopia.snapshot(source, ['--tags=a:b'])
    writeFileSync(path.join(source, 'sub/changed'), '22')
    writeFileSync(path.join(source, 'sub/new'), '1')
    const second = await kopia.snapshot(source)
    await using repository = await open(kopia)
    const { snapshots } = await listSnapshots(repository.manifests, { path: source })
    assert.deepEqual(
      snapshots.map(({ id }) => id),
      [first, second],
    )
    const tagged = await listSnapshots(repository.manifests, { tags: { 'tag:a': 'b' } })
    assert.deepEqual(
      tagged.snapshots.map(({ id }) => id),
      [first],
    )
    const [before, after] = snapshots.map(({ rootEntry }) => rootEntry)
    const changes = await Array.fromAsync(
      diffSnapshots(repository.contents, { before: before!, after: after! }),
    )
    assert.deepEqual(
      changes.map(({ kind, path: place, aspects }) => `${kind} ${formatEntryPath(place)} ${aspects.join()}`),
      ['modified sub mtime', 'modified sub/changed content,mtime', 'added sub/new '],
    )
    await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [first]))
    const left = await kopia.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    assert.deepEqual(
      left.map(({ id }) => id),
      [second],
    )
    await kopia.verify()
  })

  it('names the file whose data is damaged, restores all others and keeps the old version of that file', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    mkdirSync(source)
    writeFileSync(path.join(source, 'good'), 'good data')
    const good = await kopia.snapshot(source)
    writeFileSync(path.join(source, 'hurt'), 'data that will be damaged')
    const id = await kopia.snapshot(source)
    await using repository = await open(kopia)
    const { rootEntry } = await findSnapshot(repository.manifests, id)
    const target = path.join(kopia.scratch, 'target')
    mkdirSync(target)
    writeFileSync(path.join(target, 'hurt'), 'old version')
    const blob = await damageFileData(kopia, id)
    const result = await restoreTree({ contents: repository.contents, entry: rootEntry, target })
    assert.equal(result.failed, 1)
    const error = result.problems[0]?.error
    assert.deepEqual([error?.path, error?.blobId, error?.code], ['hurt', blob, 'CORRUPT'])
    assert.equal(readFileSync(path.join(target, 'good'), 'utf8'), 'good data')
    assert.equal(readFileSync(path.join(target, 'hurt'), 'utf8'), 'old version')
    assert.deepEqual((await restored(kopia, good)).result.problems, [])
  })

  it('ends with one error that names the target when it is full, and cancels what is left', async t => {
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    mkdirSync(source)
    for (let n = 0; n < 20; n++) writeFileSync(path.join(source, `file${n}`), noise(300_000).subarray(n))
    const id = await kopia.snapshot(source)
    const target = path.join(kopia.scratch, 'small')
    mkdirSync(target)
    try {
      await runCommand('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', target])
    } catch {
      return t.skip('no file system can be mounted here')
    }
    try {
      await using repository = await open(kopia)
      const { rootEntry } = await findSnapshot(repository.manifests, id)
      const restoring = restoreTree({ contents: repository.contents, entry: rootEntry, target, sync: true })
      await assert.rejects(restoring, { code: 'TARGET_FAILED', message: /ENOSPC/, hint: /make room/ })
    } finally {
      await runCommand('umount', [target])
    }
  })

  it('runs without privilege: data, modes and times are kept, and a note tells about owners', async t => {
    if (process.getuid?.() !== 0) return t.skip('needs root to give up privilege')
    const kopia = await kopiaRepository(t)
    const source = path.join(kopia.scratch, 'source')
    makeRichTree(source)
    const id = await kopia.snapshot(source)
    const target = path.join(kopia.scratch, 'target')
    mkdirSync(target)
    await runCommand('chown', ['-R', '65534:65534', target, kopia.path])
    chmodSync(kopia.scratch, 0o755)
    const script = `
      import { openFilesystemStorage } from ${JSON.stringify(sourceOf('blob/filesystem.ts'))}
      import { openRepository } from ${JSON.stringify(sourceOf('repository.ts'))}
      import { findSnapshot } from ${JSON.stringify(sourceOf('snapshot/list-snapshots.ts'))}
      import { restoreTree } from ${JSON.stringify(sourceOf('snapshot/restore-tree.ts'))}
      process.setgid(65534); process.setuid(65534)
      const storage = await openFilesystemStorage({ path: ${JSON.stringify(kopia.path)} })
      await using repository = await openRepository({ storage, password: ${JSON.stringify(kopia.password)} })
      const { rootEntry } = await findSnapshot(repository.manifests, ${JSON.stringify(id)})
      const options = { contents: repository.contents, entry: rootEntry, target: ${JSON.stringify(target)} }
      await restoreTree(options)
      const { problems, notes, failed } = await restoreTree({ ...options, skipUnchanged: true, deleteExtra: true })
      console.log(JSON.stringify({ problems, notes, failed }))
    `
    const printed = await runCommand(process.execPath, ['--input-type=module', '-e', script])
    const result = JSON.parse(printed.trim().split('\n').at(-1) ?? '')
    assert.deepEqual(result.problems, [])
    assert.match(result.notes.join(), /owners could not be set/)
    const withoutOwners = (tree: Record<string, string>) =>
      Object.fromEntries(Object.entries(tree).map(([name, text]) => [name, text.replace(/ \d+:\d+ /, ' ')]))
    assert.deepEqual(withoutOwners(describeTree(target)), withoutOwners(describeTree(source)))
  })
})

function sourceOf(file: string): string {
  return path.join(import.meta.dirname, '../../packages/repo/src', file)
}

/** Flips a bit of the content of the file `hurt`; returns the blob. */
async function damageFileData(kopia: KopiaRepository, snapshot: string): Promise<string> {
  const listing = await kopia.kopia(['ls', '-l', '-o', snapshot])
  const object = /([0-9a-f]{32})\s+hurt$/m.exec(listing)?.[1]
  type Content = { contentID: string; packFile: string; packOffset: number }
  const contents = await kopia.json<Content[]>(['content', 'list', '-l'])
  const content = contents.find(({ contentID }) => contentID === object)
  assert.ok(content, listing)
  const { packFile } = content
  const file = path.join(kopia.path, packFile.slice(0, 1), packFile.slice(1, 4), `${packFile.slice(4)}.f`)
  const bytes = readFileSync(file)
  bytes[content.packOffset + 15]! ^= 1
  writeFileSync(file, bytes, { mode: 0o600 })
  return packFile
}
