import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { createLocation } from '../cluster/backups.ts'
import { Locations } from '../cluster/storage-location-harness.ts'
import { bothPrograms, type Program } from './both-programs.ts'
import { withoutEmpty } from './without-empty.ts'

const given = await givenCluster({ s3: true })
const both = await bothPrograms(given)
const { skip } = both
const namespace = `velero-schedules-${randomBytes(3).toString('hex')}`

const meta = (name: string, more: object = {}) => ({
  name,
  namespace,
  labels: { 'test-namespace': namespace, ...more },
})
const schedule = (name: string, spec: object, status?: object) => ({
  apiVersion: 'velero.io/v1',
  kind: 'Schedule',
  metadata: meta(name, { a: 'b' }),
  spec,
  ...(status && { status }),
})

const shown = [
  schedule('bare', { schedule: '@daily', template: {} }),
  schedule(
    'failed',
    { schedule: '61 * * * *', template: { ttl: '24h0m0s' } },
    { phase: 'FailedValidation', validationErrors: ['invalid schedule: too much', 'and more'] },
  ),
  schedule(
    'rich',
    {
      schedule: 'CRON_TZ=Europe/Berlin 0 3 * * 1-5',
      paused: true,
      skipImmediately: true,
      useOwnerReferencesInBackup: true,
      template: {
        metadata: { labels: { of: 'template' } },
        ttl: '720h0m0s',
        csiSnapshotTimeout: '10m0s',
        itemOperationTimeout: '4h0m0s',
        includedNamespaces: ['shop', 'team-*'],
        excludedResources: ['events'],
        includeClusterResources: true,
        labelSelector: { matchLabels: { app: 'web' } },
        storageLocation: 'here',
        snapshotVolumes: false,
        defaultVolumesToFsBackup: true,
        orderedResources: { pods: 'shop/a,shop/b' },
        resourcePolicy: { kind: 'configmap', name: 'policies' },
        uploaderConfig: { parallelFilesUpload: 4 },
        hooks: {
          resources: [
            {
              name: 'quiesce',
              includedNamespaces: ['shop'],
              pre: [{ exec: { command: ['/bin/sh', '-c', 'sync'], container: 'db', onError: 'Fail' } }],
              post: [{ exec: { command: ['/bin/true'], timeout: '30s' } }],
            },
            { name: 'second', labelSelector: { matchLabels: { app: 'db' } } },
          ],
        },
      },
    },
    { phase: 'Enabled', lastBackup: '2026-01-02T03:04:05Z', lastSkipped: '2026-01-01T00:00:00Z' },
  ),
  schedule(
    'scoped',
    {
      schedule: '@every 6h',
      template: {
        includedClusterScopedResources: ['nodes'],
        excludedNamespaceScopedResources: ['secrets'],
        orLabelSelectors: [{ matchLabels: { a: 'b' } }, { matchLabels: { c: 'd' } }],
        datamover: 'mine',
      },
    },
    { phase: 'New' },
  ),
]
const snapshotLocation = (name: string) => ({
  apiVersion: 'velero.io/v1',
  kind: 'VolumeSnapshotLocation',
  metadata: meta(name, { tier: name }),
  spec: { provider: `${name}.example.org/snapshots`, config: { region: 'x' } },
})

/** What both say. Velero shows the schedules of all namespaces, unless names or labels choose. */
async function answers(args: readonly string[], env?: Record<string, string>): Promise<[string, string]> {
  const full = ['--namespace', namespace, '--colorized=false', ...args]
  return Promise.all([both.run('lateen', full, env), both.run('velero', full, env)])
}

describe('velero and lateen', { skip, concurrency: false }, () => {
  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', namespace])
    const items = [...shown, snapshotLocation('east'), snapshotLocation('west')]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin })
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']))

  const ours = `test-namespace=${namespace}`

  it('show schedules in the same tables', async () => {
    for (const args of [
      ['schedule', 'get', '-l', ours],
      ['get', 'schedules', 'scoped', 'bare'],
      ['get', 'schedule', '-l', ours, '-L', 'a', '--show-labels'],
      ['schedule', 'get', '-l', 'a=nothing'],
    ]) {
      const [mine, theirs] = await answers(args)
      assert.equal(mine, theirs, args.join(' '))
    }
    const [mine, theirs] = await answers(['schedule', 'get', 'rich', 'failed'], { TZ: 'Europe/Berlin' })
    assert.equal(mine, theirs)
    assert.match(mine, /^rich +Enabled .* CE?S?T +CRON_TZ=Europe\/Berlin 0 3 \* \* 1-5 +720h0m0s +\d+d ago/m)
  })

  it('describe schedules in the same words', async () => {
    for (const args of [
      ['schedule', 'describe', '-l', ours],
      ['describe', 'schedules', 'rich'],
      ['describe', 'schedule', 'failed', 'bare'],
    ]) {
      const [mine, theirs] = await answers(args)
      assert.equal(mine, theirs, args.join(' '))
    }
    const [mine, theirs] = await answers(['schedule', 'describe', 'rich'], { TZ: 'America/New_York' })
    assert.equal(mine, theirs)
    assert.match(mine, /^Last Backup: +2026-01-01 22:04:05 -0500 EST$/m)
  })

  it('show schedules and snapshot locations as the same objects', async () => {
    for (const { metadata } of shown) {
      const args = ['schedule', 'get', metadata.name, '-o', 'yaml']
      const [mine, theirs] = (await answers(args)).map(text => withoutEmpty(parse(text)))
      assert.deepEqual(mine, theirs)
    }
    const [mine, theirs] = (await answers(['snapshot-location', 'get', 'east', '-o', 'json'])).map(text =>
      withoutEmpty(JSON.parse(text)),
    )
    assert.deepEqual(mine, theirs)
  })

  it('show snapshot locations in the same tables', async () => {
    for (const args of [
      ['snapshot-location', 'get'],
      ['get', 'snapshot-locations', 'west', 'east'],
      ['get', 'snapshot-location', 'east', '-L', 'tier', '--show-labels'],
    ]) {
      const [mine, theirs] = await answers(args)
      assert.equal(mine, theirs, args.join(' '))
    }
  })

  const flags: readonly (readonly string[])[] = [
    ['--schedule=@daily'],
    ['--schedule', '0 */6 * * *', '--paused', '--use-owner-references-in-backup'],
    ['--schedule=@every 6h', '--skip-immediately', 'true', '--labels=a=b,c='],
    ['--schedule=@every 6h', '--skip-immediately=f', '--paused=false'],
    ['--schedule=@every 6h', '--skip-immediately='],
    [
      ...['--schedule=nonsense', '--include-namespaces=a,b', '--exclude-resources=secrets', '--ttl=90m'],
      ...['--csi-snapshot-timeout=1h', '--item-operation-timeout=1.5h', '-l', 'app=web,!test'],
      ...['--snapshot-volumes', '--snapshot-move-data=0', '--default-volumes-to-fs-backup'],
      ...['--data-mover=velero', '--parallel-files-upload=7', '--resource-policies-configmap=policies'],
      ...['--ordered-resources', 'pods=ns/a,ns/b; persistentvolumeclaims = ns/c'],
      ...['--volume-snapshot-locations=east,west', '--include-cluster-resources=false'],
    ],
    [
      ...['--schedule=@weekly', '--or-selector', 'a=b or c', '--include-cluster-scoped-resources=*'],
      ...['--exclude-namespace-scoped-resources=secrets'],
    ],
  ]
  for (const some of flags) {
    it(`build a schedule equally from ${JSON.stringify(some)}`, async () => {
      const args = ['create', 'schedule', 'made', ...some, '-o=yaml']
      const [mine, theirs] = (await answers(args)).map(text => withoutEmpty(parse(text)))
      assert.deepEqual(mine, theirs)
    })
  }

  it('build a snapshot location equally', async () => {
    const args = ['--provider=aws', '--config=region=x,profile=y', '--labels=a=b', '--credential=s=k']
    for (const some of [args.slice(0, 1), args]) {
      const answer = await answers(['create', 'snapshot-location', 'made', ...some, '-o=json'])
      const [mine, theirs] = answer.map(text => withoutEmpty(JSON.parse(text)))
      assert.deepEqual(mine, theirs)
    }
  })

  const refused: readonly (readonly string[])[] = [
    ['schedule', 'create', 'x'],
    ['schedule', 'create', 'x', '--schedule=@daily', '-l', 'a=b', '--or-selector', 'c=d'],
    ['schedule', 'create', 'x', '--schedule=@daily', '--include-namespaces=a', '--exclude-namespaces=a'],
    ['schedule', 'create', 'x', '--schedule=@daily', '--ordered-resources=pods'],
    ['schedule', 'pause'],
    ['schedule', 'unpause', 'x', '--all'],
    ['schedule', 'delete', '--confirm', '--all', '-l', 'a=b'],
    ['snapshot-location', 'create', 'x'],
    ['backup-location', 'delete', 'x', '--all', '--confirm'],
    ['restore', 'delete', '--confirm'],
  ]
  for (const args of refused) {
    it(`refuse ${JSON.stringify(args)} for the same reason`, async () => {
      const [mine, theirs] = await Promise.all([both.end('lateen', args), both.end('velero', args)])
      assert.deepEqual([mine.status, theirs.status], [1, 1])
      const reason = theirs.stderr
        .replace(/^velero: /, '')
        .replace(/^An error occurred: /, '')
        .trim()
        .replaceAll('\n', ' ')
      assert.ok(mine.stderr.startsWith(`An error occurred: ${reason}`), `${mine.stderr} is not ${reason}`)
    })
  }

  it('say the same when they create, pause, unpause, set and delete', async () => {
    const script = (name: string): readonly (readonly string[])[] => [
      ['schedule', 'create', name, '--schedule=@yearly', `--labels=test-namespace=${namespace}`],
      ['schedule', 'pause', name],
      ['schedule', 'pause', name],
      ['schedule', 'unpause', name, '--skip-immediately', 'true'],
      ['schedule', 'unpause', name],
      ['delete', 'schedule', name, '--confirm'],
      ['schedule', 'pause', '-l', 'a=nothing'],
      ['delete', 'schedules', '-l', 'a=nothing', '--confirm'],
      ['create', 'snapshot-location', name, '--provider=aws'],
      ['snapshot-location', 'set', name, '--credential=secret=key'],
    ]
    const said = { lateen: '', velero: '' }
    const left: Record<string, unknown> = {}
    for (const program of ['lateen', 'velero'] as const) {
      const name = `by-${program}`
      for (const args of script(name)) said[program] += await both.run(program, ['-n', namespace, ...args])
      const get = ['get', 'volumesnapshotlocations.velero.io', '-n', namespace, name, '-o', 'json']
      left[program] = JSON.parse(await given.cluster.kubectl(get)).spec
    }
    assert.equal(said.lateen.replaceAll('by-lateen', 'x'), said.velero.replaceAll('by-velero', 'x'))
    assert.deepEqual(left.lateen, left.velero)
  })

  it('leave the same behind when they pause and unpause', async () => {
    const specs: Record<string, unknown[]> = { lateen: [], velero: [] }
    for (const program of ['lateen', 'velero'] as const) {
      const name = `paused-by-${program}`
      for (const args of [
        ['create', name, '--schedule=@yearly', '--skip-immediately=true'],
        ['pause', name],
        ['unpause', name, '--skip-immediately', 'false'],
      ]) {
        await both.run(program, ['-n', namespace, 'schedule', ...args])
        const get = ['get', 'schedules.velero.io', '-n', namespace, name, '-o', 'json']
        const { paused = false, skipImmediately } = JSON.parse(await given.cluster.kubectl(get)).spec
        specs[program]?.push({ paused, skipImmediately })
      }
    }
    assert.deepEqual(specs.lateen, specs.velero)
    assert.deepEqual(specs.lateen, [
      { paused: false, skipImmediately: true },
      { paused: true, skipImmediately: undefined },
      { paused: false, skipImmediately: false },
    ])
  })
})

interface Seen {
  phase?: string
  validationErrors?: string[]
  lastBackup?: string
}

/** Drives a server's schedules from beginning to end. */
async function driveSchedules(program: Program, at: string): Promise<void> {
  const run = (...args: string[]) => both.run(program, ['-n', at, '--colorized=false', ...args])
  const status = async (name: string): Promise<Seen> => {
    const text = await given.cluster.kubectl(['get', 'schedules.velero.io', name, '-n', at, '-o', 'json'])
    return JSON.parse(text).status ?? {}
  }
  const until = (name: string, accepts: (seen: Seen) => boolean) =>
    waitUntil(
      async () => {
        const seen = await status(name)
        return accepts(seen) ? seen : undefined
      },
      { timeoutMs: 120_000, everyMs: 200, failure: () => new Error(`the schedule ${name} stayed`) },
    )

  await run('schedule', 'create', 'wrong', '--schedule=61 * * * *')
  await until('wrong', ({ phase }) => phase === 'FailedValidation')
  assert.match(await run('schedule', 'describe', 'wrong'), /^Validation errors: +invalid schedule: /m)

  // Velero looks each minute, and when a schedule is changed: then it is due.
  const quick = ['--schedule=@every 2s', '--include-namespaces=default', '--paused']
  await run('schedule', 'create', 'quick', ...quick)
  await setTimeout(3000)
  assert.match(await run('schedule', 'unpause', 'quick'), /^Schedule quick unpaused successfully$/m)
  await until('quick', ({ lastBackup }) => lastBackup !== undefined)
  assert.match(
    await run('schedule', 'get', 'quick'),
    /^quick +Enabled .* @every 2s +0s +\d+s ago +<none> +false$/m,
  )
  // Velero's program writes back what it has read, and the server may have noted another backup in between.
  const paused = await waitUntil(
    async () => {
      const { status, stdout, stderr } = await both.end(program, ['-n', at, 'schedule', 'pause', 'quick'])
      if (/the object has been modified/.test(stderr)) return undefined
      assert.equal(status, 0, stderr)
      return stdout
    },
    { timeoutMs: 60_000, failure: () => new Error('quick is never paused') },
  )
  assert.match(paused, /^Schedule quick paused successfully$/m)
  assert.match(await run('schedule', 'describe', 'quick'), /^Paused: +true$/m)

  const made = await waitUntil(
    async () => {
      const args = ['-l', 'velero.io/schedule-name=quick', '-o', 'json']
      const list = JSON.parse(await run('backup', 'get', ...args))
      const backups = list.kind === 'BackupList' ? list.items : [list]
      return backups.every((backup: { status?: Seen }) => backup.status?.phase === 'Completed') && backups
    },
    { timeoutMs: 120_000, everyMs: 500, failure: () => new Error('the backups did not end') },
  )
  assert.ok(made.length > 0)
  for (const backup of made) assert.match(backup.metadata.name, /^quick-\d{14}$/)
  assert.match(await run('schedule', 'delete', 'quick', 'wrong', '--confirm'), /^Schedule deleted: quick$/m)
}

describe('velero with our server', { skip, concurrency: false }, () => {
  it('drives schedules', async () => {
    const at = `${namespace}-ours`
    await both.run('lateen', ['install', '--crds-only'])
    const server = await both.startPlace(at)
    try {
      await driveSchedules('velero', at)
    } finally {
      await server[Symbol.asyncDispose]()
      await given.cluster.kubectl(['delete', 'namespace', at, '--wait=false'])
    }
  })
})

describe('lateen with a Velero server', { skip, concurrency: false }, () => {
  it('drives schedules', async () => {
    const at = `${namespace}-theirs`
    const { cluster } = given
    await both.run('lateen', ['install', '--crds-only'])
    await cluster.kubectl(['create', 'namespace', at])
    await using client = await createKubeClient({
      config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
    })
    // Velero writes credentials from a Secret to a file again and again while its plugin reads it, and now and then the plugin finds none.
    await createLocation({ cluster, client, namespace: at }, { prefix: at, secret: false })
    try {
      await using _server = await startVeleroServer({ cluster, namespace: at })
      await new Locations(client, at).available('default')
      await driveSchedules('lateen', at)
    } finally {
      await cluster.kubectl(['delete', 'namespace', at, '--wait=false'])
    }
  })
})
