import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GetObjectTaggingCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { isObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'
import { objectStoreConformance } from '@lateen/plugin/object-store-conformance'
import { AwsStore } from '../../packages/server/src/object-store/aws.ts'
import { checksumAlgorithms } from '../../packages/server/src/object-store/aws-config.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

const MiB = 1024 * 1024
const given = await givenCluster({ s3: true })
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-s3-'))
after(() => rm(folder, { recursive: true }))

async function credentials(id: string, secret: string): Promise<string> {
  const file = path.join(folder, randomBytes(4).toString('hex'))
  await writeFile(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`)
  return file
}

async function openStore(config: Record<string, string> = {}): Promise<AwsStore> {
  const { s3 } = given.cluster
  const store = new AwsStore({
    timeouts: { connectMs: 30_000, idleMs: 60_000, attempts: 1 },
    env: {},
    readSecret: () => assert.fail('no secret was to be read'),
  })
  const credentialsFile = await credentials(s3.accessKeyId, s3.secretAccessKey)
  const basics = { bucket: s3.bucket, s3Url: s3.endpoint, region: s3.region, s3ForcePathStyle: 'true' }
  await store.init({ config: { ...basics, credentialsFile, ...config } })
  return store
}

async function failsWith(code: ObjectStoreErrorCode, action: Promise<unknown>, says: RegExp): Promise<void> {
  await assert.rejects(action, (error: unknown) => {
    assert.ok(isObjectStoreError(error), String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, says)
    return true
  })
}

objectStoreConformance({
  name: 'aws, on a real S3 server',
  skip: given.skip,
  async open() {
    const store = await openStore()
    const close = () => store[Symbol.asyncDispose]()
    return { store, bucket: given.cluster.s3.bucket, missingBucket: 'lateen-no-such-bucket', close }
  },
})

/** Chunks that do not compress and whose sum is known, without holding them. */
function bigBody(megabytes: number): { body: AsyncIterable<Uint8Array>; sum: () => string } {
  const hash = createHash('sha256')
  const chunk = randomBytes(MiB)
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < megabytes; n++) {
      chunk.writeUInt32BE(n)
      hash.update(chunk)
      yield Buffer.from(chunk)
    }
  }
  return { body: chunks(), sum: () => hash.digest('hex') }
}

describe('the aws store on a real S3 server', { skip: given.skip }, () => {
  const bucket = () => given.cluster.s3.bucket
  const prefix = `metadata/object-store-s3-${process.pid}/`

  for (const checksumAlgorithm of [...checksumAlgorithms, '']) {
    it(`stores small and multipart objects with ${checksumAlgorithm || 'no'} checksums`, async () => {
      await using store = await openStore({ checksumAlgorithm })
      for (const megabytes of [1, 40]) {
        const key = `${prefix}checksum-${checksumAlgorithm}-${megabytes}`
        const { body, sum } = bigBody(megabytes)
        await store.putObject({ bucket: bucket(), key, body })
        const hash = createHash('sha256')
        for await (const chunk of await store.getObject({ bucket: bucket(), key })) hash.update(chunk)
        assert.equal(hash.digest('hex'), sum())
        await store.deleteObject({ bucket: bucket(), key })
      }
    })
  }

  it('stores an object of 300 MiB from a stream with memory for a few parts', async () => {
    const { s3 } = given.cluster
    const credentialsFile = await credentials(s3.accessKeyId, s3.secretAccessKey)
    const config = {
      bucket: s3.bucket,
      s3Url: s3.endpoint,
      region: s3.region,
      s3ForcePathStyle: 'true',
      credentialsFile,
    }
    const script = path.join(import.meta.dirname, 'object-store-s3-memory.ts')
    const options = { config, bucket: s3.bucket, key: `${prefix}memory`, megabytes: 300 }
    const child = spawn(process.execPath, [script, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, [code]] = await Promise.all([buffer(child.stdout), once(child, 'exit')])
    assert.equal(code, 0)
    const { grownMiB, storedMiB } = JSON.parse(output.toString())
    assert.equal(storedMiB, 300)
    assert.ok(grownMiB < 220, `memory grew by ${grownMiB} MiB`)
  })

  it('takes its parts back when a large put is aborted or its body fails', async () => {
    await using store = await openStore()
    const { s3 } = given.cluster
    const key = `${prefix}unfinished`
    const abort = new AbortController()
    async function* body(end: () => void): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 40; n++) yield randomBytes(MiB)
      // Long enough for the parts so far to be on their way.
      await sleep(300)
      end()
      yield randomBytes(MiB)
      await sleep(60_000, undefined, { ref: false })
    }
    const aborted = body(() => abort.abort(new Error('stopped by the test')))
    await assert.rejects(
      store.putObject({ bucket: bucket(), key, body: aborted, signal: abort.signal }),
      /stopped by/,
    )
    const broken = body(() => {
      throw new Error('the source broke')
    })
    await failsWith('ABORTED', store.putObject({ bucket: bucket(), key, body: broken }), /the source broke/)

    const client = new S3Client({
      endpoint: s3.endpoint,
      region: s3.region,
      forcePathStyle: true,
      credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
    })
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket() }))
    client.destroy()
    assert.deepEqual(
      Uploads.filter(upload => upload.Key === key),
      [],
    )
    assert.equal(await store.objectExists({ bucket: bucket(), key }), false)
  })

  it('puts the configured tags on objects', async () => {
    await using store = await openStore({ tagging: 'team=backup&tier=cold' })
    const { s3 } = given.cluster
    const key = `${prefix}tagged`
    await store.putObject({ bucket: bucket(), key, body: Buffer.from('x') })
    const client = new S3Client({
      endpoint: s3.endpoint,
      region: s3.region,
      forcePathStyle: true,
      credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
    })
    const { TagSet = [] } = await client.send(new GetObjectTaggingCommand({ Bucket: bucket(), Key: key }))
    client.destroy()
    assert.deepEqual(Object.fromEntries(TagSet.map(({ Key, Value }) => [Key, Value])), {
      team: 'backup',
      tier: 'cold',
    })
  })

  it('signs URLs for the public address', async () => {
    const { endpoint } = given.cluster.s3
    const publicUrl = endpoint.replace('127.0.0.1', 'localhost')
    await using store = await openStore({ publicUrl })
    const key = `${prefix}public`
    await store.putObject({ bucket: bucket(), key, body: Buffer.from('public') })
    const url = await store.createSignedUrl({ bucket: bucket(), key, ttlSeconds: 60 })
    assert.ok(url.startsWith(`${publicUrl}/${bucket()}/`), url)
    assert.equal(await (await fetch(url)).text(), 'public')
  })

  it('tells a wrong secret, a wrong key id and a missing bucket apart', async () => {
    const { s3 } = given.cluster
    const list = async (config: Record<string, string>, name = s3.bucket) =>
      Array.fromAsync(
        (await openStore(config)).listCommonPrefixes({ bucket: name, prefix: '', delimiter: '/' }),
      )
    const wrongSecret = await credentials(s3.accessKeyId, 'wrong')
    await failsWith('BAD_CREDENTIALS', list({ credentialsFile: wrongSecret }), /aws_secret_access_key/)
    const wrongId = await credentials('nobody', s3.secretAccessKey)
    await failsWith('BAD_CREDENTIALS', list({ credentialsFile: wrongId }), /aws_access_key_id/)
    await failsWith('NO_BUCKET', list({}, 'lateen-no-such-bucket'), /"lateen-no-such-bucket" does not exist/)
  })
})
