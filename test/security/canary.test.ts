import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { allKinds, BackupRepositoryKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import { type Lateen, lateenFor } from '../cluster/cli-runner.ts'
import { failedServer, type RunningServer } from '../cluster/storage-location-harness.ts'
import { CanaryWatch, newCanary } from './canaries.ts'

const given = await givenCluster({ s3: true })
const run = promisify(execFile)

describe('a secret that the server knows', { skip: given.skip, concurrency: false }, () => {
  const canaries = new Map([
    ['the secret key of a location with wrong credentials', newCanary(40)],
    ['the session token of that location', newCanary(64)],
    ['what a credentials file says that cannot be read', newCanary()],
    ['the password of repositories', newCanary()],
    ['the key for encryption', newCanary(32)],
    ['what is in a Secret that is backed up', newCanary()],
    ['what is in an annotation of that Secret', newCanary()],
    ["a key in the server's environment", newCanary(40)],
    ['the password of a proxy that a pod is told of', newCanary()],
  ])
  const canary = (what: string) => canaries.get(what) ?? assert.fail(what)
  let scene: ServerScene
  let server: RunningServer
  let watch: CanaryWatch
  let lateen: Lateen
  let folder = ''
  let token = ''
  let kubeconfig = ''
  const credentials = () => path.join(folder, 'credentials')
  const options = () => ({
    ...{ kubeconfig, logLevel: 'debug', backupSyncPeriod: 10_000, storeValidationFrequency: 10_000 },
    credentialsFolder: credentials(),
  })

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-canary-'))
    scene = await openServerScene(given.cluster, 'canary')
    token = await tokenOfServiceAccount()
    kubeconfig = await kubeconfigWith('kubeconfig', token)
    canaries.set('the token of a service account', token.split('.')[2] ?? '')
    canaries.set('the secret key of the object store', given.cluster.s3.secretAccessKey)
    watch = new CanaryWatch(canaries)
    lateen = await lateenFor(kubeconfig)
    await createSecrets()
    process.env.AWS_SECRET_ACCESS_KEY = canary("a key in the server's environment")
    process.env.AWS_ACCESS_KEY_ID = 'AKIDENVIRONMENT'
    server = await scene.start({ ...options(), downloadUrlBase: 'http://lateen.invalid' } as object)
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'clusterrolebinding', scene.namespace, '--ignore-not-found'])
    await given.cluster.kubectl([
      'delete',
      'namespace',
      `${scene.data}-again`,
      '--ignore-not-found',
      '--wait=false',
    ])
    await rm(folder, { recursive: true, force: true })
  })

  const create = (...items: object[]) =>
    given.cluster.kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })

  async function tokenOfServiceAccount(): Promise<string> {
    const { namespace } = scene
    const subject = `--serviceaccount=${namespace}:lateen`
    await given.cluster.kubectl(['create', 'serviceaccount', 'lateen', '-n', namespace])
    await given.cluster.kubectl([
      'create',
      'clusterrolebinding',
      namespace,
      '--clusterrole=cluster-admin',
      subject,
    ])
    return (await given.cluster.kubectl(['create', 'token', 'lateen', '-n', namespace])).trim()
  }

  async function kubeconfigWith(name: string, bearer: string): Promise<string> {
    const args = ['config', 'view', '--raw', '--flatten', '-o=json']
    const config = JSON.parse(await given.cluster.kubectl(args))
    for (const user of config.users) user.user = { token: bearer }
    const file = path.join(folder, name)
    await writeFile(file, JSON.stringify(config), { mode: 0o600 })
    return file
  }

  async function createSecrets(): Promise<void> {
    const { namespace, data } = scene
    const secret = (name: string, stringData: Record<string, string>) => ({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData },
    })
    const keys = (id: string, key: string) =>
      `[default]\naws_access_key_id=${id}\naws_secret_access_key=${key}\n`
    const wrong = canary('the secret key of a location with wrong credentials')
    const { accessKeyId, secretAccessKey } = given.cluster.s3
    await create(
      secret('wrong-key', { cloud: keys(accessKeyId, wrong) }),
      secret('unknown-id', { cloud: keys('AKIDUNKNOWN', wrong) }),
      secret('wrong-token', {
        cloud: `${keys(accessKeyId, secretAccessKey)}aws_session_token=${canary('the session token of that location')}\n`,
      }),
      secret('no-ini', { cloud: `{"key": "${canary('what a credentials file says that cannot be read')}"}` }),
      secret('customer-key', { key: canary('the key for encryption') }),
      secret('velero-repo-credentials', { 'repository-password': canary('the password of repositories') }),
      {
        ...{ apiVersion: 'v1', kind: 'Secret' },
        metadata: {
          ...{ name: 'tenant', namespace: data },
          annotations: { 'example.com/config': canary('what is in an annotation of that Secret') },
        },
        stringData: { password: canary('what is in a Secret that is backed up') },
      },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'plain', namespace: data }, data: { a: 'b' } },
      podBehindProxy(),
    )
  }

  /** Beside the server, where bundles have the pods from. The `#` should have been escaped. */
  function podBehindProxy(): object {
    const proxy = `http://me:#${canary('the password of a proxy that a pod is told of')}@proxy:3128`
    return {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'behind-proxy', namespace: scene.namespace } },
      spec: {
        serviceAccountName: 'lateen',
        containers: [{ name: 'c', image: 'i', env: [{ name: 'HTTPS_PROXY', value: proxy }] }],
      },
    }
  }

  async function createLocation(name: string, secret: string, config: Record<string, string> = {}) {
    const { s3 } = given.cluster
    await scene.locations.create(name, {
      provider: 'aws',
      objectStorage: { bucket: s3.bucket, prefix: `${scene.namespace}-${name}` },
      config: { region: s3.region, s3ForcePathStyle: 'true', s3Url: s3.endpoint, ...config },
      credential: { name: secret, key: 'cloud' },
    })
    await scene.locations.until(name, ({ phase }) => phase === 'Unavailable')
  }

  /** The files of the server's credentials. */
  async function credentialFiles(): Promise<string[]> {
    const files = await readdir(credentials(), { recursive: true, withFileTypes: true }).catch(() => [])
    return files.filter(file => file.isFile()).map(file => path.join(file.parentPath, file.name))
  }

  it('is in files that only its user can read, while it runs', async () => {
    // Each use of a location writes the file under another name first.
    const files = await waitUntil(
      async () => {
        const found = await credentialFiles()
        return found.length > 0 && found.every(file => !/\.[0-9a-f]{16}$/.test(file)) && found
      },
      { timeoutMs: 60_000, failure: () => new Error('there are no credentials') },
    )
    const held = await Promise.all(files.map(file => readFile(file, 'utf8')))
    assert.ok(held.some(text => text.includes(given.cluster.s3.secretAccessKey)))
    for (const file of files) {
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      assert.equal((await stat(path.dirname(file))).mode & 0o777, 0o700)
    }
  })

  it('is used in every way that there is', async () => {
    const https = given.cluster.s3.endpoint.replace('http:', 'https:')
    await Promise.all([
      createLocation('wrong-key', 'wrong-key'),
      createLocation('unknown-id', 'unknown-id'),
      createLocation('wrong-token', 'wrong-token'),
      createLocation('no-ini', 'no-ini'),
      createLocation('no-tls', 'wrong-key', { s3Url: https }),
      createLocation('encrypted', 'wrong-key', { customerKeyEncryptionSecret: 'customer-key/key' }),
      createLocation('nobody-there', 'wrong-key', { s3Url: 'http://127.0.0.1:1' }),
    ])
    const { group, version, kind } = BackupRepositoryKind
    const repositories = scene.client.resource(BackupRepositoryKind, scene.namespace)
    await repositories.create({
      ...{ apiVersion: `${group}/${version}`, kind },
      metadata: { name: 'repository', namespace: scene.namespace },
      spec: {
        ...{ volumeNamespace: scene.data, backupStorageLocation: 'default', repositoryType: 'kopia' },
        ...{ maintenanceFrequency: '1h0m0s', resticIdentifier: '' },
      },
    })
    await waitUntil(
      async () => (await repositories.get('repository')).status?.phase === 'Ready' || undefined,
      {
        timeoutMs: 60_000,
        failure: () => new Error('the repository does not become Ready'),
      },
    )
    const spec = { includedNamespaces: [scene.data] }
    assert.equal((await scene.backups.take('shop', spec)).status?.phase, 'Completed')
    const namespaceMapping = { [scene.data]: `${scene.data}-again` }
    const back = await scene.restores.run('back', { backupName: 'shop', namespaceMapping })
    assert.equal(back.status?.phase, 'Completed')
    const other = { stringData: { password: 'other' }, metadata: { annotations: null } }
    const place = ['-n', `${scene.data}-again`]
    await given.cluster.kubectl([
      'patch',
      'secret',
      'tenant',
      ...place,
      '--type=merge',
      '-p',
      JSON.stringify(other),
    ])
    for (const existingResourcePolicy of ['none', 'update'] as const) {
      const over = { backupName: 'shop', namespaceMapping, existingResourcePolicy }
      await scene.restores.run(`over-${existingResourcePolicy}`, over)
    }
    const bad = await scene.backups.take('bad', { storageLocation: 'wrong-key' })
    assert.equal(bad.status?.phase, 'FailedValidation')
  })

  it('is not in what the command line shows, diffs and bundles included', async () => {
    const shown = async (name: string, ...args: string[]) => {
      const { stdout, stderr } = await lateen(['-n', scene.namespace, ...args])
      assert.ok(stdout.length + stderr.length > 0, name)
      watch.look(`lateen ${args.join(' ')}`, stdout + stderr)
    }
    await shown('describe', 'backup', 'describe', 'shop', '--details')
    await shown('describe restore', 'restore', 'describe', 'over-none', '--details')
    await shown('logs', 'backup', 'logs', 'shop')
    await shown('restore logs', 'restore', 'logs', 'over-update')
    for (const noun of ['backup', 'backup-location', 'repo']) await shown(noun, noun, 'get', '-o', 'yaml')
    const other = JSON.stringify({ stringData: { password: 'other' }, metadata: { annotations: null } })
    await given.cluster.kubectl(['patch', 'secret', 'tenant', '-n', scene.data, '--type=merge', '-p', other])
    await shown('diff', 'backup', 'diff', 'shop', '--live', '-o', 'diff')
    await shown(
      'plan',
      'restore',
      'plan',
      '--from-backup',
      'shop',
      '--namespace-mappings',
      `${scene.data}:${scene.data}-again`,
    )
    await shown('doctor', 'doctor')
    await shown('version', 'version')
    const bundle = path.join(folder, 'bundle.tar.gz')
    const made = await lateen([
      '-n',
      scene.namespace,
      'debug',
      '--backup',
      'shop',
      '--restore',
      'back',
      '--output',
      bundle,
    ])
    assert.equal(made.status, 0, made.stderr)
    watch.look('lateen debug', made.stdout + made.stderr)
    const unpacked = gunzipSync(await readFile(bundle))
    assert.ok(unpacked.includes('http://<left-out>@proxy:3128'))
    watch.look('the debug bundle', unpacked)
    assert.deepEqual(watch.leaks, [])
  })

  it('is not in any object of the cluster but Secrets, nor in an event', async () => {
    const kinds = [
      ...allKinds.map(({ plural }) => `${plural}.velero.io`),
      'events',
      'configmaps',
      'leases',
      'jobs',
    ]
    for (const namespace of [scene.namespace, scene.data, `${scene.data}-again`]) {
      const args = ['get', kinds.join(','), '-n', namespace, '-o', 'yaml', '--show-managed-fields']
      const objects = await given.cluster.kubectl(args)
      assert.match(objects, /^kind: List$/m)
      watch.look(`objects in ${namespace}`, objects)
    }
    assert.deepEqual(watch.leaks, [])
  })

  it('is not in the bucket, but for the Secrets in the archives of those who back them up', async () => {
    for (const key of await scene.bucket.keys()) {
      const bytes = await scene.bucket.read(key)
      const isGzip = bytes.subarray(0, 2).toString('hex') === '1f8b'
      if (!key.endsWith('.tar.gz')) watch.look(`s3://${key}`, isGzip ? gunzipSync(bytes) : bytes)
    }
    for (const [entry, object] of await scene.bucket.unpack('shop')) {
      if (!entry.startsWith('resources/secrets/')) watch.look(`shop.tar.gz/${entry}`, JSON.stringify(object))
    }
    assert.ok(watch.places.includes('s3://backups/shop/shop-logs.gz'))
    assert.ok(watch.places.some(place => place.startsWith('s3://kopia/')))
    assert.deepEqual(watch.leaks, [])
  })

  it('is not in metrics, nor in the name or arguments of a process', async () => {
    watch.look('/metrics', await (await fetch(`${server.url}/metrics`)).text())
    const { stdout } = await run('ps', ['-eo', 'args', '-ww'], { maxBuffer: 1 << 26 })
    // The S3 server of the tests is told its key that way.
    const others = stdout.split('\n').filter(line => !line.includes('versitygw'))
    watch.look('ps', others.join('\n'))
    assert.deepEqual(watch.leaks, [])
  })

  it('is not in what the server says when it cannot start', async () => {
    const { namespace } = scene
    const attempts = {
      'a token of nobody': { namespace, kubeconfig: await kubeconfigWith('cut', token.slice(0, -40)) },
      'a namespace that is not there': { kubeconfig, namespace: 'no-such-namespace' },
      'a port that is taken': {
        kubeconfig,
        namespace,
        metricsAddress: `127.0.0.1:${new URL(server.url).port}`,
      },
    }
    const ends = Object.entries(attempts).map(async ([what, wrong]) => {
      const settings = { ...wrong, logLevel: 'debug', credentialsFolder: credentials() } as const
      const { code, output } = await failedServer(settings)
      assert.notEqual(code, 0, what)
      watch.look(`the end of a server with ${what}`, output)
    })
    await Promise.all(ends)
    assert.deepEqual(watch.leaks, [])
  })

  it('is gone from the disk when the server has ended, and after a kill when the next one has begun', async () => {
    await server.kill()
    watch.look('the log of the server', JSON.stringify(server.log))
    assert.notEqual((await credentialFiles()).length, 0)
    const left = await credentialFiles()
    server = await scene.start(options() as object)
    const now = await credentialFiles()
    assert.deepEqual(
      now.filter(file => left.includes(file)),
      [],
    )
    assert.equal(await server.stop(), 0)
    watch.look('the log of the next server', JSON.stringify(server.log))
    assert.deepEqual(await credentialFiles(), [])
    for (const file of await readdir(scene.scratch, { recursive: true, withFileTypes: true })) {
      if (file.isFile())
        watch.look(`scratch: ${file.name}`, await readFile(path.join(file.parentPath, file.name)))
    }
    assert.deepEqual(watch.leaks, [])
  })

  it('would have been seen', async () => {
    const seeing = new CanaryWatch(canaries)
    const text = canary('the password of repositories')
    seeing.look('plain', `x ${text} y`)
    for (const before of ['', 'a', 'ab', 'abc'])
      seeing.look('base64', Buffer.from(`${before}${text} and more`).toString('base64'))
    seeing.look('archive', JSON.stringify([...(await scene.bucket.unpack('shop')).values()]))
    assert.deepEqual(
      seeing.leaks.map(({ where }) => where),
      ['plain', 'base64', 'base64', 'base64', 'base64', 'archive', 'archive'],
    )
  })
})
