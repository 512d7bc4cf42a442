import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { S3Client } from '@aws-sdk/client-s3'
import { isObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'
import { AwsStore } from './aws.ts'
import { bucketRegion } from './aws-client.ts'

// Only what a well-behaved S3 server cannot be made to do; everything else runs against a real one.
// None of these is to run out because the machine is slow, only where a test waits for that.
const timeouts = { connectMs: 20_000, idleMs: 60_000, attempts: 1 }
let folder = ''
let credentialsFile = ''
const servers: Server[] = []

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lateen-aws-'))
  credentialsFile = join(folder, 'cloud')
  await writeFile(credentialsFile, '[default]\naws_access_key_id = id\naws_secret_access_key = secret\n')
})
after(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await rm(folder, { recursive: true })
})

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function storeAt(
  s3Url: string,
  config: Record<string, string> = {},
  given: { readSecret?: () => Promise<Uint8Array>; idleMs?: number } = {},
) {
  const { idleMs = timeouts.idleMs, readSecret = async () => assert.fail('no secret was to be read') } = given
  const store = new AwsStore({ timeouts: { ...timeouts, idleMs }, env: {}, readSecret })
  const settings = {
    bucket: 'b',
    s3Url,
    region: 'us-east-1',
    s3ForcePathStyle: 'true',
    credentialsFile,
    ...config,
  }
  await store.init({ config: settings })
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

const listing = (store: AwsStore) => Array.fromAsync(store.listObjects({ bucket: 'b', prefix: '' }))

describe('credentials that name a program', () => {
  const named = async (file: string, mark: string) => {
    const answer = '{"Version":1,"AccessKeyId":"id","SecretAccessKey":"secret"}'
    const program = join(folder, `${file}.sh`)
    await writeFile(program, `#!/bin/sh\ntouch ${mark}\necho '${answer}'\n`, { mode: 0o755 })
    await writeFile(join(folder, file), `[default]\n  credential_process = ${program}\n`)
    return join(folder, file)
  }
  const config = { bucket: 'b', region: 'us-east-1', s3Url: 'http://127.0.0.1:1', s3ForcePathStyle: 'true' }
  const noSecret = async () => assert.fail('no secret was to be read')

  it('do not run it when they come from the secret of a location', async () => {
    const mark = join(folder, 'ran')
    const store = new AwsStore({ timeouts, env: {}, readSecret: noSecret })
    const init = store.init({ config: { ...config, credentialsFile: await named('of-secret', mark) } })
    await failsWith('INVALID_CONFIG', init, /credential_process, which would run in the server/)
    await assert.rejects(access(mark))
  })

  it('run it when they are the ones of the server', async () => {
    const mark = join(folder, 'ran-for-server')
    const env = { AWS_SHARED_CREDENTIALS_FILE: await named('of-server', mark) }
    const store = new AwsStore({ timeouts, env, readSecret: noSecret })
    await store.init({ config })
    await assert.rejects(store.objectExists({ bucket: 'b', key: 'k' }), { code: 'UNREACHABLE' })
    await access(mark)
  })
})

describe('the aws store, when the endpoint misbehaves', () => {
  it('reports one that never answers as TIMEOUT', async () => {
    const url = await serving(() => undefined)
    await failsWith('TIMEOUT', listing(await storeAt(url, {}, { idleMs: 300 })), /did not answer in time/)
  })

  it('reports one that closes the connection as UNREACHABLE', async () => {
    const url = await serving(request => void request.socket.destroy())
    await failsWith('UNREACHABLE', listing(await storeAt(url)), /closed the connection/)
  })

  it('reports a closed port as UNREACHABLE', async () => {
    await failsWith(
      'UNREACHABLE',
      listing(await storeAt('http://127.0.0.1:1')),
      /nothing listens at http:\/\/127\.0\.0\.1:1/,
    )
  })

  it('reports a host name that nobody knows as UNREACHABLE', async () => {
    await failsWith('UNREACHABLE', listing(await storeAt('http://s3.invalid:9000')), /cannot be resolved/)
  })

  it('reports clock skew as CLOCK_SKEW', async () => {
    const url = await serving((_, response) => {
      const body = '<Error><Code>RequestTimeTooSkewed</Code><Message>too large at 12:00</Message></Error>'
      response.writeHead(403, { 'content-type': 'application/xml' }).end(body)
    })
    await failsWith('CLOCK_SKEW', listing(await storeAt(url)), /NTP/)
  })

  it('reports a web page in the place of S3 without quoting it', async () => {
    const url = await serving((_, response) => response.writeHead(502).end('<html>Bad Gateway</html>'))
    await failsWith('STORE_FAULT', listing(await storeAt(url)), /failed with status 502/)
  })

  it('fails a download that is cut or that stalls, instead of passing a part for the whole', async () => {
    for (const fault of ['cut', 'stalled']) {
      const url = await serving((_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('half')
        if (fault === 'cut') setTimeout(() => response.destroy(), 50)
      })
      // Long enough for the headers on a busy machine: only the body is to be missed.
      const store = await storeAt(url, {}, fault === 'stalled' ? { idleMs: 5_500 } : {})
      const stream = await store.getObject({ bucket: 'b', key: 'k' })
      await assert.rejects(buffer(stream), `a ${fault} download passed`)
    }
  })

  it('gives up at once when the signal aborts', async () => {
    const url = await serving(() => undefined)
    const store = await storeAt(url)
    const abort = new AbortController()
    const call = store.objectExists({ bucket: 'b', key: 'k', signal: abort.signal })
    setTimeout(() => abort.abort(new Error('stopped by the test')), 20)
    await assert.rejects(call, /stopped by the test/)
  })
})

describe('the aws store, told of a proxy', () => {
  it('does not repeat its password when the address cannot be read', async () => {
    const env = { HTTPS_PROXY: 'http://me:x#1@proxy:3128' }
    const store = new AwsStore({
      timeouts,
      env,
      readSecret: async () => assert.fail('no secret was to be read'),
    })
    const config = { bucket: 'b', region: 'us-east-1', credentialsFile }
    await assert.rejects(store.init({ config }), (error: Error) => {
      assert.match(error.message, /http:\/\/<left out>@proxy:3128/)
      assert.doesNotMatch(inspect(error), /x#1/)
      return true
    })
  })
})

describe('the aws store, given credentials', () => {
  it('says which profile is not in the file', async () => {
    const url = await serving((_, response) => response.end())
    const store = await storeAt(url, { profile: 'other' })
    await failsWith('BAD_CREDENTIALS', listing(store), /no credentials for bucket "b".*profile: \[other\]/)
  })

  it('sends the key of the profile that is asked for', async () => {
    const seen: (string | undefined)[] = []
    const url = await serving((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(200, { 'content-type': 'application/xml' }).end('<ListBucketResult/>')
    })
    const file = join(folder, 'profiles')
    const profile = (name: string) =>
      `[${name}]\naws_access_key_id = id-of-${name}\naws_secret_access_key = s\n`
    await writeFile(file, profile('default') + profile('backup'))
    await listing(await storeAt(url, { credentialsFile: file }))
    await listing(await storeAt(url, { credentialsFile: file, profile: 'backup' }))
    assert.match(seen[0] ?? '', /Credential=id-of-default\//)
    assert.match(seen[1] ?? '', /Credential=id-of-backup\//)
  })

  it('reads the file anew for each store, so that changed secrets count', async () => {
    const seen: (string | undefined)[] = []
    const url = await serving((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(200, { 'content-type': 'application/xml' }).end('<ListBucketResult/>')
    })
    const file = join(folder, 'changing')
    for (const id of ['first', 'second']) {
      await writeFile(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = s\n`)
      await listing(await storeAt(url, { credentialsFile: file }))
    }
    assert.match(seen[0] ?? '', /Credential=first\//)
    assert.match(seen[1] ?? '', /Credential=second\//)
  })
})

describe('what the aws store sends with an object', () => {
  const key = randomBytes(32)

  async function headersOfPut(config: Record<string, string>): Promise<IncomingMessage['headers']> {
    let headers: IncomingMessage['headers'] = {}
    const url = await serving((request, response) => {
      headers = request.headers
      request.resume().on('end', () => response.writeHead(200, { etag: '"e"' }).end())
    })
    const store = await storeAt(url, config, { readSecret: async () => key })
    await store.putObject({ bucket: 'b', key: 'k', body: Buffer.from('x') })
    return headers
  }

  it('asks for KMS with the key id', async () => {
    const headers = await headersOfPut({ kmsKeyId: 'alias/backups', serverSideEncryption: 'AES256' })
    assert.equal(headers['x-amz-server-side-encryption'], 'aws:kms')
    assert.equal(headers['x-amz-server-side-encryption-aws-kms-key-id'], 'alias/backups')
  })

  it('asks for the algorithm it was told', async () => {
    const headers = await headersOfPut({ serverSideEncryption: 'AES256' })
    assert.equal(headers['x-amz-server-side-encryption'], 'AES256')
  })

  it('sends a customer key from a file or from a secret', async () => {
    const file = join(folder, 'customer-key')
    await writeFile(file, key)
    const configs = [{ customerKeyEncryptionFile: file }, { customerKeyEncryptionSecret: 'name/key' }]
    for (const config of configs) {
      const headers = await headersOfPut(config)
      assert.equal(headers['x-amz-server-side-encryption-customer-algorithm'], 'AES256')
      assert.equal(headers['x-amz-server-side-encryption-customer-key'], key.toString('base64'))
      const md5 = createHash('md5').update(key).digest('base64')
      assert.equal(headers['x-amz-server-side-encryption-customer-key-md5'], md5)
    }
  })

  it('refuses a customer key of another length and a file that is not there', async () => {
    const file = join(folder, 'short-key')
    await writeFile(file, 'short')
    const init = (path: string) => storeAt('http://127.0.0.1:1', { customerKeyEncryptionFile: path })
    await failsWith('INVALID_CONFIG', init(file), /has 5 bytes instead of 32/)
    await failsWith('INVALID_CONFIG', init(`${file}-none`), /cannot be read/)
  })

  it('sends a CRC32 unless told another checksum or none, and no tags unless told', async () => {
    const checksums = (headers: IncomingMessage['headers']) =>
      Object.keys(headers).filter(name => /^x-amz-checksum-(?!algorithm)|^x-amz-sdk-checksum/.test(name))
    assert.ok(checksums(await headersOfPut({})).includes('x-amz-checksum-crc32'))
    assert.ok(
      checksums(await headersOfPut({ checksumAlgorithm: 'SHA256' })).includes('x-amz-checksum-sha256'),
    )
    const bare = await headersOfPut({ checksumAlgorithm: '' })
    assert.deepEqual(checksums(bare), [])
    assert.equal(bare['x-amz-tagging'], undefined)
    assert.equal((await headersOfPut({ tagging: 'a=b&c=d' }))['x-amz-tagging'], 'a=b&c=d')
  })
})

describe('bucketRegion', () => {
  const client = (endpoint: string) =>
    new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: { accessKeyId: 'a', secretAccessKey: 's' },
    })

  it('is what the store says, also when it refuses or redirects', async () => {
    for (const status of [200, 301, 400, 403]) {
      const url = await serving((_, response) =>
        response.writeHead(status, { 'x-amz-bucket-region': 'eu-west-3' }).end(),
      )
      assert.equal(await bucketRegion(client(url), 'b'), 'eu-west-3', `status ${status}`)
    }
  })

  it('fails with the refusal when the store does not say', async () => {
    const url = await serving((_, response) => response.writeHead(404).end())
    await assert.rejects(bucketRegion(client(url), 'b'))
  })
})
