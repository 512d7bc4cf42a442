import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { bothPrograms, type Program } from './both-programs.ts'

const given = await givenCluster({})
const both = await bothPrograms(given)
const namespace = `cli-verbs-${randomBytes(3).toString('hex')}`
const programs = ['lateen', 'velero'] as const

const at = (program: Program, ...args: string[]) => both.run(program, ['-n', namespace, ...args])

async function apply(object: object, where = namespace): Promise<void> {
  await given.cluster.kubectl(['apply', '-n', where, '-f', '-'], { stdin: JSON.stringify(object) })
}

describe('verbs of lateen beside those of velero', { skip: both.skip, concurrency: false }, () => {
  let server: AsyncDisposable

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(namespace)
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('repo get shows the same tables and objects', async () => {
    const repository = (name: string, labels: Record<string, string>) => ({
      apiVersion: 'velero.io/v1',
      kind: 'BackupRepository',
      metadata: { name, labels },
      spec: {
        backupStorageLocation: 'files',
        maintenanceFrequency: '1h0m0s',
        repositoryType: 'kopia',
        volumeNamespace: 'shop',
      },
    })
    // No server works on repositories here. Velero lists those of all namespaces, and other files make some.
    const still = `${namespace}-still`
    await given.cluster.kubectl(['create', 'namespace', still])
    await apply(repository('new-one', { run: namespace }), still)
    await apply(repository('shop-files-kopia', { run: namespace, team: 'web' }), still)
    const status = { phase: 'Ready', lastMaintenanceTime: '2026-01-02T03:04:05Z' }
    await given.cluster.kubectl([
      ...['patch', 'backuprepository', 'shop-files-kopia', '-n', still, '--type=merge'],
      ...['-p', JSON.stringify({ status })],
    ])
    for (const args of [
      ['-l', `run=${namespace}`],
      ['shop-files-kopia'],
      ['-l', `team=web,run=${namespace}`, '-L', 'team', '--show-labels'],
      ['-l', 'team=nobody'],
    ]) {
      const [ours, theirs] = await Promise.all(
        programs.map(program => both.run(program, ['-n', still, 'repo', 'get', ...args])),
      )
      assert.equal(ours, theirs, args.join(' '))
    }
    const [ours, theirs] = await Promise.all(
      programs.map(async program =>
        parse(await both.run(program, ['-n', still, 'repo', 'get', 'new-one', '-o', 'yaml'])),
      ),
    )
    assert.deepEqual(ours.spec, theirs.spec)
    assert.equal(ours.kind, theirs.kind)
    await given.cluster.kubectl(['delete', 'namespace', still, '--wait=false'])
  })

  it('plugin get shows the same plugins of the server', async () => {
    const [ours, theirs] = await Promise.all(
      programs.map(program => at(program, 'plugin', 'get', '--timeout=60s')),
    )
    assert.equal(ours, theirs)
    assert.match(ours ?? '', /^velero\.io\/aws +ObjectStore$/m)
    const json = JSON.parse(await at('lateen', 'get', 'plugins', '-o', 'json', '--timeout=60s'))
    assert.equal(json.kind, 'ServerStatusRequest')
    assert.ok(json.status.plugins.length > 5)
  })

  it('plugin add and remove change a Deployment alike, each also what the other did', async () => {
    const deployment = (name: string, volumes: readonly object[]) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, labels: { component: 'velero' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { name } },
        template: {
          metadata: { labels: { name } },
          spec: { containers: [{ name: 'velero', image: 'x' }], volumes },
        },
      },
    })
    const podSpec = async () => {
      const text = await given.cluster.kubectl(['get', 'deployment', 'server', '-n', namespace, '-o', 'json'])
      return JSON.parse(text).spec.template.spec
    }
    for (const volumes of [[], [{ name: 'plugins', emptyDir: {} }]]) {
      const specs: object[] = []
      for (const [one, other] of [programs, programs.toReversed()] as [Program, Program][]) {
        await apply(deployment('server', volumes))
        await at(one, 'plugin', 'add', 'registry:5000/team/some_plugin:v1', '--confirm')
        await at(one, 'plugin', 'add', 'team/other-plugin:v2', '--confirm', '--image-pull-policy=Always')
        specs.push(await podSpec())
        await at(other, 'plugin', 'remove', 'registry:5000/team/some_plugin:v1')
        const left = (await podSpec()).initContainers
        assert.deepEqual(
          left.map(({ image, imagePullPolicy }: Record<string, string>) => [image, imagePullPolicy]),
          [['team/other-plugin:v2', 'Always']],
        )
        await at(other, 'plugin', 'remove', left[0].name)
        assert.equal((await podSpec()).initContainers, undefined)
        await given.cluster.kubectl(['delete', 'deployment', 'server', '-n', namespace])
      }
      assert.deepEqual(specs[0], specs[1])
    }
  })

  it('plugin add refuses an image that is there already', async () => {
    const spec = {
      containers: [{ name: 'velero', image: 'x' }],
      initContainers: [{ name: 'a', image: 'a/b:1' }],
    }
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'server', labels: { component: 'velero' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { name: 's' } },
        template: { metadata: { labels: { name: 's' } }, spec },
      },
    })
    const again = await both.end('lateen', ['-n', namespace, 'plugin', 'add', 'a/b:1', '--confirm'])
    assert.equal(again.status, 1)
    assert.match(again.stderr, /has the plugin a\/b:1 already/)
    await given.cluster.kubectl(['delete', 'deployment', 'server', '-n', namespace])
  })

  it('describe says that a backup is kept as the last good one of its schedule', async () => {
    await at(
      'lateen',
      ...['schedule', 'create', 'nightly', '--schedule=@yearly', '--skip-immediately=true'],
      ...['--include-namespaces', namespace, '--include-resources=configmaps'],
      '--annotations=lateen.dev/keep-last-good=true',
    )
    for (const name of ['first', 'second']) {
      await at('lateen', 'backup', 'create', name, '--from-schedule=nightly', '--wait')
    }
    assert.doesNotMatch(await at('lateen', 'backup', 'describe', 'first'), /^Kept:/m)
    assert.match(
      await at('lateen', 'backup', 'describe', 'second'),
      /^Kept: +as the last Completed backup of schedule nightly/m,
    )
    const json = JSON.parse(await at('lateen', 'backup', 'describe', 'second', '-o', 'json'))
    assert.equal(json.status.keptForSchedule, 'nightly')
  })
})

describe('lateen debug', { skip: both.skip, concurrency: false }, () => {
  const place = `${namespace}-debug`
  const canary = `canary-${randomBytes(8).toString('hex')}`
  let server: AsyncDisposable

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(place)
    const data = Buffer.from(canary).toString('base64')
    const objects = [
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'cloud' }, data: { cloud: data } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'agent', annotations: { note: `password=${canary}` } },
        spec: {
          initContainers: [{ name: 'early', image: 'x' }],
          containers: [
            { name: 'main', image: 'x', env: [{ name: 'AWS_SECRET_ACCESS_KEY', value: canary }] },
            { name: 'other', image: 'x', args: [`--api-key=${canary}`] },
          ],
        },
      },
      {
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: { name: 'keys' },
        spec: { provider: 'x', objectStorage: { bucket: 'b' }, config: { secretAccessKey: canary } },
      },
      // Velero makes no bundle without one.
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'velero', labels: { component: 'velero' } },
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: { containers: [{ name: 'velero', image: 'x' }] },
          },
        },
      },
    ]
    for (const object of objects) {
      await given.cluster.kubectl(['apply', '-n', place, '-f', '-'], { stdin: JSON.stringify(object) })
    }
    const flags = ['--include-namespaces', place, '--include-resources=configmaps', '--wait']
    await both.run('lateen', ['-n', place, 'backup', 'create', 'shop', ...flags])
    await both.run('lateen', ['-n', place, 'restore', 'create', 'again', '--from-backup=shop', '--wait'])
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', place, '--wait=false'])
  })

  async function unpacked(program: Program): Promise<{ files: string[]; folder: string }> {
    const folder = path.join(both.folder, `bundle-${program}`)
    const file = `${folder}.tar.gz`
    await mkdir(folder)
    await both.run(program, ['-n', place, 'debug', '--backup=shop', '--restore=again', '--output', file])
    await promisify(execFile)('tar', ['-xzf', file, '-C', folder])
    const { stdout } = await promisify(execFile)('find', ['.', '-type', 'f'], { cwd: folder })
    return { files: stdout.trim().split('\n').toSorted(), folder }
  }

  it('has the files of the bundle that velero makes, and no secret', async () => {
    const [ours, theirs] = await Promise.all([unpacked('lateen'), unpacked('velero')])
    const untimed = (file: string) => file.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z\.\d+\.json$/, '.json')
    const isOfThisMoment = (file: string) => /(server|download)\w*requests\.json$/.test(file)
    const names = (files: readonly string[]) => files.map(untimed).filter(file => !isOfThisMoment(file))
    assert.deepEqual(names(ours.files), names(theirs.files))
    assert.ok(names(ours.files).some(file => file.endsWith(`/core_v1/${place}/agent/main/main.log`)))
    const { stdout } = await promisify(execFile)('bash', ['-c', 'cat velero-bundle/*.txt'], {
      cwd: ours.folder,
    })
    assert.match(stdout, /^Name: +shop$/m)
    assert.match(stdout, /^Name: +again$/m)
    assert.match(stdout, /^Server:\n\tVersion: v/m)
    const log = await promisify(execFile)('cat', ['velero-bundle/backup_shop.log'], { cwd: ours.folder })
    assert.match(log.stdout, /shop/)
    const grep = promisify(execFile)('grep', ['-r', canary, '.'], { cwd: ours.folder })
    await assert.rejects(grep, { code: 1, stdout: '' })
    // The canary was there to be found.
    const found = await promisify(execFile)('grep', ['-rl', canary, '.'], { cwd: theirs.folder })
    assert.match(found.stdout, /pods/)
  })

  it('overwrites nothing, and refuses a backup that does not exist', async () => {
    const file = path.join(both.folder, 'bundle-lateen.tar.gz')
    const again = await both.end('lateen', ['-n', place, 'debug', '--output', file])
    assert.equal(again.status, 1)
    assert.match(again.stderr, /exists already/)
    const missing = await both.end('lateen', ['-n', place, 'debug', '--backup=nope', '--output', `${file}.2`])
    assert.equal(missing.status, 1)
    assert.match(missing.stderr, /backup "nope" does not exist/)
  })
})
