import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { openS3Storage } from './s3.ts'
import { s3Error } from './s3-error.ts'
import { parseStorageConfig, storageClassFor } from './s3-storage-config.ts'
import { type BlobStorage, blobId } from './storage.ts'
import { retrying } from './wrap/retrying.ts'

const id = blobId('p27455c8fbe90a1b2c3d4e5f607182930-s1')
const impatient = { clock: { sleep: async () => {} } }

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** A server that does what a real one cannot be made to do; the question for `.storageconfig` is answered with "none". */
async function misbehaving(test: TestContext, answer: Answer, idleMs = 60_000): Promise<BlobStorage> {
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.url?.includes('.storageconfig'))
      return void response.writeHead(404).end(xmlError('NoSuchKey'))
    answer(request, response, ++count)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const storage = await openS3Storage({
    bucket: 'bucket',
    prefix: 'repo/',
    endpoint: `127.0.0.1:${port}`,
    tls: false,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    timeouts: { idleMs },
  })
  test.after(async () => {
    await storage[Symbol.asyncDispose]()
    server.closeAllConnections()
    server.close()
  })
  return storage
}

function xmlError(code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`
}

describe('S3 storage with a server that misbehaves', () => {
  it('tells what to retry, and retrying does: 429, 500, 503 and a dropped connection', async test => {
    const storage = await misbehaving(test, (_request, response, count) => {
      if (count === 1) response.writeHead(429).end(xmlError('TooManyRequests'))
      else if (count === 2) response.writeHead(503).end(xmlError('SlowDown'))
      else if (count === 3) response.writeHead(500).end(xmlError('InternalError'))
      else if (count === 4) response.destroy()
      else response.writeHead(200, { 'content-length': 4 }).end('body')
    })
    for (let n = 0; n < 4; n++) {
      await assert.rejects(storage.get(id), { code: 'STORAGE_FAILED', retryable: true, blobId: id })
    }
    assert.equal(Buffer.from(await storage.get(id)).toString(), 'body')
  })

  it('never takes half a body for a whole one', async test => {
    const storage = await misbehaving(test, (_request, response, count) => {
      response.writeHead(200, { 'content-length': 1000 })
      if (count % 2 === 0) return void response.end('x'.repeat(1000))
      response.write('x'.repeat(500))
      setTimeout(() => response.destroy(), 20)
    })
    await assert.rejects(storage.get(id), { code: 'STORAGE_FAILED', retryable: true })
    assert.equal((await storage.get(id)).length, 1000)
    assert.equal((await retrying(storage, impatient).get(id)).length, 1000)
  })

  it('believes nothing of an error whose body ends in the middle', async test => {
    const storage = await misbehaving(test, (_request, response) => {
      const body = xmlError('NoSuchKey')
      response.writeHead(404, { 'content-type': 'application/xml', 'content-length': body.length })
      response.write(body.slice(0, 40))
      setTimeout(() => response.destroy(), 20)
    })
    await assert.rejects(storage.get(id), {
      code: 'STORAGE_FAILED',
      retryable: true,
      message: /: the connection was cut$/,
    })
  })

  it('gives up on a server that does not answer, or stops in the middle', async test => {
    const answer: Answer = (request, response, count) => {
      if (request.method === 'GET' && count > 1)
        response.writeHead(200, { 'content-length': 1000 }).write('x')
    }
    // Long enough for the answer to the question for `.storageconfig` on a busy machine.
    const storage = await misbehaving(test, answer, 5_500)
    const failed = { code: 'STORAGE_FAILED', retryable: true }
    await Promise.all([
      assert.rejects(storage.get(id), failed),
      assert.rejects(storage.get(id), failed),
      assert.rejects(storage.put(id, new Uint8Array(10)), failed),
    ])
  })

  it('stops waiting for it when it is cancelled', async test => {
    const storage = await misbehaving(test, () => {})
    const stop = new AbortController()
    const reading = storage.get(id, { signal: stop.signal })
    setTimeout(() => stop.abort(), 20)
    await assert.rejects(reading, { code: 'CANCELLED' })
  })

  it('takes the range out of a body that ignores ranges', async test => {
    const storage = await misbehaving(test, (_request, response) => {
      response.writeHead(200, { 'content-length': 10 }).end('0123456789')
    })
    assert.equal(Buffer.from(await storage.get(id, { offset: 2, length: 3 })).toString(), '234')
    await assert.rejects(storage.get(id, { offset: 8, length: 3 }), { code: 'INVALID_RANGE' })
  })

  it('does not take a listing that cannot go on for a whole one', async test => {
    const storage = await misbehaving(test, (_request, response) => {
      const key = `<Contents><Key>repo/${id}</Key><Size>1</Size><LastModified>2024-01-01T00:00:00.500Z</LastModified></Contents>`
      const body = `<ListBucketResult><IsTruncated>true</IsTruncated>${key}</ListBucketResult>`
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body)
    })
    await assert.rejects(Array.fromAsync(storage.list('')), {
      code: 'STORAGE_FAILED',
      message: /more, but not where/,
    })
  })

  it('sends each blob in one request that is signed with its digest', async test => {
    const seen: (string | string[] | undefined)[][] = []
    const storage = await misbehaving(test, ({ method, url, headers }, response) => {
      seen.push([
        method,
        url?.split('?')[0],
        headers['content-type'],
        headers['x-amz-content-sha256'],
        headers['content-md5'],
        headers['content-length'],
      ])
      response.writeHead(200).end()
    })
    const body = Buffer.alloc(6_000_000, 'x')
    await storage.put(id, [body.subarray(0, 10), body.subarray(10)])
    const sha256 = createHash('sha256').update(body).digest('hex')
    const path = `/bucket/repo/${id}`
    assert.deepEqual(seen, [['PUT', path, 'application/x-kopia', sha256, undefined, '6000000']])
  })

  it('gives the MD5 too where a blob is locked', async test => {
    const seen: unknown[] = []
    const storage = await misbehaving(test, ({ headers }, response) => {
      seen.push(headers['content-md5'])
      response.writeHead(200).end()
    })
    const until = Date.now() + 86_400_000
    await storage.put(id, Buffer.from('body'), { retention: { mode: 'GOVERNANCE', until } })
    assert.deepEqual(seen, [createHash('md5').update('body').digest('base64')])
  })

  for (const [code, message] of [
    ['InvalidRequest', 'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests'],
    ['MissingContentMD5', 'Missing required header for this request.'],
  ] as const) {
    it(`gives the MD5 once a bucket demanded it with ${code}`, async test => {
      const seen: (string | undefined)[] = []
      const storage = await misbehaving(test, (request, response) => {
        const md5 = request.headers['content-md5'] as string | undefined
        seen.push(md5)
        request.resume().on('end', () => {
          if (md5 !== undefined) return void response.writeHead(200).end()
          const body = `<Error><Code>${code}</Code><Message>${message}</Message></Error>`
          response.writeHead(400, { 'content-type': 'application/xml' }).end(body)
        })
      })
      for (const text of ['one', 'two']) await storage.put(id, Buffer.from(text))
      const md5 = (text: string) => createHash('md5').update(text).digest('base64')
      assert.deepEqual(seen, [undefined, md5('one'), md5('two')])
    })
  }
})

describe('errors of S3', () => {
  const reading = { doing: 'read blob p1', place: 's3://bucket/repo/', writing: false, blobId: 'p1' }
  const writing = { ...reading, doing: 'write blob p1', writing: true }
  const refused = (name: string, httpStatusCode?: number) =>
    Object.assign(new Error('no'), { name, ...(httpStatusCode && { $metadata: { httpStatusCode } }) })

  for (const [error, operation, code, retryable] of [
    [refused('NoSuchBucket', 404), reading, 'STORAGE_FAILED', false],
    [refused('AccessDenied', 403), reading, 'STORAGE_FAILED', false],
    [refused('AccessDenied', 403), writing, 'READ_ONLY', false],
    [refused('403', 403), reading, 'STORAGE_FAILED', false],
    [refused('SignatureDoesNotMatch', 403), writing, 'STORAGE_FAILED', false],
    [refused('RequestTimeTooSkewed', 403), reading, 'CLOCK_SKEW', true],
    [refused('QuotaExceeded', 403), writing, 'STORAGE_FULL', false],
    [refused('Unknown', 507), writing, 'STORAGE_FULL', false],
    [refused('BadDigest', 400), writing, 'STORAGE_FAILED', true],
    [refused('InvalidArgument', 400), writing, 'STORAGE_FAILED', false],
    [refused('SlowDown', 503), writing, 'STORAGE_FAILED', true],
    [Object.assign(refused('Error'), { code: 'ECONNREFUSED' }), reading, 'STORAGE_FAILED', true],
    [
      Object.assign(refused('Error'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
      reading,
      'STORAGE_FAILED',
      false,
    ],
  ] as const) {
    it(`${'code' in error ? error.code : error.name} while trying to ${operation.doing} is ${code}`, () => {
      const ours = s3Error(error, operation)
      assert.deepEqual([ours.code, ours.retryable, ours.blobId, ours.cause], [code, retryable, 'p1', error])
      assert.match(ours.message, /blob p1 in s3:\/\/bucket\/repo\/: \S/)
      assert.ok(ours.hint)
    })
  }
})

describe('the storage configuration of a bucket', () => {
  it('gives the class of the first rule that fits', () => {
    const text =
      '{"blobOptions":[{"prefix":"p","storageClass":"GLACIER_IR"},{"prefix":"q","storageClass":""},{"prefix":"","storageClass":"STANDARD_IA"}]}\n'
    const rules = parseStorageConfig(text, 's3://bucket/')
    assert.equal(storageClassFor(rules, blobId('p1')), 'GLACIER_IR')
    assert.equal(storageClassFor(rules, blobId('q1')), undefined)
    assert.equal(storageClassFor(rules, blobId('x1')), 'STANDARD_IA')
    assert.equal(storageClassFor(parseStorageConfig('{}', 's3://bucket/'), blobId('x1')), undefined)
  })

  it('is refused by name when it makes no sense', () => {
    for (const text of ['', 'null', '{"blobOptions":3}', '{"blobOptions":[{"prefix":3}]}']) {
      assert.throws(() => parseStorageConfig(text, 's3://bucket/'), {
        code: 'CORRUPT',
        message: /s3:\/\/bucket\/\.storageconfig/,
      })
    }
  })
})
