import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { after, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { runRepoCli, systemClock } from '../../packages/repo/src/cli/run-repo-cli.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

const given = await givenCluster({ s3: true })
const root = mkdtempSync(path.join(tmpdir(), 'lateen-cli-errors-'))
after(() => rmSync(root, { recursive: true }))

interface Run {
  repo: string
  env?: Record<string, string>
  clock?: typeof systemClock
}

async function text(stream: PassThrough): Promise<string> {
  stream.end()
  return Buffer.concat(await stream.toArray()).toString()
}

/** What a command line prints and with which code it ends. */
async function run({ repo, env = {}, clock = systemClock }: Run, ...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const status = await runRepoCli([...words, '--repo', repo, '--password-env', 'PASSWORD'], {
    env: { PASSWORD: 'correct horse', HOME: root, ...env },
    stdin: Readable.from([]) as unknown as typeof process.stdin,
    ...{ stdout, stderr, clock, host: 'host', userName: 'user' },
    signal: AbortSignal.timeout(60_000),
  })
  return { status, stdout: await text(stdout), stderr: await text(stderr) }
}

/** One line with the reason and, in brackets, what to do; no stack. */
function assertRefused(
  { status, stdout, stderr }: Awaited<ReturnType<typeof run>>,
  code: number,
  reason: RegExp,
): void {
  assert.deepEqual([status, stdout], [code, ''], stderr)
  assert.match(stderr, /^lateen-repo: [^\n]+ \([^\n]+\)\n$/)
  assert.match(stderr, reason)
  assert.doesNotMatch(stderr, / at .*\.ts:\d+|node:internal/)
}

function s3Env(changes: Record<string, string> = {}): Record<string, string> {
  const { endpoint, region, accessKeyId, secretAccessKey } = given.cluster.s3
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...changes,
  }
}

async function serverFor(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('lateen-repo and an S3 server that it cannot use', { skip: given.skip }, () => {
  const place = () => `s3://${given.cluster.s3.bucket}/errors-${randomBytes(4).toString('hex')}`

  it('says that there is no repository below the prefix, no bucket, or no right key', async () => {
    assertRefused(await run({ repo: place(), env: s3Env() }, 'list'), 3, /no repository/)
    const nowhere = `s3://nothing-${randomBytes(4).toString('hex')}`
    assertRefused(await run({ repo: nowhere, env: s3Env() }, 'list'), 1, /bucket does not exist/)
    assertRefused(await run({ repo: nowhere, env: s3Env() }, 'create'), 1, /bucket does not exist/)
    const secret = s3Env({ AWS_SECRET_ACCESS_KEY: 'wrong' })
    assertRefused(
      await run({ repo: place(), env: secret }, 'list'),
      1,
      /credentials are not accepted.*secret/,
    )
    const key = s3Env({ AWS_ACCESS_KEY_ID: 'nobody' })
    assertRefused(await run({ repo: place(), env: key }, 'list'), 1, /credentials are not accepted/)
  })

  it('says that nothing answers, that a name is not known, or that TLS is not spoken', async () => {
    const closed = s3Env({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9' })
    assertRefused(
      await run({ repo: place(), env: closed }, 'list'),
      1,
      /nothing answers at the endpoint.*port/,
    )
    const unknown = s3Env({ AWS_ENDPOINT_URL: 'http://nowhere.invalid' })
    assertRefused(await run({ repo: place(), env: unknown }, 'list'), 1, /host is not known.*endpoint/)
    const https = s3Env({ AWS_ENDPOINT_URL: given.cluster.s3.endpoint.replace('http:', 'https:') })
    assertRefused(await run({ repo: place(), env: https }, 'list'), 1, /does not speak TLS.*http:/)
  })

  it('says that the clock is off when the server does', async t => {
    const endpoint = await serverFor(t, (_, response) => {
      response.writeHead(403, { 'content-type': 'application/xml' })
      response.end('<Error><Code>RequestTimeTooSkewed</Code><Message>skewed</Message></Error>')
    })
    const env = s3Env({ AWS_ENDPOINT_URL: endpoint })
    assertRefused(await run({ repo: place(), env }, 'list'), 8, /clock.*too far apart.*NTP/)
  })

  it('says so when the answers are not those of S3', async t => {
    const endpoint = await serverFor(t, (_, response) => {
      response.writeHead(400, { 'content-type': 'text/html' })
      response.end('<html><body>Bad Request</body></html>')
    })
    const env = s3Env({ AWS_ENDPOINT_URL: endpoint })
    assertRefused(await run({ repo: place(), env }, 'list'), 1, /HTTP 400.*endpoint/)
  })

  it('says that the wrong password does not open the repository in the bucket', async () => {
    const repo = place()
    assert.equal((await run({ repo, env: s3Env() }, 'create')).status, 0)
    assertRefused(await run({ repo, env: s3Env({ PASSWORD: 'wrong' }) }, 'list'), 4, /password/)
    const snapshots = await run({ repo, env: s3Env() }, 'list', '--json')
    assert.deepEqual([snapshots.status, snapshots.stdout], [0, ''])
  })
})

const mayMount = process.platform === 'linux' && process.getuid?.() === 0

describe('lateen-repo and a folder that it cannot use', () => {
  it('says that the clock is off, and stores nothing', async () => {
    const repo = `file://${root}/skewed`
    assert.equal((await run({ repo }, 'create')).status, 0)
    const source = path.join(root, 'source')
    await mkdir(source)
    const clock = { ...systemClock, now: () => Date.now() + 3_600_000 }
    assertRefused(await run({ repo, clock }, 'snapshot', source), 8, /clock.*differ.*NTP/)
    assert.equal((await run({ repo }, 'list')).stdout, '')
  })

  it('says that the disk is full or mounted read-only', {
    skip: mayMount ? false : 'needs root',
  }, async () => {
    const mount = promisify(execFile)
    const folder = path.join(root, 'disk')
    const repo = `file://${folder}/repo`
    const source = path.join(root, 'large')
    await mkdir(folder)
    await mkdir(source)
    await writeFile(path.join(source, 'file'), randomBytes(3_000_000))
    await mount('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
    try {
      assert.equal((await run({ repo }, 'create')).status, 0)
      assertRefused(await run({ repo }, 'snapshot', source, '--quiet'), 1, /no space is left.*[Ff]ree space/)
      await mount('mount', ['-o', 'remount,ro', folder])
      assertRefused(await run({ repo }, 'snapshot', source, '--quiet'), 1, /read-only/)
      assertRefused(await run({ repo: `file://${folder}/other` }, 'create'), 1, /read-only/)
      assert.deepEqual(await run({ repo }, 'list'), { status: 0, stdout: '', stderr: '' })
    } finally {
      await mount('umount', [folder])
    }
  })
})
