import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'
import { AwsStore } from '../../packages/server/src/object-store/aws.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { freePort } from '../../tools/test/free-port.ts'

const given = await givenCluster({ s3: true })
const run = promisify(execFile)

describe('the aws store and TLS, on a real S3 server', { skip: given.skip }, () => {
  let folder = ''
  let port = 0
  let server: ChildProcess | undefined
  let caCert = ''
  const output: Buffer[] = []

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-tls-'))
    const file = (name: string) => path.join(folder, name)
    await mkdir(file('objects/bucket'), { recursive: true })
    await mkdir(file('metadata'))
    await writeFile(file('cloud'), '[default]\naws_access_key_id = id\naws_secret_access_key = secret\n')
    const openssl = await tool('openssl')
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    const authority = [
      '-subj',
      '/CN=lateen-test-authority',
      '-keyout',
      file('ca.key'),
      '-out',
      file('ca.crt'),
    ]
    await run(openssl, ['req', '-x509', ...key, ...authority])
    const signed = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-addext', 'basicConstraints=CA:FALSE']
    const names = ['-subj', '/CN=s3', '-addext', 'subjectAltName=IP:127.0.0.1']
    await run(openssl, [
      'req',
      '-x509',
      ...key,
      ...signed,
      ...names,
      '-keyout',
      file('s3.key'),
      '-out',
      file('s3.crt'),
    ])
    caCert = await readFile(file('ca.crt'), 'utf8')
    port = await freePort()
    const access = [
      '--access',
      'id',
      '--secret',
      'secret',
      '--region',
      'us-east-1',
      '--port',
      `127.0.0.1:${port}`,
    ]
    const tls = ['--cert', file('s3.crt'), '--key', file('s3.key')]
    const args = [...access, ...tls, 'posix', '--sidecar', file('metadata'), file('objects')]
    server = spawn(await tool('versitygw'), args, { stdio: ['ignore', 'pipe', 'pipe'] })
    server.stdout?.on('data', chunk => output.push(chunk))
    server.stderr?.on('data', chunk => output.push(chunk))
    await waitUntil(
      async () => (await prefixes({ insecureSkipTLSVerify: 'true' }).catch(() => undefined)) !== undefined,
      {
        timeoutMs: 120_000,
        failure: () => new Error(`versitygw did not come up: ${Buffer.concat(output)}`),
      },
    )
  })

  after(async () => {
    if (server?.exitCode === null && server.kill()) await once(server, 'exit')
    await rm(folder, { recursive: true })
  })

  async function prefixes(config: Record<string, string>, host = '127.0.0.1'): Promise<string[]> {
    await using store = new AwsStore({
      timeouts: { connectMs: 30_000, idleMs: 30_000, attempts: 1 },
      env: {},
      readSecret: () => assert.fail('no secret was to be read'),
    })
    const basics = { bucket: 'bucket', region: 'us-east-1', s3ForcePathStyle: 'true' }
    const access = { s3Url: `https://${host}:${port}`, credentialsFile: path.join(folder, 'cloud') }
    await store.init({ config: { ...basics, ...access, ...config } })
    return await Array.fromAsync(store.listCommonPrefixes({ bucket: 'bucket', prefix: '', delimiter: '/' }))
  }

  async function failsWith(
    code: ObjectStoreErrorCode,
    action: Promise<unknown>,
    says: RegExp,
  ): Promise<void> {
    await assert.rejects(action, (error: unknown) => {
      assert.ok(isObjectStoreError(error), String(error))
      assert.equal(error.code, code, error.message)
      assert.match(error.message, says)
      return true
    })
  }

  it('refuses a certificate of an unknown authority and names the remedy', async () => {
    await failsWith('TLS', prefixes({}), /signed by nobody trusted here.*caCert/)
  })

  it('trusts the authority that the location names', async () => {
    assert.deepEqual(await prefixes({ caCert }), [])
  })

  it('trusts anyone when told to', async () => {
    assert.deepEqual(await prefixes({ insecureSkipTLSVerify: 'true' }), [])
  })

  it('refuses a trusted certificate that is for another name', async () => {
    await failsWith('TLS', prefixes({ caCert }, 'localhost'), /is for another name/)
  })

  it('explains plain HTTP on a TLS port, and the reverse', async () => {
    const plain = prefixes({ s3Url: `http://127.0.0.1:${port}` })
    await assert.rejects(plain, (error: unknown) => isObjectStoreError(error))
    const { endpoint } = given.cluster.s3
    await failsWith(
      'TLS',
      prefixes({ s3Url: endpoint.replace('http://', 'https://') }),
      /http:\/\/ against https:\/\//,
    )
  })

  it('refuses a CA certificate that is damaged', async () => {
    const damaged = caCert.replace(/\n[^-\n]{10}/, '\n!!!!!!!!!!')
    await failsWith('INVALID_CONFIG', prefixes({ caCert: damaged }), /CA certificate of the location/)
  })
})
