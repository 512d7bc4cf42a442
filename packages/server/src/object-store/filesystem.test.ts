import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'
import { objectStoreConformance } from '@lateen/plugin/object-store-conformance'
import { FilesystemStore } from './filesystem.ts'
import { createSignedDownloads, type SignedDownloads } from './signed-downloads.ts'

const clock = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal && { signal }),
}

function downloads(publicUrl = 'http://unused.invalid'): SignedDownloads {
  return createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: () => publicUrl })
}

function newStore(overrides: { now?: number; downloads?: SignedDownloads } = {}): FilesystemStore {
  const { now } = overrides
  return new FilesystemStore({
    clock: now === undefined ? clock : { ...clock, now: () => now },
    randomName: () => randomBytes(8).toString('hex'),
    downloads: overrides.downloads ?? downloads(),
  })
}

objectStoreConformance({
  name: 'filesystem, in a temporary folder',
  async open() {
    const path = await mkdtemp(join(tmpdir(), 'lateen-store-'))
    await mkdir(join(path, 'bucket'))
    let links: SignedDownloads | undefined
    const server = createServer(
      { keepAliveTimeout: 600_000 },
      (request, response) => void links?.handle(request, response),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    links = downloads(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const store = newStore({ downloads: links })
    await store.init({ config: { path, bucket: 'bucket', prefix: '' } })
    const close = async () => {
      server.closeAllConnections()
      server.close()
      await rm(path, { recursive: true })
    }
    return { store, bucket: 'bucket', missingBucket: 'no-such-bucket', close }
  },
})

describe('the filesystem store', () => {
  let path = ''
  before(async () => {
    path = await mkdtemp(join(tmpdir(), 'lateen-faults-'))
  })
  after(() => rm(path, { recursive: true }))

  const systemFolders = [
    { path: '/', bucket: 'etc', prefix: '' },
    { path: '/etc', bucket: 'ssl', prefix: '' },
    { path: '/proc', bucket: 'self', prefix: '' },
    { path: '/', bucket: 'var', prefix: 'run/secrets/kubernetes.io/serviceaccount' },
    { path: '/tmp/../proc/self', bucket: 'fd', prefix: '' },
    { path: '/proc/self/root', bucket: 'etc', prefix: '' },
  ]
  for (const config of systemFolders) {
    it(`refuses ${config.path} with the bucket ${config.bucket} and ${config.prefix || 'no prefix'}`, () =>
      assert.rejects(newStore().init({ config, accessMode: 'ReadOnly' }), {
        code: 'INVALID_CONFIG',
        message: /is a folder of the system, where no location may be/,
      }))
  }

  it('refuses a path that leads to a system folder by a link', async () => {
    await symlink('/etc', join(path, 'innocent'))
    await assert.rejects(newStore().init({ config: { path: join(path, 'innocent'), bucket: 'ssl' } }), {
      code: 'INVALID_CONFIG',
    })
  })

  async function root(name: string): Promise<string> {
    const folder = join(path, name)
    await mkdir(join(folder, 'b'), { recursive: true })
    return folder
  }

  async function openedStore(folder: string, now?: number): Promise<FilesystemStore> {
    const store = newStore(now === undefined ? {} : { now })
    await store.init({ config: { path: folder, bucket: 'b' } })
    return store
  }

  async function failsWith(
    code: ObjectStoreErrorCode,
    action: Promise<unknown>,
    ...says: (string | RegExp)[]
  ) {
    await assert.rejects(action, (error: unknown) => {
      assert.ok(isObjectStoreError(error), String(error))
      assert.equal(error.code, code, error.message)
      for (const part of says) {
        if (typeof part === 'string')
          assert.ok(error.message.includes(part), `${error.message} lacks ${part}`)
        else assert.match(error.message, part)
      }
      return true
    })
  }

  it('says that a path is missing, relative, unset or a file, and what to do', async () => {
    const file = join(path, 'a-file')
    await writeFile(file, '')
    const init = (config: Record<string, string>) => newStore().init({ config: { bucket: 'b', ...config } })
    await failsWith('INVALID_CONFIG', init({}), 'config.path is missing', /Set config\.path/)
    await failsWith('INVALID_CONFIG', init({ path: 'rel' }), '"rel" is not an absolute path')
    await failsWith(
      'INVALID_CONFIG',
      init({ path: `${path}/none` }),
      `${path}/none does not exist`,
      /Mount or create/,
    )
    await failsWith('INVALID_CONFIG', init({ path: file }), `${file} is a file`, /correct config\.path/)
    await failsWith('INVALID_CONFIG', init({ path: `${file}/x` }), `${file}/x does not exist`)
  })

  it('names unknown settings and malformed ones', async () => {
    const folder = await root('settings')
    const init = (config: Record<string, string>) => newStore().init({ config: { path: folder, ...config } })
    await failsWith(
      'INVALID_CONFIG',
      init({ s3Url: 'x', region: 'y' }),
      '"region", "s3Url"',
      'createBucket, path, publicUrl',
    )
    await failsWith('INVALID_CONFIG', init({ publicUrl: 'ftp://x' }), 'config.publicUrl "ftp://x"')
    await failsWith('INVALID_CONFIG', init({ createBucket: 'yes' }), 'config.createBucket is "yes"')
  })

  it('does not make a missing bucket unless told to', async () => {
    const folder = await root('buckets')
    const init = (config: Record<string, string>) => newStore().init({ config: { path: folder, ...config } })
    await failsWith('NO_BUCKET', init({ bucket: 'new' }), '"new" is no folder in', `mkdir ${folder}/new`)
    await init({ bucket: 'new', createBucket: 'true' })
    await init({ bucket: 'new' })
    await failsWith('UNSAFE_KEY', init({ bucket: '..', createBucket: 'true' }))
    await failsWith('UNSAFE_KEY', init({ bucket: 'a/b', createBucket: 'true' }))
  })

  it('refuses a folder it may not write to, but reads it in read-only mode', { skip: asRoot() }, async () => {
    const folder = await root('read-only')
    await chmod(join(folder, 'b'), 0o555)
    const config = { path: folder, bucket: 'b' }
    await failsWith(
      'ACCESS_DENIED',
      newStore().init({ config }),
      `cannot write to ${folder}/b`,
      /Give the server's user/,
    )
    await newStore().init({ config, accessMode: 'ReadOnly' })
    await chmod(join(folder, 'b'), 0o755)
  })

  it('accepts a root that is itself a link', async () => {
    const folder = await root('linked-root')
    await symlink(folder, join(path, 'link-to-root'))
    const store = await openedStore(join(path, 'link-to-root'))
    await store.putObject({ bucket: 'b', key: 'k', body: Buffer.from('x') })
    assert.equal(await readFile(join(folder, 'b', 'k'), 'utf8'), 'x')
  })

  describe('meeting a symbolic link below its root', () => {
    async function withLink(name: string): Promise<{ store: FilesystemStore; outside: string }> {
      const folder = await root(name)
      const outside = join(path, `${name}-outside`)
      await mkdir(outside)
      await writeFile(join(outside, 'secret'), 'secret')
      await symlink(outside, join(folder, 'b', 'folder'))
      await symlink(join(outside, 'secret'), join(folder, 'b', 'object'))
      return { store: await openedStore(folder), outside }
    }

    it('does not read through it', async () => {
      const { store } = await withLink('read')
      const why = 'is a symbolic link'
      await failsWith('UNSAFE_KEY', store.getObject({ bucket: 'b', key: 'folder/secret' }), why, '/b/folder')
      await failsWith('UNSAFE_KEY', store.getObject({ bucket: 'b', key: 'object' }), why, '/b/object')
      await failsWith('UNSAFE_KEY', store.objectExists({ bucket: 'b', key: 'folder/secret' }), why)
    })

    it('does not write or delete through it', async () => {
      const { store, outside } = await withLink('write')
      await failsWith(
        'UNSAFE_KEY',
        store.putObject({ bucket: 'b', key: 'folder/new', body: Buffer.from('x') }),
      )
      await failsWith('UNSAFE_KEY', store.deleteObject({ bucket: 'b', key: 'folder/secret' }))
      assert.deepEqual(await readdir(outside), ['secret'])
    })

    it('does not list through it, and says so instead of hiding it', async () => {
      const { store } = await withLink('list')
      const objects = (prefix: string) => Array.fromAsync(store.listObjects({ bucket: 'b', prefix }))
      await failsWith('UNSAFE_KEY', objects(''), 'is a symbolic link')
      await failsWith('UNSAFE_KEY', objects('folder/'), 'is a symbolic link')
      const folders = Array.fromAsync(store.listCommonPrefixes({ bucket: 'b', prefix: '', delimiter: '/' }))
      await failsWith('UNSAFE_KEY', folders, 'is a symbolic link')
    })

    it('does not take it for a bucket', async () => {
      const folder = await root('bucket-link')
      await symlink(path, join(folder, 'linked'))
      await failsWith(
        'UNSAFE_KEY',
        newStore().init({ config: { path: folder, bucket: 'linked' } }),
        'is a symbolic link',
      )
    })
  })

  it('refuses a key that leads through an object, or to a folder of objects', async () => {
    const store = await openedStore(await root('through'))
    const put = (key: string) => store.putObject({ bucket: 'b', key, body: Buffer.from('x') })
    await put('a/object')
    await failsWith('UNSAFE_KEY', put('a/object/below'), 'is an object')
    await failsWith('UNSAFE_KEY', put('a'), 'is a folder of other objects')
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket: 'b', prefix: '' })), ['a/object'])
  })

  it('puts an object in the place of a folder that holds none', async () => {
    const folder = await root('empty-folder')
    const store = await openedStore(folder)
    await mkdir(join(folder, 'b', 'k'))
    await store.putObject({ bucket: 'b', key: 'k', body: Buffer.from('x') })
    assert.equal(await text(await store.getObject({ bucket: 'b', key: 'k' })), 'x')
  })

  it('removes the folders that a delete leaves empty, up to the bucket and no further', async () => {
    const folder = await root('pruned')
    const store = await openedStore(folder)
    await store.putObject({ bucket: 'b', key: 'x/y/z/k', body: Buffer.from('x') })
    await store.putObject({ bucket: 'b', key: 'x/other', body: Buffer.from('x') })
    await store.deleteObject({ bucket: 'b', key: 'x/y/z/k' })
    assert.deepEqual(await readdir(join(folder, 'b', 'x')), ['other'])
    await store.deleteObject({ bucket: 'b', key: 'x/other' })
    assert.deepEqual(await readdir(join(folder, 'b')), ['metadata'], 'which holds unfinished puts')
  })

  it('hides what interrupted puts left, refuses keys there, and sweeps it after a day', async () => {
    const folder = await root('swept')
    const store = await openedStore(folder)
    await store.putObject({ bucket: 'b', key: 'k', body: Buffer.from('x') })
    const incoming = join(folder, 'b', 'metadata', '.lateen-incoming')
    await writeFile(join(incoming, 'old'), 'half')
    await utimes(join(incoming, 'old'), new Date(0), new Date(0))
    await writeFile(join(incoming, 'new'), 'half')
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket: 'b', prefix: '' })), ['k'])
    const prefixes = store.listCommonPrefixes({ bucket: 'b', prefix: '', delimiter: '/' })
    assert.deepEqual(await Array.fromAsync(prefixes), [])
    await failsWith(
      'UNSAFE_KEY',
      store.getObject({ bucket: 'b', key: 'metadata/.lateen-incoming/new' }),
      'reserved',
    )
    await openedStore(folder)
    assert.deepEqual(await readdir(incoming), ['new'])
    await openedStore(folder, Date.now() + 25 * 60 * 60 * 1000)
    assert.deepEqual(await readdir(incoming), [])
  })

  it('does not take an empty folder for a common prefix', async () => {
    const folder = await root('empty')
    const store = await openedStore(folder)
    await mkdir(join(folder, 'b', 'one', 'two'), { recursive: true })
    const prefixes = () =>
      Array.fromAsync(store.listCommonPrefixes({ bucket: 'b', prefix: '', delimiter: '/' }))
    assert.deepEqual(await prefixes(), [])
    await store.putObject({ bucket: 'b', key: 'one/two/k', body: Buffer.from('x') })
    assert.deepEqual(await prefixes(), ['one/'])
  })

  it('lists common prefixes by another delimiter than the slash', async () => {
    const store = await openedStore(await root('delimiter'))
    for (const key of ['a-1', 'a-2', 'a/b-1', 'c'])
      await store.putObject({ bucket: 'b', key, body: Buffer.from('') })
    const prefixes = store.listCommonPrefixes({ bucket: 'b', prefix: 'a', delimiter: '-' })
    assert.deepEqual(await Array.fromAsync(prefixes), ['a-', 'a/b-'])
  })

  it('leaves no trace of a put whose body fails', async () => {
    const folder = await root('no-trace')
    const store = await openedStore(folder)
    async function* body() {
      yield randomBytes(10)
      throw new Error('the source broke')
    }
    await failsWith('ABORTED', store.putObject({ bucket: 'b', key: 'x/k', body: body() }), 'the source broke')
    assert.deepEqual(await readdir(join(folder, 'b', 'metadata', '.lateen-incoming')), [])
    assert.deepEqual(await readdir(join(folder, 'b')), ['metadata'])
  })

  it('ends a put at once when the signal aborts while the body is silent', async () => {
    const store = await openedStore(await root('silent'))
    const abort = new AbortController()
    async function* silent(): AsyncGenerator<Uint8Array> {
      yield randomBytes(10)
      setTimeout(() => abort.abort(new Error('stopped by the test')), 20)
      await new Promise(() => undefined)
    }
    const put = store.putObject({ bucket: 'b', key: 'k', body: silent(), signal: abort.signal })
    await assert.rejects(put, /stopped by the test/)
  })
})

function asRoot(): string | false {
  return process.getuid?.() === 0 ? 'root may write everywhere' : false
}
