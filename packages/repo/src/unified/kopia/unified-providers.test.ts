import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { memoryStorage } from '../../blob/memory.ts'
import { systemClock } from '../../clock/clock.ts'
import { findSnapshot } from '../../snapshot/list-snapshots.ts'
import type { RepoOptions } from '../backup-repo.ts'
import type { Logger } from '../logger.ts'
import type { DataPathProgress } from '../uploader-provider.ts'
import { kopiaRepoService } from './kopia-repo-service.ts'
import { openRepoStorage } from './open-repo-storage.ts'
import { unifiedRepositoryProvider } from './unified-repository-provider.ts'
import { unifiedUploaderProvider } from './unified-uploader-provider.ts'

let root = ''
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'lateen-providers-'))
})
after(() => rm(root, { recursive: true }))

function recorder() {
  const messages: string[] = []
  const note = (_fields: object, message: string) => messages.push(message)
  const log: Logger = { debug: note, info: note, warn: note, error: note }
  return { messages, log }
}

async function given(name: string) {
  const logs = { uploader: recorder(), repository: recorder() }
  const service = kopiaRepoService({ clock: systemClock, log: logs.repository.log })
  const repo: RepoOptions = {
    storageType: 'filesystem',
    repoPassword: 'p',
    storageOptions: { fspath: path.join(root, name, 'repo') },
  }
  const source = path.join(root, name, 'source')
  await mkdir(path.join(source, 'sub'), { recursive: true })
  await writeFile(path.join(source, 'one'), randomBytes(200_000))
  await writeFile(path.join(source, 'sub/two'), 'two')
  const repository = unifiedRepositoryProvider(service)
  const requester = 'snapshot-pod-volume'
  const uploader = unifiedUploaderProvider({ service, repo, requester, log: logs.uploader.log })
  return { service, repo, source, repository, uploader, logs, folder: path.join(root, name) }
}

const realSource = 'ns/pod/volume'

describe('the unified repository provider', () => {
  it('prepares a repository once, whoever comes first', async () => {
    const { repo, repository } = await given('prepare')
    await assert.rejects(repository.connectToRepo(repo), { code: 'NOT_A_REPOSITORY' })
    await repository.prepareRepo(repo)
    await repository.prepareRepo(repo)
    await assert.rejects(repository.initRepo(repo), { code: 'ALREADY_EXISTS' })
  })

  it('was made in a location that is read-only: it is not', async () => {
    const { repo, repository, folder } = await given('read-only')
    const readOnly = { ...repo, generalOptions: { ...repo.generalOptions, readOnly: 'true' } }
    await assert.rejects(repository.prepareRepo(readOnly), { code: 'READ_ONLY', message: /read-only/ })
    assert.deepEqual(await readdir(path.join(folder, 'repo')).catch(() => []), [])
  })

  it('completes a repository whose maker died before it had set the marker, and refuses a foreign marker', async () => {
    const { repo, repository, folder } = await given('marker')
    await repository.initRepo(repo)
    const marker = path.join(folder, 'repo/udmrepo.Repository.f')
    const written = await readFile(marker, 'utf8')
    await unlink(marker)
    await repository.connectToRepo(repo)
    assert.equal(await readFile(marker, 'utf8'), written)
    await writeFile(marker, '{"uniqueID":"AAAA"}')
    await assert.rejects(repository.connectToRepo(repo), { code: 'CORRUPT', blobId: 'udmrepo.Repository' })
  })

  it('forgets snapshots and says which were not there', async () => {
    const { repo, source, repository, uploader } = await given('forget')
    await repository.prepareRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source, realSource })
    const missing = '0'.repeat(32)
    assert.deepEqual(await repository.batchForget(repo, [snapshotId, missing]), [
      { snapshotId },
      { snapshotId: missing, missing: true },
    ])
    await assert.rejects(repository.forget(repo, snapshotId), { code: 'MANIFEST_NOT_FOUND' })
    await assert.rejects(uploader.runRestore({ snapshotId, path: source }), { code: 'MANIFEST_NOT_FOUND' })
  })

  it('forgets nothing but snapshots', async () => {
    const { service, repo, repository } = await given('only-snapshots')
    await repository.prepareRepo(repo)
    await using opened = await service.open(repo)
    const [params] = await opened.findManifests({ labels: { type: 'maintenance' } })
    assert.ok(params)
    await assert.rejects(repository.forget(repo, params.id), { code: 'MANIFEST_NOT_FOUND' })
  })

  it('prunes by running maintenance, and changes its interval when told', async () => {
    const { service, repo, repository } = await given('prune')
    await repository.prepareRepo(repo)
    const eager = { ...repo, generalOptions: { fullMaintenanceInterval: 'eagerGC' } }
    await repository.pruneRepo(eager, { mode: 'full' })
    await using opened = await service.open(repo)
    const [found] = await opened.findManifests({ labels: { type: 'maintenance' } })
    assert.ok(found)
    const { payload } = await opened.getManifest(found.id)
    const { owner, full } = payload as { owner: string; full: { interval: number | bigint } }
    assert.equal(owner, 'default@default')
    assert.equal(Number(full.interval), 6 * 3600 * 1e9)
    await assert.rejects(
      repository.pruneRepo({ ...repo, generalOptions: { fullMaintenanceInterval: 'x' } }),
      {
        code: 'INVALID_ARGUMENT',
      },
    )
    assert.equal(repository.defaultMaintenanceFrequency(), 3_600_000)
  })

  it('runs full maintenance when a shorter interval has passed, and not only when the longer one would have', async () => {
    const hour = 3_600_000
    let time = Date.UTC(2026, 0, 1)
    const clock = { ...systemClock, now: () => time }
    const storage = memoryStorage({ clock })
    const modes: unknown[] = []
    const info: Logger['info'] = fields => {
      if ('mode' in fields) modes.push(fields.mode)
    }
    const log: Logger = { ...recorder().log, info }
    const service = kopiaRepoService({ clock, log, openStorage: async () => storage })
    const repository = unifiedRepositoryProvider(service)
    const repo: RepoOptions = { storageType: 'filesystem', repoPassword: 'p', storageOptions: {} }
    const eager = { ...repo, generalOptions: { fullMaintenanceInterval: 'eagerGC' } }
    await repository.prepareRepo(repo)
    const runs: [number, RepoOptions][] = [
      [0, repo],
      [5, repo],
      [7, repo],
      [9, eager],
      [11, eager],
      [16, eager],
    ]
    const began = time
    for (const [hours, options] of runs) {
      time = began + hours * hour
      await repository.pruneRepo(options)
    }
    assert.deepEqual(modes, ['full', 'quick', 'quick', 'full', 'quick', 'full'])
  })
})

describe('the unified uploader provider', () => {
  it('restores what it backed up and reads only what has changed since the parent', async () => {
    const { repo, source, repository, uploader, folder } = await given('round-trip')
    await repository.prepareRepo(repo)
    const seen: DataPathProgress[] = []
    const first = await uploader.runBackup(
      { path: source, realSource, tags: { backup: 'b1' } },
      { onProgress: progress => seen.push(progress) },
    )
    assert.deepEqual([first.totalBytes, first.incrementalBytes, first.empty], [200_003, 200_003, false])
    assert.equal(seen.at(-1)?.bytesDone, 200_003)
    await writeFile(path.join(source, 'three'), 'drei')
    const second = await uploader.runBackup({ path: source, realSource })
    assert.deepEqual([second.totalBytes, second.incrementalBytes], [200_007, 4])
    const target = path.join(folder, 'target')
    assert.deepEqual(await uploader.runRestore({ snapshotId: second.snapshotId, path: target }), {
      bytes: 200_007,
    })
    for (const name of ['one', 'sub/two', 'three']) {
      assert.deepEqual(await readFile(path.join(target, name)), await readFile(path.join(source, name)))
    }
  })

  it('counts what is new as a part of the whole, links included', async () => {
    const { repo, source, repository, uploader } = await given('links')
    await repository.prepareRepo(repo)
    await symlink('target', path.join(source, 'link'))
    const sizes = []
    for (let run = 0; run < 2; run++) {
      const { totalBytes, incrementalBytes } = await uploader.runBackup({ path: source, realSource })
      sizes.push([totalBytes, incrementalBytes])
    }
    // As kopia's statistics have it: a link counts when it is known already.
    assert.deepEqual(sizes, [
      [200_003, 200_003],
      [200_003 + 'target'.length, 0],
    ])
  })

  it('reads everything when told to, without a name for the data, and for another requester', async () => {
    const { service, repo, source, repository, uploader } = await given('full')
    await repository.prepareRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source, realSource })
    const other = unifiedUploaderProvider({ service, repo, requester: 'snapshot-data-upload-download' })
    const runs = [
      await uploader.runBackup({ path: source, realSource, forceFull: true }),
      await uploader.runBackup({ path: source }),
      await other.runBackup({ path: source, realSource }),
    ]
    assert.deepEqual(
      runs.map(({ incrementalBytes }) => incrementalBytes),
      [200_003, 200_003, 200_003],
    )
    const named = await other.runBackup({ path: source, realSource: 'else', parentSnapshot: snapshotId })
    assert.equal(named.incrementalBytes, 0)
  })

  it('files snapshots as Velero does', async () => {
    const { service, repo, source, repository, uploader } = await given('velero')
    await repository.prepareRepo(repo)
    const { snapshotId } = await uploader.runBackup({ path: source, realSource, tags: { backup: 'b1' } })
    await using opened = await service.open(repo)
    const snapshot = await findSnapshot(opened.repository.manifests, snapshotId)
    assert.deepEqual(snapshot.source, {
      host: 'default',
      userName: 'default',
      path: `snapshot-pod-volume/kopia/${realSource}`,
    })
    assert.deepEqual(snapshot.tags, {
      backup: 'b1',
      'snapshot-requester': 'snapshot-pod-volume',
      'snapshot-uploader': 'kopia',
    })
    assert.deepEqual([snapshot.description, snapshot.pins], ['Kopia Uploader', ['velero-pin']])
    const policies = await opened.findManifests({ labels: { type: 'policy', path: snapshot.source.path } })
    assert.equal(policies.length, 1)
  })

  it('keeps what holds no file as a snapshot that says so', async () => {
    const { repo, repository, uploader, folder } = await given('empty')
    await repository.prepareRepo(repo)
    const nothing = path.join(folder, 'nothing')
    await mkdir(nothing)
    const outcome = await uploader.runBackup({ path: nothing, realSource })
    assert.equal(outcome.empty, true)
    assert.match(outcome.snapshotId, /^[0-9a-f]{32}$/)
  })

  it('moves a block volume as one object', async () => {
    const { repo, repository, uploader, folder } = await given('block')
    await repository.prepareRepo(repo)
    const [device, target] = [path.join(folder, 'device'), path.join(folder, 'target')]
    await writeFile(device, Buffer.concat([randomBytes(100_000), Buffer.alloc(5_000_000), randomBytes(7)]))
    await writeFile(target, Buffer.alloc(5_100_007, 1))
    const { snapshotId, totalBytes } = await uploader.runBackup({
      path: device,
      realSource,
      volumeMode: 'block',
    })
    assert.equal(totalBytes, 5_100_007)
    const { bytes } = await uploader.runRestore({ snapshotId, path: target, volumeMode: 'block' })
    assert.equal(bytes, 5_100_007)
    assert.deepEqual(await readFile(target), await readFile(device))
    await assert.rejects(uploader.runRestore({ snapshotId, path: folder }), {
      code: 'INVALID_ARGUMENT',
      message: /is that of a block volume/,
    })
  })

  it('does not write a folder over a device, not even one with a single file', async () => {
    const { repo, repository, uploader, folder } = await given('one-file')
    await repository.prepareRepo(repo)
    const [source, target] = [path.join(folder, 'single'), path.join(folder, 'target')]
    await mkdir(source)
    await writeFile(path.join(source, 'file'), 'a file')
    await writeFile(target, 'a device')
    const { snapshotId } = await uploader.runBackup({ path: source, realSource })
    await assert.rejects(uploader.runRestore({ snapshotId, path: target, volumeMode: 'block' }), {
      code: 'INVALID_ARGUMENT',
      message: /is not that of a block volume/,
    })
    assert.equal(await readFile(target, 'utf8'), 'a device')
  })

  it('leaves no snapshot when it is cancelled on the way', async () => {
    const { service, repo, source, repository } = await given('cancel')
    await repository.prepareRepo(repo)
    for (let n = 0; n < 3; n += 1) await writeFile(path.join(source, `big-${n}`), randomBytes(15_000_000))
    const cancelling = new AbortController()
    const cancellingService = kopiaRepoService({
      clock: systemClock,
      async openStorage(...options) {
        const storage = await openRepoStorage(...options)
        const put: typeof storage.put = (id, ...rest) => {
          if (id.startsWith('p')) cancelling.abort()
          return storage.put(id, ...rest)
        }
        return {
          description: storage.description,
          put,
          get: storage.get.bind(storage),
          head: storage.head.bind(storage),
          retain: storage.retain.bind(storage),
          delete: storage.delete.bind(storage),
          list: storage.list.bind(storage),
          [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
        }
      },
    })
    const uploader = unifiedUploaderProvider({ service: cancellingService, repo, requester: 'test' })
    await assert.rejects(uploader.runBackup({ path: source, realSource }, { signal: cancelling.signal }), {
      code: 'CANCELLED',
    })
    await using opened = await service.open(repo)
    assert.deepEqual(await opened.findManifests({ labels: { type: 'snapshot' } }), [])
  })

  it('names a volume that is not there', async () => {
    const { repo, repository, uploader, folder } = await given('absent')
    await repository.prepareRepo(repo)
    await assert.rejects(uploader.runBackup({ path: path.join(folder, 'none'), realSource }), {
      code: 'SOURCE_FAILED',
    })
  })

  it('writes to a log of its own, and the repository to another', async () => {
    const { repo, source, repository, uploader, logs } = await given('logs')
    await repository.prepareRepo(repo)
    await uploader.runBackup({ path: source, realSource })
    assert.ok(logs.uploader.messages.includes('backed up'))
    assert.ok(logs.repository.messages.includes('created repository'))
    assert.ok(!logs.uploader.messages.includes('created repository'))
  })
})
