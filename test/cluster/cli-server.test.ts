import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'

const given = await givenCluster()
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)
const namespace = `cli-server-${randomBytes(3).toString('hex')}`
const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')

function failed(run: Ended, message: RegExp): void {
  const lines = run.stderr.trimEnd().split('\n')
  assert.match(lines.at(-1) ?? '', message)
  assert.ok(lines.at(-1)?.startsWith('An error occurred: '), run.stderr)
  assert.doesNotMatch(run.stderr, /\n +at /)
  assert.equal(run.status, 1)
}

describe('lateen server and version', { skip: given.skip, concurrency: false }, () => {
  before(async () => {
    assert.equal((await lateen(['install', '--crds-only'])).status, 0)
    await given.cluster.kubectl(['create', 'namespace', namespace])
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']))

  it('version remarks that no server answers, succeeds, and leaves no request behind', async () => {
    const { status, stdout } = await lateen(['version', '-n', namespace, '--timeout', '10s'])
    assert.equal(status, 0)
    assert.match(
      stdout,
      /^Client:\n(.*\n)*<error getting server version: a server for namespace .* did not answer within 10s .*>\n$/,
    )
    assert.equal(await given.cluster.kubectl(['get', 'ssr', '-n', namespace, '-o', 'name']), '')
  })

  it('a server without its namespace says so and ends', async () => {
    failed(
      await lateen(['server', '-n', 'no-such-namespace', '--metrics-address=']),
      /no-such-namespace does not exist/,
    )
  })

  it('a server with flags that make no sense says so and ends', async () => {
    failed(
      await lateen(['server', '-n', namespace, '--metrics-address=nowhere']),
      /metrics address "nowhere"/,
    )
    failed(await lateen(['server', '--log-level=loud']), /--log-level must be one of trace, debug/)
    failed(await lateen(['server', '--store-validation-frequency=-1m']), /must not be negative/)
    failed(await lateen(['server', '--client-qps=fast']), /--client-qps must be a number/)
  })

  it('a server takes the flags of a Velero manifest, answers version requests, and stops when told to', async () => {
    const server = spawn(
      process.execPath,
      [
        ...[
          launcher,
          'server',
          '--namespace',
          namespace,
          '--metrics-address=127.0.0.1:0',
          '--log-format=json',
        ],
        ...[
          '--features=EnableCSI',
          '--uploader-type=kopia',
          '--default-volumes-to-fs-backup=true',
          '--client-qps=50',
        ],
        ...[
          '--garbage-collection-frequency=1h0m0s',
          '--default-volume-snapshot-locations=aws:default',
          '--log-level=debug',
        ],
      ],
      {
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', KUBECONFIG: given.cluster.kubeconfigPath },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    const log = server.stderr.setEncoding('utf8').toArray()
    const version = await lateen(['version', '-n', namespace, '--timeout', '120s'])
    const exited = once(server, 'exit')
    server.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null], (await log).join(''))
    assert.match(version.stdout, /\nServer:\n\tVersion: v\d/)
    const lines = (await log).join('').trimEnd().split('\n')
    assert.ok(lines.length > 0)
    for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), line)
  })
})
