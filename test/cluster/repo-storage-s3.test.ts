import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { DeleteObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { blobStorageConformance } from '../../packages/repo/src/blob/conformance.ts'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { openS3Storage, type S3StorageOptions } from '../../packages/repo/src/blob/s3.ts'
import { type BlobStorage, blobId } from '../../packages/repo/src/blob/storage.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

const given = await givenCluster({ s3: true })

/** Settings for a place of its own in the shared bucket, emptied after the test. */
function placeFor(
  test: TestContext,
  prefix = `repo-${randomBytes(6).toString('hex')}/`,
): S3StorageOptions & { prefix: string } {
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = given.cluster.s3
  const options = { endpoint, region, bucket, prefix, credentials: { accessKeyId, secretAccessKey } }
  test.after(async () => {
    await using storage = await openS3Storage(options)
    for await (const { id } of storage.list('')) await storage.delete(id)
  })
  return options
}

function plainClient(): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = given.cluster.s3
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })
}

async function idsIn(storage: BlobStorage, prefix = ''): Promise<string[]> {
  return Array.fromAsync(storage.list(prefix), blob => blob.id)
}

blobStorageConformance({
  name: 'S3',
  skip: given.skip,
  many: 1100,
  open: async test => {
    const options = placeFor(test)
    return { storage: await openS3Storage(options), reopen: () => openS3Storage(options) }
  },
})

describe('a repository in S3', { skip: given.skip }, () => {
  it('has keys made of prefix and blob id, and nothing of what lies deeper or is hidden', async test => {
    const { prefix: folder, ...rest } = placeFor(test)
    const options = placeFor(test, `${folder}kopia-`)
    const { bucket } = given.cluster.s3
    const client = plainClient()
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: '{}' }))
    const drop = (Key: string) => client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))
    const foreign = [`${options.prefix}.storageconfig`, `${options.prefix}deeper/p1`, `${folder}other`]
    for (const key of foreign) await put(key)
    test.after(() => Promise.all(foreign.map(drop)))

    await using storage = await openS3Storage({ ...rest, prefix: options.prefix })
    await storage.put(blobId('p1'), Buffer.from('body'))
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `${options.prefix}p1` }))
    assert.deepEqual([head.ContentLength, head.ContentType], [4, 'application/x-kopia'])
    assert.deepEqual(await idsIn(storage), ['p1'])
  })

  it('tells wrong keys, a missing bucket and a server that is not there apart', async test => {
    const options = placeFor(test)
    const credentials = { accessKeyId: given.cluster.s3.accessKeyId, secretAccessKey: 'wrong' }
    await assert.rejects(openS3Storage({ ...options, credentials }), {
      code: 'STORAGE_FAILED',
      message: /credentials are not accepted/,
      retryable: false,
    })
    await assert.rejects(openS3Storage({ ...options, bucket: 'no-such-bucket' }), {
      code: 'STORAGE_FAILED',
      message: /the bucket does not exist/,
      retryable: false,
    })
    await assert.rejects(openS3Storage({ ...options, endpoint: 'http://127.0.0.1:1' }), {
      code: 'STORAGE_FAILED',
      message: /nothing answers/,
      retryable: true,
    })
  })
})

describe('a repository that kopia made', { skip: given.skip }, () => {
  async function kopiaIn(test: TestContext, place: string[]): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-kopia-'))
    test.after(() => rm(folder, { recursive: true, force: true }))
    const kopia = async (...args: string[]) =>
      promisify(execFile)(await tool('kopia'), args, {
        env: {
          HOME: folder,
          KOPIA_PASSWORD: 'secret',
          KOPIA_CONFIG_PATH: path.join(folder, 'config'),
          KOPIA_CACHE_DIRECTORY: path.join(folder, 'cache'),
          KOPIA_LOG_DIR: path.join(folder, 'logs'),
          KOPIA_CHECK_FOR_UPDATES: 'false',
        },
      })
    await kopia('repository', 'create', ...place)
    await kopia('snapshot', 'create', import.meta.dirname)
  }

  /** Every kind of blob that a snapshot leaves is listed, has the length that is read, and can be read in part. */
  async function assertReadable(storage: BlobStorage): Promise<void> {
    const blobs = await Array.fromAsync(storage.list(''))
    for (const start of ['kopia.repository', 'kopia.blobcfg', 'p', 'q', 'xn0_', '_log_']) {
      assert.ok(
        blobs.some(blob => blob.id.startsWith(start)),
        `no blob ${start}`,
      )
    }
    for (const { id, length } of blobs) {
      const whole = await storage.get(id)
      assert.equal(whole.length, length, id)
      const part = await storage.get(id, { offset: 1, length: length - 1 })
      assert.deepEqual(Buffer.from(part), Buffer.from(whole.subarray(1)), id)
    }
    const format = JSON.parse(Buffer.from(await storage.get(blobId('kopia.repository'))).toString())
    assert.equal(format.tool, 'https://github.com/kopia/kopia')
  }

  it('is there blob by blob in S3', async test => {
    const options = placeFor(test)
    const { endpoint, region, accessKeyId, secretAccessKey, bucket } = given.cluster.s3
    const where = [
      '--bucket',
      bucket,
      '--prefix',
      options.prefix,
      '--endpoint',
      new URL(endpoint).host,
      '--disable-tls',
    ]
    await kopiaIn(test, [
      's3',
      ...where,
      '--region',
      region,
      '--access-key',
      accessKeyId,
      '--secret-access-key',
      secretAccessKey,
    ])
    await using storage = await openS3Storage(options)
    await assertReadable(storage)
    const head = new HeadObjectCommand({ Bucket: bucket, Key: `${options.prefix}kopia.repository` })
    assert.equal((await plainClient().send(head)).ContentType, 'application/x-kopia')
  })

  for (const flags of [[], ['--flat'], ['--format-version=1']]) {
    it(`is there blob by blob in a folder created ${flags.join() || 'by default'}`, async test => {
      const folder = await mkdtemp(path.join(tmpdir(), 'lateen-repo-'))
      test.after(() => rm(folder, { recursive: true, force: true }))
      await kopiaIn(test, ['filesystem', '--path', folder, ...flags])
      await using storage = await openFilesystemStorage({ path: folder })
      if (flags[0] !== '--format-version=1') return assertReadable(storage)
      for await (const { id, length } of storage.list(''))
        assert.equal((await storage.get(id)).length, length)
      assert.ok((await idsIn(storage, 'n')).length > 0)
    })
  }
})

const mayMount = process.platform === 'linux' && process.getuid?.() === 0
const mountSkip = mayMount ? false : 'mounting a small file system needs root on Linux'

describe('a folder on a disk that is full or read-only', { skip: mountSkip }, () => {
  it('keeps what it has, leaves nothing half-written and says what is wrong', async test => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-disk-'))
    const run = promisify(execFile)
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
    test.after(async () => {
      await run('umount', [folder])
      await rm(folder, { recursive: true })
    })
    await using storage = await openFilesystemStorage({ path: folder })
    const body = Buffer.alloc(400_000, 'x')
    const ids = ['p1', 'p2', 'p3'].map(start => blobId(`${start}23456789abcdef0123456789abcdef-s1`))
    const fill = async () => {
      for (const id of ids) await storage.put(id, body)
    }
    await assert.rejects(fill(), { code: 'STORAGE_FULL', blobId: ids[2] })
    assert.deepEqual(new Set(await idsIn(storage)), new Set(ids.slice(0, 2)))
    const names = (await readdir(folder, { recursive: true })).filter(name => name.includes('.tmp.'))
    assert.deepEqual(names, [])

    await run('mount', ['-o', 'remount,ro', folder])
    await assert.rejects(storage.put(blobId('xe1'), body), {
      code: 'READ_ONLY',
      message: /mounted read-only/,
    })
    await assert.rejects(storage.delete(ids[0]!), { code: 'READ_ONLY' })
    await using reader = await openFilesystemStorage({ path: folder })
    assert.deepEqual(Buffer.from(await reader.get(ids[0]!)), body)
  })
})
