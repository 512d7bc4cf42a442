import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { freePort } from '../../tools/test/free-port.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'

const given = await givenCluster({ own: true })
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-cli-faults-'))
after(() => rm(folder, { recursive: true }))

const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

/** Checks that a command failed as all do: with one line that holds the reason and what to do about it. */
function assertFails({ status, stdout, stderr }: Ended, reason: RegExp, hint: RegExp): void {
  assert.equal(status, 1, stderr + stdout)
  assert.match(stderr, /^An error occurred: [^\n]+\n$/)
  assert.match(stderr, reason)
  assert.match(stderr, hint)
}

interface Cluster {
  server: string
  'certificate-authority-data'?: string
}

/** A kubeconfig file for a server, and for a user who has what is named. */
async function kubeconfig(name: string, cluster: Cluster, user: object = {}): Promise<string> {
  const file = path.join(folder, name)
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }
  await writeFile(file, JSON.stringify(config))
  return file
}

async function clusterOf(file: string): Promise<{ cluster: Cluster; user: object }> {
  const { clusters, users } = JSON.parse(await readFile(file, 'utf8'))
  return { cluster: clusters[0].cluster, user: users[0].user }
}

async function listening(server: Server): Promise<{ port: number } & AsyncDisposable> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

describe('lateen and a kubeconfig that does not do', { skip: given.skip }, () => {
  const get = (file: string, ...more: string[]) => lateen(['--kubeconfig', file, 'backup', 'get', ...more])

  it('names a file that does not exist', async () => {
    assertFails(await get('/no/such/file'), /no file \/no\/such\/file/, /--kubeconfig FILE/)
  })

  it('names a file that is no YAML, and one that is no kubeconfig', async () => {
    const broken = path.join(folder, 'broken')
    await writeFile(broken, 'clusters: [')
    assertFails(await get(broken), new RegExp(`${broken} cannot be used: it is not valid YAML`), /correct/)
    await writeFile(broken, 'hello')
    assertFails(await get(broken), new RegExp(`${broken} cannot be used`), /correct|name another/)
  })

  it('names a context that does not exist, and those that do', async () => {
    assertFails(
      await lateen(['--kubecontext', 'nope', 'backup', 'get']),
      /it has no context "nope"/,
      /contexts in it: \S+/,
    )
  })

  it('says that the certificate of the server is of an unknown authority', async () => {
    const { cluster, user } = await clusterOf(given.cluster.kubeconfigPath)
    const other = await selfSigned('other')
    const data = other.cert.toString('base64')
    const file = await kubeconfig('unknown', { ...cluster, 'certificate-authority-data': data }, user)
    assertFails(await get(file), /signed by an unknown authority/, /certificate-authority does not match/)
  })

  it('says that the certificate of the server has expired', async () => {
    const { key, cert } = await selfSigned('expired', [
      '-startdate',
      '200101000000Z',
      '-enddate',
      '200102000000Z',
    ])
    await using server = await listening(createTlsServer({ key, cert }))
    const data = cert.toString('base64')
    const address = `https://127.0.0.1:${server.port}`
    const file = await kubeconfig('expired', { server: address, 'certificate-authority-data': data })
    assertFails(await get(file), /its certificate has expired/, /renew the certificate/)
  })

  it('names a credential plugin that is not installed', async () => {
    const { cluster } = await clusterOf(given.cluster.kubeconfigPath)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'no-such-credential-plugin',
      interactiveMode: 'Never',
    }
    const file = await kubeconfig('plugin', cluster, { exec })
    assertFails(await get(file), /credential plugin "no-such-credential-plugin"/, /log in again/)
  })
})

/** A key and a certificate for 127.0.0.1 that signs itself, by default valid now. */
async function selfSigned(name: string, dates: readonly string[] = ['-days', '1']) {
  const openssl = await tool('openssl')
  const file = (end: string) => path.join(folder, `${name}.${end}`)
  await writeFile(file('index'), '')
  const sections = [
    '[ca]\ndefault_ca = d',
    `[d]\ndatabase = ${file('index')}\nnew_certs_dir = ${folder}\nrand_serial = yes\ndefault_md = sha256`,
    'policy = p\nx509_extensions = e\nunique_subject = no\n[p]\ncommonName = supplied',
    '[e]\nsubjectAltName = IP:127.0.0.1\n[req]\ndistinguished_name = n\n[n]\n',
  ]
  await writeFile(file('cnf'), sections.join('\n'))
  await runCommand(openssl, [
    ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=test'],
    ...['-config', file('cnf'), '-keyout', file('key'), '-out', file('csr')],
  ])
  await runCommand(openssl, [
    ...['ca', '-batch', '-selfsign', '-notext', '-config', file('cnf'), '-keyfile', file('key')],
    ...['-in', file('csr'), '-out', file('crt'), ...dates],
  ])
  return { key: await readFile(file('key')), cert: await readFile(file('crt')) }
}

describe('lateen and an API server that cannot be reached', { skip: given.skip }, () => {
  it('says that the connection is refused', async () => {
    const file = await kubeconfig('refused', { server: `http://127.0.0.1:${await freePort()}` })
    assertFails(
      await lateen(['--kubeconfig', file, 'backup', 'get']),
      /cannot list backups.velero.io in namespace "velero" at http:\S+: connection refused/,
      /check that the API server runs/,
    )
  })

  it('says that the name does not resolve', async () => {
    const file = await kubeconfig('dns', { server: 'https://no-such-host.invalid:6443' })
    assertFails(
      await lateen(['--kubeconfig', file, 'schedule', 'get']),
      /the host name does not resolve/,
      /https:\/\/no-such-host.invalid:6443 is its address/,
    )
  })

  for (const args of [
    ['backup', 'get'],
    ['backup', 'create', 'x'],
    ['debug', '--output', path.join(folder, 'bundle.tar.gz')],
  ]) {
    it(`${args.slice(0, 2).join(' ')} gives up on one that says nothing, after the time it was given`, async () => {
      const sockets = new Set<import('node:net').Socket>()
      await using server = await listening(createServer(socket => void sockets.add(socket)))
      const file = await kubeconfig('silent', { server: `http://127.0.0.1:${server.port}` })
      const end = await lateen(['--kubeconfig', file, '--request-timeout=500ms', ...args])
      for (const socket of sockets) socket.destroy()
      assertFails(end, /no answer within the time limit/, /try again/)
    })
  }

  it('completes no names and says nothing', async () => {
    const file = await kubeconfig('quiet', { server: `http://127.0.0.1:${await freePort()}` })
    const end = await lateen(['__complete', '--kubeconfig', file, 'backup', 'describe', ''])
    assert.deepEqual(end, { status: 0, stdout: ':4\n', stderr: '' })
  })
})

describe('lateen and what is not installed', { skip: given.skip, concurrency: false }, () => {
  const definition = (version: string) =>
    JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'backups.velero.io' },
      spec: {
        group: 'velero.io',
        scope: 'Namespaced',
        names: { kind: 'Backup', plural: 'backups', singular: 'backup', listKind: 'BackupList' },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    })

  it('says that the cluster does not know backups', async () => {
    assertFails(await lateen(['backup', 'get']), /does not know backups/, /lateen install --crds-only/)
  })

  it('says that the cluster knows them in another version only', async () => {
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: definition('v7') })
    await untilEstablished(given.cluster, 'backups.velero.io')
    // The group is announced a moment after its kinds are served.
    const isAnnounced = () =>
      given.cluster.kubectl(['get', '--raw', '/apis/velero.io']).then(
        text => text.includes('"v7"'),
        () => false,
      )
    await untilSeen('v7', isAnnounced)
    assertFails(
      await lateen(['backup', 'get']),
      /serves velero.io in version v7, and this program speaks v1/,
      /lateen install --crds-only/,
    )
    await given.cluster.kubectl(['delete', 'crd', 'backups.velero.io'])
  })
})

describe('lateen in a cluster without a server', { skip: given.skip, concurrency: false }, () => {
  let reader = ''

  before(async () => {
    const installed = await lateen(['install', '--crds-only'])
    assert.equal(installed.status, 0, installed.stderr)
    await given.cluster.kubectl(['create', 'namespace', 'velero'])
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(ended('done')) })
    await given.cluster.kubectl([
      ...['patch', 'backup', 'done', '-n', 'velero', '--type=merge'],
      ...['-p', JSON.stringify({ status: { phase: 'Completed' } })],
    ])
    await given.cluster.kubectl(['create', 'serviceaccount', 'nobody', '-n', 'velero'])
    const token = await given.cluster.kubectl(['create', 'token', 'nobody', '-n', 'velero'])
    const { cluster } = await clusterOf(given.cluster.kubeconfigPath)
    reader = await kubeconfig('nobody', cluster, { token: token.trim() })
  })

  const ended = (name: string) => ({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace: 'velero' },
    spec: { storageLocation: 'default' },
  })

  it('backup logs and backup download say that nobody answers', async () => {
    for (const verb of ['logs', 'download']) {
      assertFails(
        await lateen(['backup', verb, 'done', '--timeout=1s']),
        /no link came from a server for namespace velero in time/,
        /check that the server runs/,
      )
    }
  })

  it('version and plugin get remark it, as velero does, and leave nothing behind', async () => {
    // Within this time the API server has to take the request, or it is named as who did not answer.
    const version = await lateen(['version', '--timeout=10s'])
    assert.equal(version.status, 0)
    assert.match(
      version.stdout,
      /<error getting server version: a server for namespace velero did not answer/,
    )
    const plugins = await lateen(['plugin', 'get', '--timeout=10s'])
    assert.equal(plugins.status, 0)
    assert.match(plugins.stdout, /^<error getting plugin information: a server for .* did not answer .*>\n$/)
    assert.equal(
      await given.cluster.kubectl(['get', 'serverstatusrequests', '-n', 'velero', '-o', 'name']),
      '',
    )
  })

  it('names the right that somebody does not have, where, and how to look', async () => {
    const denied: [string[], string, string][] = [
      [['backup', 'get'], 'list', 'backups.velero.io'],
      [['backup', 'describe', 'done'], 'get', 'backups.velero.io'],
      [['backup', 'create', 'x'], 'create', 'backups.velero.io'],
      [['schedule', 'delete', '--all', '--confirm'], 'list', 'schedules.velero.io'],
      [['repo', 'get'], 'list', 'backuprepositories.velero.io'],
      [['plugin', 'add', 'a/b', '--confirm'], 'list', 'deployments.apps'],
    ]
    for (const [args, verb, resource] of denied) {
      assertFails(
        await lateen(['--kubeconfig', reader, ...args]),
        new RegExp(`cannot ${verb} ${resource}[^\\n]*namespace "velero"`),
        new RegExp(`kubectl auth can-i ${verb} ${resource} --namespace velero`),
      )
    }
  })

  it('names a namespace that does not exist, when something is to be made there', async () => {
    assertFails(
      await lateen(['-n', 'nowhere', 'backup', 'create', 'x']),
      /namespace nowhere does not exist/,
      /kubectl create namespace nowhere/,
    )
  })

  it('says which plugins there are when one to remove is not', async () => {
    assertFails(
      await lateen(['plugin', 'remove', 'x']),
      /namespace velero has no Deployment of a server/,
      /lateen install/,
    )
  })

  it('run-plugins says where the plugins of this version are', async () => {
    assertFails(await lateen(['run-plugins', '--log-level=debug']), /run inside of its server/, /plugin get/)
  })

  it('commands of pods say what they miss when people run them', async () => {
    assertFails(await lateen(['node-agent', 'server']), /NODE_NAME is not set/, /DaemonSet/)
    for (const [work, flag] of [
      ['backup', 'data-upload'],
      ['restore', 'data-download'],
    ] as const) {
      const command = ['data-mover', work, '--volume-path=/v']
      assertFails(await lateen([...command, '--volume-mode=Block']), new RegExp(`--${flag}`), /node agents/)
      assertFails(
        await lateen([...command, `--${flag}=x`, '--volume-mode=Round']),
        /--volume-mode is "Round"/,
        /Filesystem or Block/,
      )
    }
    assertFails(
      await lateen(['pod-volume', 'backup', '--volume-path=/v']),
      /--pod-volume-backup/,
      /node agents/,
    )
    assertFails(
      await lateen(['pod-volume', 'restore', '--pod-volume-restore=r']),
      /--volume-path/,
      /node agents/,
    )
    assertFails(await lateen(['repo-maintenance', '--repo-type=kopia']), /--repo-name/, /Job/)
  })

  it('ends well when nobody reads on', async () => {
    const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')
    for (const args of ['completion bash', 'backup get', '--help']) {
      // The reader is gone before the first word is written.
      const script = `"$0" "$1" ${args} | true; exit "\${PIPESTATUS[0]}"`
      const env = { ...process.env, KUBECONFIG: given.cluster.kubeconfigPath }
      const child = spawn('bash', ['-c', script, process.execPath, launcher], { env })
      const stderr = child.stderr.setEncoding('utf8').toArray()
      const [status] = await once(child, 'close')
      assert.deepEqual([status, (await stderr).join('')], [0, ''], args)
    }
  })
})
