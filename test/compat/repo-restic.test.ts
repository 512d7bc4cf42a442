import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type DataPathProgress,
  type ResticRepository,
  resticRepositoryProvider,
  resticUploaderProvider,
} from '../../packages/repo/src/unified/index.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'

const restic = await tool('restic')
let root = ''
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'lateen-restic-'))
})
after(() => rm(root, { recursive: true, force: true }))

const settings = () => ({ binary: restic, env: { HOME: root, PATH: process.env.PATH ?? '' } })

async function given(name: string) {
  const repo: ResticRepository = { repository: path.join(root, name, 'repo'), password: 'seven' }
  const source = path.join(root, name, 'source')
  await mkdir(path.join(source, 'deep/er'), { recursive: true })
  await writeFile(path.join(source, 'big'), randomBytes(3_000_000))
  await writeFile(path.join(source, 'deep/er/small'), 'small')
  const repository = resticRepositoryProvider(settings())
  const uploader = resticUploaderProvider({ settings: settings(), repo })
  return { repo, source, repository, uploader }
}

async function digestOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => path.join(entry.parentPath, entry.name))
  const digests = await Promise.all(
    files.map(async file => [
      path.relative(folder, file),
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ]),
  )
  return Object.fromEntries(digests.sort()) as Record<string, string>
}

describe('the restic repository provider', () => {
  it('prepares a repository once and says when one is there already', async () => {
    const { repo, repository } = await given('prepare')
    await assert.rejects(repository.connectToRepo(repo), { code: 'NOT_A_REPOSITORY' })
    await repository.prepareRepo(repo)
    await repository.prepareRepo(repo)
    await repository.connectToRepo(repo)
    await assert.rejects(repository.initRepo(repo), { code: 'ALREADY_EXISTS' })
  })

  it('refuses another password, and takes the right one from a file', async () => {
    const { repo, repository } = await given('password')
    await repository.initRepo(repo)
    await assert.rejects(repository.connectToRepo({ ...repo, password: 'eight' }), { code: 'BAD_PASSWORD' })
    const file = path.join(root, 'password-file')
    await writeFile(file, 'seven\n', { mode: 0o600 })
    await repository.connectToRepo({ ...repo, password: { file } })
  })

  it('forgets, prunes and checks', async () => {
    const { repo, source, repository, uploader } = await given('forget')
    await repository.initRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source })
    await repository.checkRepo(repo, { readData: true })
    await assert.rejects(repository.forget(repo, 'ffffffff'), { code: 'MANIFEST_NOT_FOUND' })
    assert.deepEqual(await repository.batchForget(repo, [snapshotId, 'ffffffff']), [
      { snapshotId },
      { snapshotId: 'ffffffff', missing: true },
    ])
    assert.deepEqual(await repository.snapshots(repo), [])
    await repository.pruneRepo(repo)
    assert.deepEqual(
      await readdir(path.join(repo.repository, 'data'), { recursive: true }).then(onlyPacks),
      [],
    )
    await repository.checkRepo(repo)
  })

  it('reports damage as such', async () => {
    const { repo, source, repository, uploader } = await given('damage')
    await repository.initRepo(repo)
    await uploader.runBackup({ path: source })
    await rm(await biggestPack(path.join(repo.repository, 'data')))
    await assert.rejects(repository.checkRepo(repo), { code: 'CORRUPT' })
  })

  it('removes the lock of a process that is gone', async () => {
    const { repo, repository } = await given('unlock')
    await repository.initRepo(repo)
    const locks = path.join(repo.repository, 'locks')
    const env = { ...settings().env, RESTIC_REPOSITORY: repo.repository, RESTIC_PASSWORD: 'seven' }
    const child = spawn(restic, ['backup', '--stdin', '--no-cache'], {
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    // Before it has its name, a lock is a temporary file that nobody heeds.
    const isLock = (name: string) => /^[0-9a-f]{64}$/.test(name)
    while (!(await readdir(locks)).some(isLock)) await delay(20)
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.equal((await readdir(locks)).filter(isLock).length, 1)
    await repository.ensureUnlockRepo(repo)
    assert.deepEqual((await readdir(locks)).filter(isLock), [])
  })

  it('says so when there is no restic', async () => {
    const { repo } = await given('no-restic')
    const none = resticRepositoryProvider({ ...settings(), binary: path.join(root, 'nothing') })
    await assert.rejects(none.initRepo(repo), { code: 'TOOL_FAILED', message: /could not be started/ })
  })
})

describe('the restic uploader provider', () => {
  it('restores what it backed up and reports progress', async () => {
    const { repo, source, repository, uploader } = await given('round-trip')
    await repository.initRepo(repo)
    const seen: DataPathProgress[] = []
    const outcome = await uploader.runBackup(
      { path: source, realSource: 'ns/claim', tags: { backup: 'one' } },
      { onProgress: progress => seen.push(progress) },
    )
    assert.equal(outcome.totalBytes, 3_000_005)
    assert.ok(outcome.incrementalBytes >= 3_000_000)
    assert.equal(seen.at(-1)?.bytesDone, 3_000_005)
    const [listed] = await repository.snapshots(repo, { tags: { backup: 'one' } })
    assert.ok(listed?.id.startsWith(outcome.snapshotId))

    const target = path.join(root, 'round-trip/target')
    await mkdir(target)
    assert.deepEqual(await uploader.runRestore({ snapshotId: outcome.snapshotId, path: target }), {
      bytes: 3_000_005,
    })
    assert.deepEqual(await digestOf(target), await digestOf(source))
  })

  it('writes files with holes where its version can, and else without them', async () => {
    const { repo, source, repository, uploader } = await given('sparse')
    await repository.initRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source })
    const target = path.join(root, 'sparse/target')
    await mkdir(target)
    const uploaderConfig = { writeSparseFiles: true }
    assert.ok((await uploader.runRestore({ snapshotId, path: target, uploaderConfig })).bytes > 0)
    assert.deepEqual(await digestOf(target), await digestOf(source))
  })

  it('says what it could not write', async () => {
    const { repo, source, repository, uploader } = await given('unwritable')
    await repository.initRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source })
    const target = path.join(root, 'unwritable/target')
    await mkdir(path.join(target, 'big'), { recursive: true })
    const run = uploader.runRestore({ snapshotId, path: target })
    await assert.rejects(run, { code: 'TOOL_FAILED', message: /the first of them \/big: .*is a directory/ })
  })

  it('does not say that a restore is done before what was written is on the device', async () => {
    const { repo, source, repository, uploader } = await given('synced')
    await repository.initRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source })
    const target = path.join(root, 'synced/target')
    await mkdir(target)
    const atSync: string[][] = []
    const failing = resticUploaderProvider({
      settings: settings(),
      repo,
      syncfs: async () => (atSync.push((await readdir(target)).sort()) === 2 ? constants.errno.EIO : 0),
    })
    const run = failing.runRestore({ snapshotId, path: target })
    await assert.rejects(run, { code: 'TARGET_FAILED', message: /on its device: syncfs: EIO/ })
    assert.deepEqual(atSync, [[], ['big', 'deep']])
    const nowhere = uploader.runRestore({ snapshotId, path: path.join(root, 'synced/none') })
    await assert.rejects(nowhere, { code: 'TARGET_FAILED', message: /synced\/none: ENOENT/ })
  })

  it('adds next to nothing when nothing has changed since the parent', async () => {
    const { repo, source, repository, uploader } = await given('parent')
    await repository.initRepo(repo)
    const first = await uploader.runBackup({ path: source, realSource: 'ns/claim' })
    const again = await uploader.runBackup({
      path: source,
      realSource: 'ns/claim',
      parentSnapshot: first.snapshotId,
    })
    assert.ok(again.incrementalBytes < 10_000, `${again.incrementalBytes} bytes added`)
  })

  it('makes no snapshot of an empty folder', async () => {
    const { repo, repository, uploader } = await given('empty')
    await repository.initRepo(repo)
    const empty = path.join(root, 'empty/nothing')
    await mkdir(empty)
    assert.equal((await uploader.runBackup({ path: empty })).empty, true)
    assert.deepEqual(await repository.snapshots(repo), [])
  })

  it('names a folder that is not there', async () => {
    const { uploader } = await given('absent')
    await assert.rejects(uploader.runBackup({ path: path.join(root, 'absent/none') }), {
      code: 'SOURCE_FAILED',
    })
  })

  it('says that a snapshot is not there', async () => {
    const { repo, repository, uploader } = await given('no-snapshot')
    await repository.initRepo(repo)
    await assert.rejects(uploader.runRestore({ snapshotId: 'ffffffff', path: root }), {
      code: 'MANIFEST_NOT_FOUND',
    })
  })

  it('leaves neither snapshot nor lock when it is cancelled', async () => {
    const { repo, source, repository, uploader } = await given('cancel')
    await repository.initRepo(repo)
    // Takes no space, and so long to read that the end does not come before it is cancelled.
    const hole = path.join(source, 'hole')
    await writeFile(hole, '')
    await truncate(hole, 64 * 2 ** 30)
    const cancelling = new AbortController()
    const run = uploader.runBackup(
      { path: source },
      { signal: cancelling.signal, onProgress: () => cancelling.abort() },
    )
    await assert.rejects(run, { code: 'CANCELLED' })
    assert.deepEqual(await repository.snapshots(repo), [])
    assert.deepEqual(await readdir(path.join(repo.repository, 'locks')), [])
  })

  it('leaves no snapshot when it is cancelled after restic has made one', async () => {
    const { repo, source, repository } = await given('cancel-late')
    await repository.initRepo(repo)
    const made = path.join(root, 'cancel-late/made')
    const binary = await lingeringAfterBackup(made)
    const uploader = resticUploaderProvider({ settings: { ...settings(), binary }, repo })
    const cancelling = new AbortController()
    const run = uploader.runBackup({ path: source }, { signal: cancelling.signal })
    const rejected = assert.rejects(run, { code: 'CANCELLED' })
    await Promise.race([rejected, untilSeen('a backup by restic', async () => existsSync(made))])
    assert.equal((await repository.snapshots(repo)).length, 1)
    cancelling.abort()
    await rejected
    assert.deepEqual(await repository.snapshots(repo), [])
  })

  it('keeps no snapshot that lacks files', async () => {
    const { repo, source, repository } = await given('unreadable')
    await chmod(path.join(source, 'big'), 0)
    const uploader = resticUploaderProvider({ settings: { ...settings(), binary: await asNobody() }, repo })
    await repository.initRepo(repo)
    await handOver(repo.repository)
    await assert.rejects(uploader.runBackup({ path: source }), { code: 'SOURCE_FAILED', message: /big/ })
    assert.deepEqual(await repository.snapshots(repo), [])
  })
})

/** Root reads everything, so that restic must run as somebody else where the test runs as root. */
async function asNobody(): Promise<string> {
  if (process.getuid?.() !== 0) return restic
  const script = path.join(root, 'restic-as-nobody')
  const line = `exec setpriv --reuid=65534 --regid=65534 --clear-groups ${restic} "$@"`
  await writeFile(script, `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  return script
}

/** A restic that has done a backup, and says so by a file, but does not end. */
async function lingeringAfterBackup(made: string): Promise<string> {
  const script = path.join(root, 'restic-lingering')
  const lines = [
    '#!/bin/sh',
    `[ "$1" = backup ] || exec ${restic} "$@"`,
    `${restic} "$@" || exit`,
    `touch ${made}`,
    'exec sleep 600',
  ]
  await writeFile(script, `${lines.join('\n')}\n`, { mode: 0o755 })
  return script
}

async function handOver(folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  await chmod(root, 0o755)
  await chown(folder, 65534, 65534)
  const names = await readdir(folder, { recursive: true })
  await Promise.all(names.map(name => chown(path.join(folder, name), 65534, 65534)))
}

async function biggestPack(folder: string): Promise<string> {
  const packs = onlyPacks(await readdir(folder, { recursive: true })).map(name => path.join(folder, name))
  const sizes = await Promise.all(packs.map(async pack => ({ pack, size: (await stat(pack)).size })))
  return sizes.sort((a, b) => b.size - a.size)[0]?.pack ?? ''
}

function onlyPacks(names: string[]): string[] {
  return names.filter(name => path.basename(name).length === 64)
}
