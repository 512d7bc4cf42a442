import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { parseTar } from '../../../../../tools/image/tar.ts'
import { createArchive } from './create-archive.ts'

const modified = Date.UTC(2025, 0, 2, 3, 4, 5, 600)
const oddNames = [
  'resources/clusterroles.rbac.authorization.k8s.io/cluster/system:node é 😀.json',
  `resources/${'x'.repeat(60)}/cluster/${'y'.repeat(90)}.json`,
  `resources/configmaps/namespaces/${'n'.repeat(63)}/${'m'.repeat(253)}.json`,
  `resources/${'g'.repeat(180)}/cluster/a.json`,
  `a/${'s'.repeat(98)}`,
  `b/${'t'.repeat(99)}`,
  'resources/roles/cluster/with space and "quotes".json',
]

async function entriesOf(file: string) {
  const entries = parseTar(gunzipSync(await readFile(file)))
  return entries.map(({ path: name, mode, type, mtime, content }) => ({
    name,
    mode,
    type,
    mtime,
    text: Buffer.from(content).toString(),
  }))
}

describe('An archive', () => {
  let scratch: string
  before(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'lateen-archive-'))
  })
  after(() => rm(scratch, { recursive: true }))
  const begin = (signal = new AbortController().signal) => createArchive({ scratch, modified, signal })

  it('begins with the version of its layout, and holds entries in the order they were added', async () => {
    await using archive = await begin()
    await archive.add('resources/pods/namespaces/a/b.json', Buffer.from('{"x":1}'))
    await archive.add('resources/empty.json', new Uint8Array())
    const { path: file, bytes } = await archive.finish()
    assert.deepEqual(await entriesOf(file), [
      { name: 'metadata/version', mode: 0o755, type: 'file', mtime: 1735787045, text: '1.1.0\n' },
      {
        name: 'resources/pods/namespaces/a/b.json',
        mode: 0o755,
        type: 'file',
        mtime: 1735787045,
        text: '{"x":1}',
      },
      { name: 'resources/empty.json', mode: 0o755, type: 'file', mtime: 1735787045, text: '' },
    ])
    assert.equal((await stat(file)).size, bytes)
  })

  it('keeps names that are long or odd', async () => {
    await using archive = await begin()
    for (const name of oddNames) await archive.add(name, Buffer.from(name))
    const { path: file } = await archive.finish()
    const [, ...entries] = await entriesOf(file)
    assert.deepEqual(
      entries.map(({ name, text }) => [name, text]),
      oddNames.map(name => [name, name]),
    )
  })

  it('never mixes entries that come from several places at once', async () => {
    await using archive = await begin()
    const bodies = new Map<string, string>()
    const add = async (worker: number) => {
      for (let number = 0; number < 60; number++) {
        const name = `${worker}/${number}`
        const body = `${name},`.repeat(1 + ((worker * 7919 + number * 104729) % 20_000))
        bodies.set(name, body)
        await archive.add(name, Buffer.from(body))
      }
    }
    await Promise.all([0, 1, 2, 3, 4].map(add))
    const [, ...entries] = await entriesOf((await archive.finish()).path)
    assert.equal(entries.length, bodies.size)
    for (const { name, text } of entries) assert.ok(bodies.get(name) === text, name)
  })

  it('is the same for the same entries, and can be read as often as wanted', async () => {
    const write = async () => {
      await using archive = await begin()
      for (let number = 0; number < 2000; number++)
        await archive.add(`e/${number}`, Buffer.alloc(600, `${number}`))
      const finished = await archive.finish()
      const [first, second] = await Promise.all([0, 1].map(() => Array.fromAsync(finished.open())))
      assert.deepEqual(Buffer.concat(first!), Buffer.concat(second!))
      assert.deepEqual(Buffer.concat(first!), await readFile(finished.path))
      return Buffer.concat(first!)
    }
    assert.deepEqual(await write(), await write())
  })

  it('ends with two blocks of zeros and holds an object of several megabytes', async () => {
    await using archive = await begin()
    const large = Buffer.alloc(3_500_000, '{"a":"b"},')
    await archive.add('large', large)
    const tar = gunzipSync(await readFile((await archive.finish()).path))
    assert.ok(tar.subarray(-1024).every(byte => byte === 0))
    assert.equal(tar.length % 512, 0)
    assert.ok(tar.subarray(3 * 512).includes(large))
  })

  it('takes nothing after its end', async () => {
    await using archive = await begin()
    await archive.finish()
    await assert.rejects(archive.add('late', new Uint8Array()), TypeError)
  })

  it('leaves nothing in scratch, finished or not', async () => {
    for (const finish of [true, false]) {
      await using archive = await begin()
      await archive.add('a', Buffer.alloc(1_000_000))
      if (finish) await archive.finish()
      await archive[Symbol.asyncDispose]()
      assert.deepEqual(await readdir(scratch), [])
    }
  })

  it('ends with the reason of its signal', async () => {
    const abort = new AbortController()
    await using archive = await begin(abort.signal)
    const reason = new Error('stopped')
    abort.abort(reason)
    await assert.rejects(archive.add('a', new Uint8Array()), reason)
    await assert.rejects(archive.finish(), reason)
  })

  it('names the file when scratch is not there', async () => {
    const gone = createArchive({
      scratch: path.join(scratch, 'gone'),
      modified,
      signal: new AbortController().signal,
    })
    await assert.rejects(gone, { name: 'ScratchError', code: 'SCRATCH_FAILED', message: /contents\.tar\.gz/ })
  })
})
