import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  type Backup,
  BackupKind,
  type DownloadRequest,
  DownloadRequestKind,
  lateenAnnotation,
} from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, unlessNotFound } from '@lateen/kube'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { type Ended, type Lateen, lateenFor, started } from './cli-runner.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')
const given = await givenCluster()
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-cli-backup-'))
after(() => rm(folder, { recursive: true }))
const namespace = `cli-backup-${randomBytes(3).toString('hex')}`

function run(...args: string[]): Promise<Ended> {
  return lateen(['-n', namespace, ...args])
}

function succeeded(ended: Ended, stdout: RegExp): void {
  assert.equal(ended.stderr, '')
  assert.match(ended.stdout, stdout)
  assert.equal(ended.status, 0)
}

function failed(ended: Ended, message: RegExp): void {
  assert.match(ended.stderr, message)
  assert.match(ended.stderr, /^An error occurred: [^\n]+\n$/)
  assert.equal(ended.status, 1)
}

/** Serves HTTP until the test ends. */
async function serving(test: { after(stop: () => void): void }, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('lateen backup', { skip: given.skip, concurrency: false }, () => {
  let client: KubeClient

  before(async () => {
    succeeded(await lateen(['install', '--crds-only']), /installed/)
    await given.cluster.kubectl(['create', 'namespace', namespace])
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
  })
  after(async () => {
    await client[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  const backups = () => client.resource(BackupKind, namespace)

  /** Makes a backup that has ended already, as one found in a bucket. */
  async function ended(
    name: string,
    phase: NonNullable<Backup['status']>['phase'] = 'Completed',
  ): Promise<void> {
    const status = { ...(phase && { phase }) }
    const object = {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name, namespace },
      spec: {},
      status,
    }
    await backups().create(object)
  }

  /** Answers the next request for a file, as a server would. */
  async function answerNext(body: object): Promise<void> {
    const requests = client.resource(DownloadRequestKind, namespace)
    const signal = AbortSignal.timeout(120_000)
    // One that has just been withdrawn is not it.
    const isAnswered = async ({ metadata: { name = '' } }: DownloadRequest) =>
      (await requests.patch(name, { type: 'merge', body }).catch(unlessNotFound)) !== undefined
    const listing = requests.list({ signal })
    for await (const request of listing) if (await isAnswered(request)) return
    const { resourceVersion } = listing
    for await (const event of requests.watch({ resourceVersion, signal })) {
      if (event.type === 'ADDED' && (await isAnswered(event.object))) return
    }
  }

  const created = (name: string) =>
    untilSeen(`backup ${name}`, () => backups().get(name).catch(unlessNotFound))

  function answerWithLink(downloadURL: string): Promise<void> {
    return answerNext({ status: { phase: 'Processed', downloadURL } })
  }

  async function noRequestsLeft(): Promise<void> {
    assert.deepEqual(await client.resource(DownloadRequestKind, namespace).list().toArray(), [])
  }

  it('sends what its flags say, and says how to see more', async () => {
    const created = await run(
      'create',
      'backup',
      'sent',
      '--include-namespaces=a,b',
      '--labels=x=y',
      '--ttl=1h',
    )
    succeeded(
      created,
      /^Backup request "sent" submitted successfully\.\nRun `lateen backup describe sent` or .*\n$/,
    )
    const { metadata, spec } = await backups().get('sent')
    assert.deepEqual(metadata.labels, { x: 'y' })
    assert.deepEqual([spec.includedNamespaces, spec.ttl], [['a', 'b'], '1h0m0s'])
    failed(await run('backup', 'create', 'sent'), /backup "sent" already exists in namespace/)
  })

  it('shows instead of sending with -o', async () => {
    const shown = await run('backup', 'create', 'shown', '-o', 'yaml')
    assert.equal(parse(shown.stdout).metadata.name, 'shown')
    failed(
      await run('backup', 'get', 'shown'),
      /backup "shown" does not exist in namespace .*'lateen backup get'/,
    )
  })

  /** Begins to create a backup and to wait for its end; what is said meanwhile can be read. */
  function startWaiting(name: string) {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, KUBECONFIG: given.cluster.kubeconfigPath }
    const args = [launcher, '-n', namespace, 'backup', 'create', name, '--wait']
    return started(process.execPath, args, { env })
  }

  for (const [phase, status] of [
    ['Completed', 0],
    ['PartiallyFailed', 1],
    ['FailedValidation', 1],
  ] as const) {
    it(`waits for the end, and exits with ${status} when that is ${phase}`, async () => {
      const name = `waited-${phase.toLowerCase()}`
      const { said, ended } = startWaiting(name)
      await created(name)
      const patch = (body: object) => backups().patch(name, { type: 'merge', body: { status: body } })
      await patch({ phase: 'InProgress', progress: { totalItems: 10, itemsBackedUp: 5 } })
      const progress = /\nWaiting for the backup to end\.[^\n]*\n[\s\S]*InProgress \d+s, 5\/10 items\n/
      await said(progress)
      await patch({ phase })
      const { stdout, stderr, status: exitCode } = await ended
      assert.equal(stderr, '')
      assert.match(stdout, progress)
      assert.ok(stdout.includes(`\nBackup completed with status: ${phase}. Run `))
      assert.equal(exitCode, status)
    })
  }

  it('stops waiting at Ctrl-C, and leaves the backup alone', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, KUBECONFIG: given.cluster.kubeconfigPath }
    const child = spawn(process.execPath, [launcher, '-n', namespace, 'backup', 'create', 'left', '-w'], {
      env,
    })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      if (!said.includes('Waiting') && `${said}${text}`.includes('Waiting')) child.kill('SIGINT')
      said += text
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 130)
    assert.match(
      said,
      /\nStopped waiting\. The backup goes on: run `lateen backup describe left` to see how far it is\.\n$/,
    )
    assert.equal((await backups().get('left')).metadata.deletionTimestamp, undefined)
  })

  it('says when the backup it waits for is deleted', async () => {
    const waiting = run('backup', 'create', 'doomed', '--wait')
    await created('doomed')
    await backups().delete('doomed')
    failed(await waiting, /backup "doomed" was deleted while it was waited for/)
  })

  it('requests deletions, and says that nobody serves them', async () => {
    await ended('unwanted')
    const asked = await run('backup', 'delete', 'unwanted', 'nothing', '--confirm')
    assert.match(asked.stdout, /^Request to delete backup "unwanted" submitted successfully\.\n/)
    assert.match(asked.stdout, /\nNo server in namespace \S+ has taken the request up yet: .*\n$/)
    failed(asked, /backup "nothing" does not exist/)
    failed(await run('backup', 'delete'), /you must specify exactly one of: specific backup name\(s\)/)
    succeeded(await run('backup', 'delete', '-l', 'no=such', '--confirm'), /^No backups found\n$/)
    const answered = await lateen(['-n', namespace, 'delete', 'backup', '--all'], { stdin: 'n\n' })
    succeeded(answered, /Are you sure/)
  })

  it('has no log of a backup that still runs', async () => {
    await ended('running', 'InProgress')
    failed(
      await run('backup', 'logs', 'running'),
      /logs for backup "running" are not available .* it is InProgress/,
    )
  })

  it('prints the log of a backup, unpacked, and withdraws its request', async test => {
    await ended('logged')
    const text = 'a line\n'.repeat(100_000)
    const url = await serving(test, (_, response) => void response.end(gzipSync(text)))
    const [printed] = await Promise.all([run('backup', 'logs', 'logged'), answerWithLink(url)])
    assert.equal(printed.stdout, text)
    assert.equal(printed.status, 0)
    await noRequestsLeft()
  })

  it('tells the reason that the server gives for having no link', async () => {
    await ended('unlinked')
    const reason = { metadata: { annotations: { [lateenAnnotation('error')]: 'the bucket is on fire' } } }
    const [printed] = await Promise.all([run('backup', 'logs', 'unlinked'), answerNext(reason)])
    failed(printed, /the server cannot make a link: the bucket is on fire/)
    await noRequestsLeft()
  })

  it('gives up when no server answers in time', async () => {
    await ended('unanswered')
    failed(
      await run('backup', 'logs', 'unanswered', '--timeout=300ms'),
      /no link came from a server .* in time .*check that/,
    )
    await noRequestsLeft()
  })

  it('leaves no half file of a download that breaks off', async test => {
    await ended('cut')
    const url = await serving(test, (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 }).write('x'.repeat(1000))
      setTimeout(() => response.destroy(), 50)
    })
    const target = path.join(folder, 'cut')
    await mkdir(target)
    const file = path.join(target, 'file.tar.gz')
    const [downloaded] = await Promise.all([
      run('backup', 'download', 'cut', '-o', file),
      answerWithLink(url),
    ])
    failed(downloaded, /the file broke off: .*try again/)
    assert.deepEqual(await readdir(target), [])
  })

  it('says what cannot be reached, or is not there', async test => {
    await ended('away')
    const nobody = 'http://127.0.0.1:1/bucket/file?signature=none'
    const [away] = await Promise.all([run('backup', 'logs', 'away'), answerWithLink(nobody)])
    failed(away, /http:\/\/127\.0\.0\.1:1 cannot be reached from here: .*publicUrl/)
    const empty = await serving(test, (_, response) => void response.writeHead(404).end())
    const [missing] = await Promise.all([run('backup', 'logs', 'away'), answerWithLink(empty)])
    failed(missing, /the object store does not have this file/)
  })

  describe('with TLS', () => {
    const authority = path.join(folder, 'ca.pem')
    let link = ''

    before(async () => {
      const { clusters } = parse(await readFile(given.cluster.kubeconfigPath, 'utf8'))
      const {
        server,
        'certificate-authority-data': data,
        'certificate-authority': file,
      } = clusters[0].cluster
      await writeFile(authority, data ? Buffer.from(data, 'base64') : await readFile(file))
      // The API server answers this to anybody, with a certificate of an authority that nobody else knows.
      link = `${server}/livez`
      await ended('secret')
    })

    async function download(...flags: string[]): Promise<Ended> {
      const file = path.join(folder, 'tls')
      await rm(file, { force: true })
      const [done] = await Promise.all([
        run('backup', 'download', 'secret', '-o', file, ...flags),
        answerWithLink(link),
      ])
      if (done.status === 0) assert.equal(await readFile(file, 'utf8'), 'ok')
      return done
    }

    it('does not believe an authority that nobody named', async () => {
      failed(await download(), /certificate.*--cacert, or accept any with --insecure-skip-tls-verify/)
    })

    it('believes the authority of --cacert, or anybody if told to', async () => {
      succeeded(await download('--cacert', authority), /^Backup secret has been successfully downloaded to /)
      succeeded(await download('--insecure-skip-tls-verify'), /successfully downloaded/)
      failed(await run('backup', 'download', 'secret', '--cacert=/no/such'), /--cacert names \/no\/such/)
    })

    it('believes the authority that the location names', async () => {
      const pem = await readFile(authority)
      await given.cluster.kubectl([
        'create',
        'secret',
        'generic',
        'ca',
        '-n',
        namespace,
        `--from-file=pem=${authority}`,
      ])
      const location = (name: string, trust: object) => ({
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: { name, namespace },
        spec: { provider: 'aws', objectStorage: { bucket: 'b', ...trust } },
      })
      const locations = [
        location('inline', { caCert: pem.toString('base64') }),
        location('referring', { caCertRef: { name: 'ca', key: 'pem' } }),
        location('mistaken', { caCertRef: { name: 'ca', key: 'no' } }),
      ]
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: locations })
      await given.cluster.kubectl(['apply', '-f', '-'], { stdin: list })
      const move = (storageLocation: string) =>
        backups().patch('secret', { type: 'merge', body: { spec: { storageLocation } } })
      for (const name of ['inline', 'referring']) {
        await move(name)
        succeeded(await download(), /successfully downloaded/)
      }
      await move('mistaken')
      const { stderr } = await download()
      assert.match(stderr, /^WARNING: .*key no not found in secret ca\nAn error occurred: /)
    })
  })

  it('takes a backup from here without a server', async () => {
    const bucket = path.join(folder, 'local')
    const taken = await run('backup', 'create', 'mine', '--include-namespaces=default', '--local', bucket)
    succeeded(
      taken,
      /^Taking backup "mine" into \S+\. Volumes are not in it[\s\S]*completed with status: Completed: \d+ items/,
    )
    const files = await readdir(path.join(bucket, 'backups/mine'))
    assert.ok(files.includes('velero-backup.json') && files.includes('mine.tar.gz'), files.join())
    failed(await run('backup', 'create', 'mine', '--local', bucket), /is there already/)
    failed(
      await run('backup', 'create', 'x', '--local', bucket, '--storage-location=y'),
      /--local and --storage-location cannot be used together/,
    )
    failed(await run('backup', 'get', 'mine'), /does not exist/)
  })
})
