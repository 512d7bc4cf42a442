import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { listSnapshots, openFilesystemStorage, openRepository } from '../../packages/repo/src/index.ts'
import { type Ended, ended } from '../cluster/cli-runner.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')

interface Given {
  kopia: KopiaRepository
  /** Snapshots and the folders that they hold. */
  snapshots: ReadonlyMap<string, string>
  run: (...words: string[]) => Promise<Ended>
}

function sourceTree(folder: string, name: string): string {
  const source = path.join(folder, name)
  mkdirSync(path.join(source, 'sub/empty'), { recursive: true })
  writeFileSync(path.join(source, 'text'), `${name}\n`.repeat(20_000))
  writeFileSync(path.join(source, 'sub/small'), name)
  return source
}

async function lateenRepo({ path: folder, scratch, password }: KopiaRepository): Promise<Given['run']> {
  const passwordFile = path.join(scratch, 'password')
  await writeFile(passwordFile, password)
  const flags = ['--repo', `file://${folder}`, '--password-file', passwordFile, '--client', 'tester@testhost']
  const env = { PATH: process.env.PATH ?? '', HOME: scratch }
  return (...words) => ended(process.execPath, [launcher, ...words, ...flags], { stdin: '', env })
}

/** A repository that kopia made, with two snapshots of kopia's and one of ours. */
async function given(t: TestContext, createFlags: readonly string[] = []): Promise<Given> {
  const kopia = await kopiaRepository(t, { createFlags })
  const run = await lateenRepo(kopia)
  const snapshots = new Map<string, string>()
  for (const name of ['first', 'second']) {
    const source = sourceTree(kopia.scratch, name)
    snapshots.set(await kopia.snapshot(source), source)
  }
  if (!createFlags.includes('--format-version=1')) {
    const source = sourceTree(kopia.scratch, 'ours')
    const { status, stdout, stderr } = await run('snapshot', source, '--json')
    assert.equal(status, 0, stderr)
    snapshots.set((JSON.parse(stdout) as { id: string }).id, source)
  }
  return { kopia, snapshots, run }
}

function indexFiles({ path: folder }: KopiaRepository): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.f'))
  const blobs = files.map((file): [string, string] => [
    file.replaceAll('/', '').slice(0, -2),
    path.join(folder, file),
  ])
  return new Map(blobs.filter(([name]) => /^(xn|n[0-9a-f]{32}-s)/.test(name)))
}

function flipBit(file: string): () => void {
  const bytes = readFileSync(file)
  const damaged = Buffer.from(bytes)
  damaged[30] = (damaged[30] ?? 0) ^ 8
  writeFileSync(file, damaged)
  return () => writeFileSync(file, bytes)
}

async function sameTrees(expected: string, actual: string): Promise<void> {
  const diff = ['-r', '--no-dereference', expected, actual]
  const { status, stdout } = await ended('diff', diff, { stdin: '', env: { PATH: process.env.PATH ?? '' } })
  assert.equal(status, 0, stdout)
}

async function assertReadable({ kopia, snapshots, run }: Given): Promise<void> {
  const listed = await run('list', '--rebuild-indexes')
  assert.equal(listed.status, 0, listed.stderr)
  assert.deepEqual(
    new Set(
      listed.stdout
        .trimEnd()
        .split('\n')
        .map(line => line.split(' ', 1)[0]),
    ),
    new Set(snapshots.keys()),
  )
  for (const [id, source] of snapshots) {
    const target = path.join(kopia.scratch, `restored-${id}-${readdirSync(kopia.scratch).length}`)
    const { status, stderr } = await run('restore', id, target, '--rebuild-indexes')
    assert.equal(status, 0, stderr)
    await sameTrees(source, target)
  }
}

describe('a repository with a damaged index blob', { skip: await kopiaSkip() }, () => {
  it('says which blob and what to do, is read from its packs, and after a repair is good for kopia too', async t => {
    const { kopia, snapshots, run } = await given(t)
    const files = [...indexFiles(kopia)]
    assert.ok(files.length >= 3)
    const [name, file] = files.at(-1) ?? assert.fail('no index')
    flipBit(file)

    const refused = await run('list')
    assert.equal(refused.status, 5)
    assert.match(
      refused.stderr,
      new RegExp(`^lateen-repo: .*${name} is damaged.*--rebuild-indexes.*index repair.*\n$`),
    )
    await assertReadable({ kopia, snapshots, run })
    const verified = await run('verify')
    assert.equal(verified.status, 5)
    assert.ok(verified.stdout.includes(name))
    // Without the cache that kopia has from its own snapshots.
    const connect = { storage: kopia.storage, connect: true, password: kopia.password }
    await assert.rejects(kopiaRepository(t, connect), new RegExp(name))

    const repaired = await run('index', 'repair')
    assert.equal(repaired.status, 0, repaired.stderr)
    assert.ok(repaired.stdout.includes(name))
    assert.match((await run('verify')).stdout, /all good\n$/)
    const fresh = await kopiaRepository(t, connect)
    await fresh.verify()
    for (const [id, source] of snapshots) await sameTrees(source, await fresh.restore(id))
    assert.equal((await run('index', 'repair')).stdout, 'no index blob is damaged\n')
  })

  it('is read from its packs whichever it is, all of them too', async t => {
    const { kopia, snapshots, run } = await given(t)
    const undo = [...indexFiles(kopia).values()].map(flipBit)
    await assertReadable({ kopia, snapshots, run })
    for (const restore of undo) restore()
    for (const [name, file] of indexFiles(kopia)) {
      const restore = flipBit(file)
      const rebuilt: string[] = []
      const storage = await openFilesystemStorage({ path: kopia.path })
      const { password } = kopia
      await using repository = await openRepository({
        ...{ storage, password },
        onRebuiltIndex: ({ blobId }) => rebuilt.push(blobId),
      })
      const listed = await listSnapshots(repository.manifests)
      assert.equal(listed.snapshots.length, snapshots.size)
      assert.deepEqual(rebuilt, [name])
      restore()
    }
  })

  it('of format 1 is read from its packs, and not written', async t => {
    const { kopia, snapshots, run } = await given(t, ['--format-version=1'])
    const [[name, file] = assert.fail('no index')] = indexFiles(kopia)
    flipBit(file)
    const refused = await run('list')
    assert.deepEqual([refused.status, refused.stderr.includes(name)], [5, true])
    await assertReadable({ kopia, snapshots, run })
    const repair = await run('index', 'repair')
    assert.equal(repair.status, 3)
    assert.match(repair.stderr, /format version 1/)
  })
})
