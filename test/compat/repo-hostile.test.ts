/** Snapshots that somebody forged, through the command that people use: they are contained, and the rest of them restores. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { createRepository, type RepositoryWriter } from '../../packages/repo/src/repository.ts'
import type { DirectoryEntry } from '../../packages/repo/src/snapshot/directory.ts'
import {
  emptyStats,
  snapshotLabels,
  snapshotPayload,
} from '../../packages/repo/src/snapshot/snapshot-manifest.ts'
import {
  storeDirectory,
  storeFile,
  storeSymlink,
} from '../../packages/repo/src/snapshot/testing/store-entries.ts'
import { type Ended, ended } from '../cluster/cli-runner.ts'
import { kopiaRepository, kopiaSkip } from './kopia.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')
const password = 'static-passw0rd'
const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
const levels = 10_000
const badNames = ['..', '/tmp/lateen-planted', '../planted', 'a/../../planted', 'x\u001b[2Jy', '']

let root = ''
let ids: { forged: string; deep: string }
const storage = () => path.join(root, 'repository')

before(async () => {
  // Trees of thousands of levels are made and removed; in memory that takes a fraction of the time.
  root = await mkdtemp(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'lateen-hostile-'))
  writeFileSync(path.join(root, 'password'), password)
  await using repository = await createRepository({
    storage: await openFilesystemStorage({ path: storage(), create: true }),
    password,
  })
  ids = await repository.writing({}, async writer => ({
    forged: await save(writer, '/forged', await forgedTree(writer)),
    deep: await save(writer, '/deep', await deepTree(writer)),
  }))
})
// Folders as deep as these have no path that Node could remove them by.
after(() => execFileSync('rm', ['-rf', root]))

function save({ manifests }: RepositoryWriter, name: string, rootEntry: DirectoryEntry): Promise<string> {
  const now = BigInt(Date.now()) * 1_000_000n
  const snapshot = {
    ...{ id: '', source: { host: 'testhost', userName: 'tester', path: name }, description: '' },
    ...{ startTime: now, endTime: now, stats: emptyStats(), rootEntry, tags: {}, pins: [] },
  }
  return manifests.put(snapshotLabels(snapshot), snapshotPayload(snapshot))
}

/** Names that lead out, a symlink that leads out with a folder of its name, and two honest entries. */
async function forgedTree({ objects }: RepositoryWriter): Promise<DirectoryEntry> {
  const planted = await storeFile(objects, 'planted', { data: 'planted', ...me })
  const entries: DirectoryEntry[] = []
  for (const name of badNames) {
    entries.push(await storeDirectory(objects, name, { entries: [planted], ...me }))
    entries.push(await storeFile(objects, name, { data: 'planted', ...me }))
  }
  entries.push(await storeSymlink(objects, 'link', { target: path.join(root, 'outside'), ...me }))
  entries.push(await storeDirectory(objects, 'link', { entries: [planted], ...me }))
  entries.push(await storeFile(objects, 'honest', { data: 'honest', ...me }))
  entries.push(await storeDirectory(objects, 'folder', { entries: [planted], ...me }))
  return storeDirectory(objects, '', { entries, ...me })
}

async function deepTree({ objects }: RepositoryWriter): Promise<DirectoryEntry> {
  let entry = await storeFile(objects, 'deepest', { data: 'down here', ...me })
  for (let level = 0; level < levels; level += 1)
    entry = await storeDirectory(objects, level === levels - 1 ? '' : 'd', { entries: [entry], ...me })
  return entry
}

function run(...words: string[]): Promise<Ended> {
  const flags = ['--repo', `file://${storage()}`, '--password-file', path.join(root, 'password')]
  const env = { PATH: process.env.PATH ?? '', HOME: root }
  return ended(process.execPath, [launcher, ...words, ...flags], { stdin: '', env })
}

/** The folder around a target with something to protect, and what is in it besides the target afterwards. */
function surroundings(): { target: string; left: () => string[] } {
  const around = path.join(root, 'around')
  mkdirSync(path.join(root, 'outside'), { recursive: true })
  mkdirSync(around)
  const target = path.join(around, 'target')
  mkdirSync(target)
  symlinkSync(path.join(root, 'outside'), path.join(target, 'folder'))
  return {
    target,
    left: () =>
      [...readdirSync(around), ...readdirSync(path.join(root, 'outside'))].filter(name => name !== 'target'),
  }
}

describe('lateen-repo with a forged snapshot', () => {
  it('restores what is honest, names what is not, and writes nothing outside the target', async () => {
    const { target, left } = surroundings()
    const { status, stderr } = await run('restore', ids.forged, target)
    assert.equal(status, 7, stderr)
    assert.equal(readFileSync(path.join(target, 'honest'), 'utf8'), 'honest')
    assert.ok(lstatSync(path.join(target, 'folder')).isDirectory())
    assert.equal(readFileSync(path.join(target, 'folder', 'planted'), 'utf8'), 'planted')
    assert.deepEqual(left(), [])
    assert.ok(!existsSync('/tmp/lateen-planted'))
    assert.match(stderr, /"\.\."/)
    assert.ok(!stderr.includes('\u001b'), 'no name commands the terminal')
  })

  it('lists it, and gives a tar archive without the names that lead out', async () => {
    const listed = await run('ls', ids.forged)
    assert.ok(!listed.stdout.includes('\u001b') && !listed.stderr.includes('\u001b'))
    const archive = path.join(root, 'archive.tar')
    const shell = `'${process.execPath}' '${launcher}' restore ${ids.forged} - --repo 'file://${storage()}' --password-file '${root}/password' > '${archive}'`
    const { status } = await ended('sh', ['-c', shell], { stdin: '', env: { PATH: process.env.PATH ?? '' } })
    assert.notEqual(status, 0)
    const names = execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).trim().split('\n')
    assert.ok(names.some(name => name.endsWith('honest')))
    for (const name of names) assert.ok(!/(^|\/)\.\.(\/|$)|^\//.test(name), name)
  })
})

describe(`a snapshot ${levels} levels deep`, { skip: await kopiaSkip() }, () => {
  it('is verified, kept by maintenance and restored', async t => {
    const verified = await run('verify', ids.deep, '--json')
    assert.equal(verified.status, 0, verified.stderr)
    const maintained = await run('maintain', '--full', '--take-ownership')
    assert.equal(maintained.status, 0, maintained.stderr)
    const target = path.join(root, 'deep')
    const restored = await run('restore', ids.deep, target)
    assert.equal(restored.status, 0, restored.stderr)
    const found = execFileSync('find', [target, '-name', 'deepest', '-printf', '%d'], { encoding: 'utf8' })
    assert.equal(found, `${levels}`)
    const kopia = await kopiaRepository(t, { storage: { path: storage() }, connect: true, password })
    await kopia.kopia(['content', 'verify', '--full'])
  })
})
