import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { tool } from '../../tools/binaries/tool.ts'
import { ToolError } from '../../tools/binaries/tool-error.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { type Ended, ended } from '../cluster/cli-runner.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')
const given = await givenCluster({ s3: true })
const velero = await tool('velero').catch((error: unknown) => {
  if (error instanceof ToolError) return error
  throw error
})
const skip = given.skip || (velero instanceof ToolError && velero.message)

const folder = await mkdtemp(path.join(tmpdir(), 'lateen-velero-cli-'))
after(() => rm(folder, { recursive: true }))
const namespace = `velero-cli-${randomBytes(3).toString('hex')}`

function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: folder, TZ: 'UTC', KUBECONFIG: given.cluster.kubeconfigPath }
}

async function run(program: 'lateen' | 'velero', args: readonly string[]): Promise<string> {
  const [file, ...first] = program === 'lateen' ? [process.execPath, launcher] : [String(velero)]
  const end: Ended = await ended(file ?? '', [...first, ...args], { stdin: '', env: environment() })
  assert.equal(end.status, 0, `${program} ${args.join(' ')}: ${end.stderr}`)
  return end.stdout
}

function inNamespace(program: 'lateen' | 'velero', ...args: string[]): Promise<string> {
  return run(program, ['--namespace', namespace, ...args])
}

describe('velero and lateen at the same cluster', { skip, concurrency: false }, () => {
  let server: ChildProcess
  let serverLog = ''

  before(async () => {
    await run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', namespace])
    server = spawn(
      process.execPath,
      [
        launcher,
        'server',
        `--namespace=${namespace}`,
        '--metrics-address=127.0.0.1:0',
        '--store-validation-frequency=0',
        // Both programs print whole objects, one after the other: nothing is noted in them meanwhile.
        '--backup-sync-period=0s',
      ],
      { env: environment(), stdio: ['ignore', 'ignore', 'pipe'] },
    )
    server.stderr?.on('data', chunk => {
      serverLog += chunk
    })
  })

  after(async () => {
    const stopped = once(server, 'exit')
    server.kill('SIGTERM')
    assert.deepEqual(await stopped, [0, null], serverLog)
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  async function available(location: string): Promise<void> {
    await waitUntil(
      async () => / Available /.test(await inNamespace('velero', 'backup-location', 'get', location)),
      {
        timeoutMs: 120_000,
        failure: () => new Error(`${location} is not Available; the server says:\n${serverLog}`),
      },
    )
  }

  it('velero shows a filesystem location that lateen made as Available', async () => {
    await mkdir(path.join(folder, 'store/bucket'), { recursive: true })
    const config = `path=${folder}/store`
    await inNamespace(
      'lateen',
      ...[
        'backup-location',
        'create',
        'files',
        '--provider=filesystem',
        '--bucket=bucket',
        `--config=${config}`,
      ],
    )
    await available('files')
  })

  it('velero shows an S3 location that lateen made as Available', async () => {
    const { s3 } = given.cluster
    const credentials = path.join(folder, 'credentials')
    await writeFile(
      credentials,
      `[default]\naws_access_key_id=${s3.accessKeyId}\naws_secret_access_key=${s3.secretAccessKey}\n`,
    )
    await given.cluster.kubectl([
      ...['create', 'secret', 'generic', 's3', '-n', namespace, `--from-file=cloud=${credentials}`],
    ])
    await inNamespace(
      'lateen',
      ...['backup-location', 'create', 'objects', '--provider=aws', `--bucket=${s3.bucket}`],
      ...['--prefix', namespace, '--credential=s3=cloud', '--default'],
      `--config=region=${s3.region},s3ForcePathStyle=true,s3Url=${s3.endpoint}`,
    )
    await available('objects')
  })

  it('lateen shows a location that velero made, in the same words', async () => {
    await inNamespace(
      'velero',
      ...[
        'backup-location',
        'create',
        'theirs',
        '--provider=filesystem',
        '--bucket=bucket',
        '--labels=by=velero',
      ],
      ...['--prefix=theirs', '--access-mode=ReadOnly', `--config=path=${folder}/store`],
    )
    await available('theirs')
    for (const args of [
      ['backup-location', 'get'],
      ['get', 'backup-locations', 'theirs', 'files'],
      ['backup-location', 'get', '--default'],
      ['backup-location', 'get', '-l', 'by=velero', '-L', 'by', '--show-labels'],
      ['backup-location', 'get', '-l', 'by=nobody'],
    ]) {
      assert.equal(await inNamespace('lateen', ...args), await inNamespace('velero', ...args), args.join(' '))
    }
    assert.match(await inNamespace('lateen', 'backup-location', 'get', 'theirs'), / Available /)
  })

  it('both print the same objects as json and yaml', async () => {
    for (const args of [[], ['theirs']]) {
      const ours = JSON.parse(await inNamespace('lateen', 'backup-location', 'get', ...args, '-o', 'json'))
      const theirs = JSON.parse(await inNamespace('velero', 'backup-location', 'get', ...args, '-o', 'json'))
      assert.equal(ours.kind, theirs.kind)
      assert.deepEqual(ours.items ?? ours.spec, theirs.items ?? theirs.spec)
    }
    assert.deepEqual(
      parse(await inNamespace('lateen', 'backup-location', 'get', 'objects', '-o', 'yaml')),
      parse(await inNamespace('velero', 'backup-location', 'get', 'objects', '-o', 'yaml')),
    )
  })

  it('both build the same location from the same flags', async () => {
    const flags = [
      ...[
        '--provider=aws',
        '--bucket=b',
        '--prefix=p',
        '--config=a=1,b=2',
        '--credential=s=k',
        '--labels=l=m',
      ],
      ...[
        '--default',
        '--access-mode=ReadOnly',
        '--backup-sync-period=90m',
        '--validation-frequency=0',
        '-o=json',
      ],
    ]
    const built = async (program: 'lateen' | 'velero') =>
      JSON.parse(await inNamespace(program, 'backup-location', 'create', 'built', ...flags))
    const { metadata, spec, kind, apiVersion } = await built('velero')
    delete metadata.creationTimestamp
    assert.deepEqual(await built('lateen'), { metadata, spec, kind, apiVersion })
  })

  it('each side changes and deletes locations of the other', async () => {
    await inNamespace('lateen', 'backup-location', 'set', 'objects', '--default=false')
    const validated = () =>
      given.cluster.kubectl([
        ...['get', 'backupstoragelocation', 'theirs', '-n', namespace],
        '-o=jsonpath={.status.lastValidationTime}',
      ])
    const before = await validated()
    await inNamespace('lateen', 'backup-location', 'set', 'theirs', '--default')
    // Velero's program writes back what it has read: the server has noted by then that it looked again.
    await untilSeen('theirs looked at again', async () => (await validated()) !== before)
    await inNamespace('velero', 'backup-location', 'set', 'theirs', '--default=false')
    assert.equal(await inNamespace('lateen', 'backup-location', 'get', '--default'), '')
    await inNamespace('lateen', 'backup-location', 'delete', 'theirs', '--confirm')
    await inNamespace('velero', 'backup-location', 'delete', 'files', '--confirm')
    const left = JSON.parse(await inNamespace('velero', 'backup-location', 'get', '-o', 'json'))
    assert.equal(left.metadata.name, 'objects')
  })

  it('velero sees the version of our server', async () => {
    const ours = await inNamespace('lateen', 'version', '--timeout=60s')
    const theirs = await inNamespace('velero', 'version', '--timeout=60s')
    const serverVersion = /^Server:\n\tVersion: (v\S+)$/m
    assert.match(ours, /^Client:\n\tVersion: v\S+\n\tGit commit: \S+\nServer:\n\tVersion: v\S+\n$/)
    assert.equal(serverVersion.exec(theirs)?.[1], serverVersion.exec(ours)?.[1])
  })

  it('share one client configuration', async () => {
    await run('velero', ['client', 'config', 'set', 'namespace=from-velero', 'features=EnableCSI'])
    assert.equal(
      await run('lateen', ['client', 'config', 'get']),
      await run('velero', ['client', 'config', 'get']),
    )
    await run('lateen', ['client', 'config', 'set', 'namespace=from-lateen', 'features='])
    assert.equal(await run('velero', ['client', 'config', 'get']), 'namespace: from-lateen\n')
    await run('lateen', ['client', 'config', 'set', 'namespace='])
    const missing = ['client', 'config', 'get', 'cacert']
    assert.equal(await run('lateen', missing), await run('velero', missing))
  })
})

interface Printed {
  kind: string
  metadata: { name: string; creationTimestamp?: null }
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds, some of whose fields are put aside
  [field: string]: any
}

describe('lateen install --dry-run', { skip }, () => {
  /** What both print, without definitions (compared elsewhere), empty fields, and the differences there must be. */
  async function printed(program: 'lateen' | 'velero', flags: readonly string[]): Promise<Printed[]> {
    const { items } = parse(await run(program, ['install', '--dry-run', '-o', 'yaml', ...flags])) as {
      items: Printed[]
    }
    const rest = items.filter(item => item.kind !== 'CustomResourceDefinition')
    for (const { metadata, spec } of rest) {
      delete metadata.creationTimestamp
      if (spec?.template === undefined) continue
      delete spec.template.metadata.creationTimestamp
      const [container] = spec.template.spec.containers
      // Velero passes `--features=` on when there are none.
      container.args = container.args.filter((arg: string) => arg !== '--features=')
      if (program === 'lateen') withoutAdditions(metadata, spec.template.spec)
    }
    return rest
  }

  /** Takes off what confines our pods, and tells more about them, than Velero's. Fails when something of it is missing. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  function withoutAdditions(metadata: any, pod: any): void {
    const [container] = pod.containers
    if (container.name === 'node-agent-windows') return
    const take = (list: { name: string }[], name: string) => {
      const index = list.findIndex(each => each.name === name)
      assert.notEqual(index, -1, name)
      list.splice(index, 1)
    }
    take(pod.volumes, 'tmp')
    take(container.volumeMounts, 'tmp')
    take(container.env, 'HOME')
    take(container.env, 'TMPDIR')
    assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' })
    delete pod.securityContext.seccompProfile
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
    if (container.name === 'velero') {
      assert.equal(metadata.labels['velero.io/uploader-type'], 'kopia')
      delete metadata.labels['velero.io/uploader-type']
      delete pod.securityContext
      delete container.securityContext
      assert.ok(container.readinessProbe)
      delete container.readinessProbe
    } else {
      delete container.securityContext.readOnlyRootFilesystem
      delete container.securityContext.allowPrivilegeEscalation
    }
  }

  const secret = `--secret-file=${path.join(folder, 'secret')}`
  const cases: Record<string, string[]> = {
    'a usual installation': [
      '--provider=aws',
      '--bucket=b',
      '--plugins=velero/velero-plugin-for-aws:v1.14.0',
      secret,
    ],
    'one without storage': ['--no-default-backup-location', '--use-volume-snapshots=false', '--no-secret'],
    'one with node agents': [
      ...['--provider=aws', '--bucket=b', '--plugins=a/b:1,c.io:80/d/e_f.g:2,h', secret, '--use-node-agent'],
      ...[
        '--use-node-agent-windows',
        '--privileged-node-agent',
        '--kubelet-root-dir=/k',
        '--features=EnableCSI',
      ],
      ...['--node-agent-pod-cpu-request=2000m', '--node-agent-pod-mem-limit=1Gi'],
      ...['--node-agent-priority-class-name=high', '--pod-annotations=a=b', '--pod-labels=c=d'],
    ],
    'one with every setting of the server': [
      ...['--provider=aws', '--bucket=b', '--prefix=p', '--plugins=a/b', '--no-secret', '--namespace=other'],
      ...[
        '--backup-location-config=region=r,s3Url=http://x',
        '--snapshot-location-config=region=r',
        '--restore-only',
      ],
      ...[
        '--sa-annotations=e=f',
        '--use-node-agent',
        '--node-agent-disable-host-path',
        '--schedule-skip-immediately',
      ],
      ...['--default-volumes-to-fs-backup', '--default-snapshot-move-data', '--disable-informer-cache'],
      ...[
        '--csi-snapshot-early-frequent-polling',
        '--garbage-collection-frequency=90m',
        '--concurrent-backups=3',
      ],
      ...[
        '--default-repo-maintain-frequency=2h',
        '--pod-volume-operation-timeout=5m',
        '--item-block-worker-count=2',
      ],
      ...['--server-priority-class-name=high', '--velero-pod-cpu-limit=0', '--velero-pod-mem-request=256Mi'],
      secret.replace('secret-file', 'cacert'),
    ],
    'one with a service account of its own': [
      ...['--provider=aws', '--bucket=b', '--plugins=a/b', '--no-secret', '--service-account-name=mine'],
      '--use-volume-snapshots=false',
    ],
  }
  for (const [title, flags] of Object.entries(cases)) {
    it(`prints what velero prints for ${title}`, async () => {
      await writeFile(path.join(folder, 'secret'), 'some bytes \u0000\u00ff')
      const image = '--image=example.com/image:1'
      assert.deepEqual(await printed('lateen', [...flags, image]), await printed('velero', [...flags, image]))
    })
  }
})
