import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { parseFormatBlob, serializeFormatBlob } from '../../packages/repo/src/format/format-blob.ts'
import { deriveFormatKey } from '../../packages/repo/src/format/key-derivation.ts'
import { seal, unseal } from '../../packages/repo/src/format/sealed-block.ts'
import { systemClock } from '../../packages/repo/src/index.ts'
import { kopiaRepoService, ObjectBackupMode } from '../../packages/repo/src/unified/index.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { compiledSources } from '../../tools/test/compiled-sources.ts'
import { type Ended, ended } from '../cluster/cli-runner.ts'
import { type KopiaStorage, kopiaRepository, kopiaSkip } from './kopia.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')
const skip = await kopiaSkip()
const given = await givenCluster({ s3: true })
const password = 'correct horse'

let root = ''
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'lateen-repo-cli-'))
  await writeFile(path.join(root, 'password'), `${password}\n`)
})
after(() => rm(root, { recursive: true, force: true }))

/** `lateen-repo` with the repository and password of a test. */
type LateenRepo = (...words: string[]) => Promise<Ended>

function lateenRepo(url: string, env: Record<string, string> = {}): LateenRepo {
  const all = { PATH: process.env.PATH ?? '', HOME: root, ...compiledSources, ...env }
  const flags = ['--repo', url, '--password-file', path.join(root, 'password')]
  return (...words) => ended(process.execPath, [launcher, ...words, ...flags], { stdin: '', env: all })
}

function folderRepo(name: string) {
  const folder = path.join(root, name, 'repo')
  return { run: lateenRepo(`file://${folder}`), storage: { path: folder } }
}

async function sourceTree(name: string): Promise<string> {
  const source = path.join(root, name, 'source')
  await mkdir(path.join(source, 'sub/empty'), { recursive: true })
  await writeFile(path.join(source, 'big'), randomBytes(9_000_000))
  await writeFile(path.join(source, 'sub/hello.txt'), 'hello\n')
  await symlink('hello.txt', path.join(source, 'sub/link'))
  return source
}

async function succeed(running: Promise<Ended>): Promise<string> {
  const { status, stdout, stderr } = await running
  assert.equal(status, 0, stderr)
  return stdout
}

async function takeSnapshot(run: LateenRepo, ...words: string[]): Promise<string> {
  const { id } = JSON.parse(await succeed(run('snapshot', ...words, '--json'))) as { id: string }
  assert.match(id, /^[0-9a-f]{32}$/)
  return id
}

async function sameTrees(expected: string, actual: string): Promise<void> {
  const { status, stdout, stderr } = await ended('diff', ['-r', '--no-dereference', expected, actual], {
    stdin: '',
    env: { PATH: process.env.PATH ?? '' },
  })
  assert.equal(status, 0, stdout + stderr)
}

async function createSnapshotRestore(
  t: { after(cleanUp: () => Promise<void>): void },
  { name, run, storage }: { name: string; run: LateenRepo; storage: KopiaStorage },
): Promise<void> {
  const source = await sourceTree(name)
  await succeed(run('create'))
  const first = await takeSnapshot(run, source, '--tag', 'round=1')
  await writeFile(path.join(source, 'more'), 'more')
  const second = await takeSnapshot(run, source)
  const listed = (await succeed(run('list', source))).trimEnd().split('\n')
  assert.deepEqual(
    listed.map(line => line.split(' ', 1)[0]),
    [first, second],
  )
  await succeed(run('restore', second, path.join(root, name, 'restored')))
  await sameTrees(source, path.join(root, name, 'restored'))

  const kopia = await kopiaRepository(t, { storage, connect: true, password })
  await kopia.verify()
  const theirs = await kopia.json<{ id: string; source: { path: string } }[]>(['snapshot', 'list', '--all'])
  assert.deepEqual(new Set(theirs.map(({ id }) => id)), new Set([first, second]))
  await sameTrees(source, await kopia.restore(second))
}

describe('lateen-repo on a folder', { skip }, () => {
  it('creates, takes snapshots, lists and restores, and kopia verifies and restores the same', async t => {
    await createSnapshotRestore(t, { name: 'folder', ...folderRepo('folder') })
  })

  it('shows what is in a snapshot and what differs between two', async () => {
    const { run } = folderRepo('show')
    const source = await sourceTree('show')
    await succeed(run('create'))
    const first = await takeSnapshot(run, source)
    assert.equal(await succeed(run('ls', first)), 'sub/\nbig\n')
    assert.equal(await succeed(run('ls', `${first}/sub`)), 'empty/\nhello.txt\nlink\n')
    assert.equal(
      await succeed(run('ls', first, '--recursive')),
      'sub/\nsub/empty/\nsub/hello.txt\nsub/link\nbig\n',
    )
    assert.equal(await succeed(run('show', `${first}/sub/hello.txt`)), 'hello\n')
    const shown = JSON.parse(await succeed(run('show', first.slice(0, 12), '--json'))) as Record<
      string,
      unknown
    >
    assert.deepEqual(shown.source, {
      host: hostname().toLowerCase(),
      userName: userInfo().username,
      path: source,
    })

    await writeFile(path.join(source, 'sub/hello.txt'), 'hello world\n')
    await rm(path.join(source, 'big'))
    const second = await takeSnapshot(run, source)
    assert.equal(
      await succeed(run('diff', first, second)),
      'M ./ (mtime)\n- big\nM sub/hello.txt (content, mtime)\n',
    )
  })

  it('restores a file, a folder as a tar archive, and leaves what exists alone when told', async () => {
    const { run } = folderRepo('restore')
    const source = await sourceTree('restore')
    await succeed(run('create'))
    const id = await takeSnapshot(run, source)
    const file = path.join(root, 'restore/hello')
    await succeed(run('restore', `${id}/sub/hello.txt`, file))
    assert.equal(await readFile(file, 'utf8'), 'hello\n')
    await writeFile(file, 'mine')
    const kept = await run('restore', `${id}/sub/hello.txt`, file, '--no-overwrite')
    assert.notEqual(kept.status, 0)
    assert.equal(await readFile(file, 'utf8'), 'mine')

    const tar = path.join(root, 'restore/sub.tar')
    const script = `"$0" "$@" > ${tar}`
    const flags = ['--repo', `file://${root}/restore/repo`, '--password-file', path.join(root, 'password')]
    const env = { PATH: process.env.PATH ?? '', HOME: root }
    const shell = ['-c', script, process.execPath, launcher, 'restore', `${id}/sub`, '-', ...flags]
    await succeed(ended('sh', shell, { stdin: '', env }))
    await mkdir(path.join(root, 'restore/untarred'))
    await succeed(ended('tar', ['-xf', tar, '-C', path.join(root, 'restore/untarred')], { stdin: '', env }))
    await sameTrees(path.join(source, 'sub'), path.join(root, 'restore/untarred'))
  })

  it('verifies, and names what is damaged', async () => {
    const { run, storage } = folderRepo('verify')
    const source = await sourceTree('verify')
    await succeed(run('create'))
    const id = await takeSnapshot(run, source)
    assert.match(await succeed(run('verify')), /all good\n$/)
    assert.match(await succeed(run('verify', id, '--percent', '0')), /all good\n$/)
    const blobs = (await succeed(run('blob', 'show', '--prefix', 'p'))).split('  ', 1)
    const name = blobs[0] ?? ''
    const file = path.join(storage.path, 'p', name.slice(1, 4), `${name.slice(4)}.f`)
    const bytes = await readFile(file)
    bytes[5000] = (bytes[5000] ?? 0) ^ 1
    await writeFile(file, bytes)
    const { status, stdout } = await run('verify')
    assert.equal(status, 5)
    assert.ok(stdout.includes(name))
    assert.ok(stdout.includes('big'))
  })

  it('deletes snapshots, plans maintenance without doing it, and maintains', async t => {
    const { run, storage } = folderRepo('maintain')
    const source = await sourceTree('maintain')
    await succeed(run('create'))
    const first = await takeSnapshot(run, source)
    await takeSnapshot(run, source)
    await succeed(run('delete', first))
    assert.equal((await run('delete', first)).status, 6)
    const before = await succeed(run('blob', 'show'))
    assert.match(await succeed(run('maintain', '--full', '--dry-run')), /^full maintenance, planned at/)
    assert.equal(await succeed(run('blob', 'show')), before)
    assert.match(await succeed(run('maintain', '--full')), /full maintenance is done\n$/)
    assert.equal(await succeed(run('maintain')), 'nothing is due\n')
    const kopia = await kopiaRepository(t, { storage, connect: true, password })
    await kopia.verify()
    const refused = await run('maintain', '--full', '--client', 'else@where')
    assert.equal(refused.status, 8)
    assert.match(refused.stderr, /^lateen-repo: .*belongs to .*\n$/)
    await succeed(run('maintain', '--full', '--client', 'else@where', '--take-ownership'))
    const status = JSON.parse(await succeed(run('status', '--json'))) as { maintenanceOwner: string }
    assert.equal(status.maintenanceOwner, 'else@where')
  })

  it('shows contents, blobs and indexes', async () => {
    const { run } = folderRepo('inside')
    const source = await sourceTree('inside')
    await succeed(run('create'))
    await takeSnapshot(run, source)
    const status = JSON.parse(await succeed(run('status', '--json'))) as Record<string, number>
    const contents = (await succeed(run('content', 'show', '--json'))).trimEnd().split('\n')
    assert.equal(contents.length, status.contents)
    const entries = contents.map(line => JSON.parse(line) as { contentId: string; originalLength: number })
    const hello = entries.find(({ originalLength }) => originalLength === 6)
    assert.equal(await succeed(run('content', 'show', hello?.contentId ?? '')), 'hello\n')
    const blobs = (await succeed(run('blob', 'show'))).trimEnd().split('\n')
    assert.equal(blobs.length, status.blobs)
    assert.match(await succeed(run('blob', 'show', 'kopia.repository')), /^\{\n {2}"tool"/)
    const indexes = (await succeed(run('index', 'show'))).trimEnd().split('\n')
    let indexed = 0
    for (const line of indexes) {
      indexed += (await succeed(run('index', 'show', line.split(' ', 1)[0] ?? '')))
        .trimEnd()
        .split('\n').length
    }
    assert.equal(indexed, status.contents)
  })

  it('makes a repository that is ready for Velero', async t => {
    const { run, storage } = folderRepo('velero')
    await succeed(run('create', '--velero'))
    const kopia = await kopiaRepository(t, {
      storage,
      connect: true,
      password,
      username: 'default',
      hostname: 'default',
    })
    const { uniqueIDHex } = await kopia.json<{ uniqueIDHex: string }>(['repository', 'status'])
    const marker = JSON.parse(await readFile(path.join(storage.path, 'udmrepo.Repository.f'), 'utf8')) as {
      uniqueID: string
    }
    assert.equal(Buffer.from(marker.uniqueID, 'base64').toString('hex'), uniqueIDHex)
    const { owner } = await kopia.json<{ owner: string }>(['maintenance', 'info'])
    assert.equal(owner, 'default@default')
  })

  it('works on a repository that kopia made', async t => {
    const kopia = await kopiaRepository(t, { password })
    const source = await sourceTree('theirs')
    const id = await kopia.snapshot(source)
    const run = lateenRepo(`file://${kopia.path}`)
    assert.match(await succeed(run('list')), new RegExp(`^${id} `))
    await succeed(run('restore', id, path.join(root, 'theirs/restored')))
    await sameTrees(source, path.join(root, 'theirs/restored'))
    await takeSnapshot(run, source)
    assert.match(await succeed(run('verify')), /2 snapshots.*all good\n$/)
    await kopia.verify()
  })
})

describe('the unified repository', { skip }, () => {
  it('writes incremental objects that kopia reads', async t => {
    const folder = path.join(root, 'unified/repo')
    const service = kopiaRepoService({ clock: systemClock })
    const options = {
      storageType: 'filesystem',
      repoPassword: password,
      storageOptions: { fspath: folder },
      generalOptions: { splitAlgo: 'DYNAMIC-128K-BUZHASH' },
    } as const
    await service.init(options, { createNew: true })
    const text = randomBytes(600_000).toString('hex')
    await using repo = await service.open(options)
    await using parent = repo.newObjectWriter()
    await parent.write(Buffer.from(text))
    const parentObject = await parent.result()
    await using writer = repo.newObjectWriter({ backupMode: ObjectBackupMode.incremental, parentObject })
    await writer.seek(700_001)
    await writer.write(Buffer.from('changed'))
    await writer.seek(text.length)
    const id = await writer.result()
    await repo.flush()
    const kopia = await kopiaRepository(t, {
      storage: { path: folder },
      connect: true,
      readonly: true,
      password,
    })
    assert.equal(await kopia.kopia(['show', id]), `${text.slice(0, 700_001)}changed${text.slice(700_008)}`)
    await kopia.kopia(['content', 'verify', '--full'])
  })
})

describe('lateen-repo on S3', { skip: skip || given.skip }, () => {
  it('creates, takes snapshots, lists and restores, and kopia verifies and restores the same', async t => {
    const { s3 } = given.cluster
    const prefix = `repo-cli-${randomBytes(4).toString('hex')}/`
    const run = lateenRepo(`s3://${s3.bucket}/${prefix}`, {
      AWS_ENDPOINT_URL: s3.endpoint,
      AWS_REGION: s3.region,
      AWS_ACCESS_KEY_ID: s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    })
    await createSnapshotRestore(t, { name: 's3', run, storage: { ...s3, prefix } })
    assert.match(await succeed(run('verify')), /all good\n$/)
  })
})

describe('lateen-repo that cannot go on', () => {
  const expectFailure = async (running: Promise<Ended>, code: number, message: RegExp) => {
    const { status, stdout, stderr } = await running
    assert.deepEqual([status, stdout], [code, ''])
    assert.match(stderr, /^lateen-repo: [^\n]+\n$/)
    assert.match(stderr, message)
  }

  it('says so in one line with an exit code of its own', async () => {
    const { run } = folderRepo('errors')
    await expectFailure(run('list'), 3, /no repository/i)
    await succeed(run('create'))
    await expectFailure(run('create'), 1, /errors\/repo/)
    await expectFailure(run('show', 'ffff'), 6, /"ffff"/)
    await expectFailure(run('content', 'show', 'zz!'), 2, /content id/)
    await expectFailure(run('snapshot', path.join(root, 'errors/none')), 1, /errors\/none/)
    await expectFailure(run('snapshot', root, '--parallel', 'many'), 2, /--parallel many/)
    const env = { PATH: process.env.PATH ?? '', HOME: root, WRONG: 'battery staple' }
    const wrong = [launcher, 'list', '--repo', `file://${root}/errors/repo`, '--password-env', 'WRONG']
    await expectFailure(ended(process.execPath, wrong, { stdin: '', env }), 4, /password/)
  })

  it('names what is no repository, and a format of a later version', async () => {
    const { run, storage } = folderRepo('later')
    await succeed(run('create'))
    const file = path.join(storage.path, 'kopia.repository.f')
    const bytes = await readFile(file)
    await writeFile(file, await ofVersion(bytes, 4))
    await expectFailure(run('list'), 3, /format version 4.*(newer|later|upgrade|version)/i)
    await writeFile(file, 'a letter to grandmother')
    await expectFailure(run('list'), 3, /something else than a repository/)
    await writeFile(file, bytes)
    await succeed(run('list'))
  })

  it('asks for no password where there is no terminal', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: root, LATEEN_REPO: `file://${root}/errors/repo` }
    await expectFailure(ended(process.execPath, [launcher, 'list'], { stdin: 'x\n', env }), 2, /no terminal/)
  })

  it('asks on a terminal without showing what is typed', async t => {
    const { run, storage } = folderRepo('terminal')
    await succeed(run('create'))
    const command = `'${process.execPath}' '${launcher}' status --repo 'file://${storage.path}'`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH ?? '', HOME: root },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    if (!(await started(child))) return t.skip('no script(1) to make a terminal')
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (shown === '') child.stdin.write(`${password}\r`)
      shown += text
    })
    const [status] = (await once(child, 'close')) as [number | null]
    assert.equal(status, 0, shown)
    assert.match(shown, /^Password: \r\n.*snapshots: +0\r\n/s)
    assert.ok(!shown.includes(password))
  })

  it('ends on a signal without a snapshot, and the next one succeeds', async () => {
    const { run, storage } = folderRepo('signal')
    const source = await sourceTree('signal')
    for (let n = 0; n < 5; n += 1) await writeFile(path.join(source, `file-${n}`), randomBytes(15_000_000))
    // Takes no space, and so long to read that the signal does not come too late.
    const hole = path.join(source, 'hole')
    await writeFile(hole, '')
    await truncate(hole, 64 * 2 ** 30)
    await succeed(run('create'))
    const flags = ['--repo', `file://${storage.path}`, '--password-file', path.join(root, 'password')]
    const child = spawn(process.execPath, [launcher, 'snapshot', source, ...flags], {
      env: { PATH: process.env.PATH ?? '', HOME: root },
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    while (!existsSync(path.join(storage.path, 'p')) && child.exitCode === null) await delay(2)
    child.kill('SIGINT')
    const [status] = (await exited) as [number | null]
    assert.equal(status, 130)
    assert.equal(await succeed(run('list')), '')
    await rm(hole)
    await takeSnapshot(run, source)
    assert.match(await succeed(run('verify')), /all good\n$/)
  })
})

/** The format blob of a repository with another format version in it. */
async function ofVersion(bytes: Uint8Array, version: number): Promise<Uint8Array> {
  const blob = parseFormatBlob(bytes)
  const { uniqueId, keyAlgorithm } = blob
  const key = { formatKey: await deriveFormatKey(password, uniqueId, keyAlgorithm), uniqueId }
  const text = Buffer.from(unseal(blob.block, key)).toString()
  assert.match(text, /"version":3/)
  const later = Buffer.from(text.replace('"version":3', `"version":${version}`))
  return serializeFormatBlob({ ...blob, block: seal(later, key, randomBytes(12)) })
}

function started(child: ChildProcess): Promise<boolean> {
  return new Promise(resolve => {
    child.once('spawn', () => resolve(true))
    child.once('error', () => resolve(false))
  })
}
