import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import type { Started } from '../cluster/cli-runner.ts'
import { bothPrograms, type Program } from './both-programs.ts'
import { describedRestoreObjects, describedRestores, writeRestoreFiles } from './described-restores.ts'
import { withoutEmpty } from './without-empty.ts'

const given = await givenCluster()
const both = await bothPrograms(given)
const { skip, folder } = both
const namespace = `velero-cli-${randomBytes(3).toString('hex')}`
const live = `${namespace}-live`

/** Both answers, ours with the name of the program that it recommends put aside. Velero paints into pipes unless told not to. */
async function answers(args: readonly string[], env?: Record<string, string>): Promise<[string, string]> {
  const full = ['--namespace', namespace, '--colorized=false', ...args]
  const [ours, theirs] = await Promise.all([both.run('lateen', full, env), both.run('velero', full, env)])
  return [ours.replaceAll("'lateen restore logs", "'velero restore logs"), theirs]
}

function apply(objects: object): Promise<string> {
  return given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(objects) })
}

describe('velero and lateen show restores', { skip, concurrency: false }, () => {
  let server: AsyncDisposable

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(namespace, [
      ...['backup', 'backup-queue', 'backup-finalizer', 'backup-sync'],
      ...['restore', 'restore-operations', 'restore-finalizer'],
    ])
    await writeRestoreFiles(path.join(folder, namespace))
    await apply(describedRestoreObjects(namespace))
    await given.cluster.kubectl(['delete', 'restores.velero.io', 'deleting', '-n', namespace, '--wait=false'])
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    const patch = ['--type=merge', '-p', '{"metadata":{"finalizers":null}}']
    await given.cluster.kubectl(['patch', 'restores.velero.io', 'deleting', '-n', namespace, ...patch])
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('in the same tables', async () => {
    for (const args of [
      ['restore', 'get'],
      ['get', 'restores', 'running', 'completed', 'new'],
      ['get', 'restore', '-l', 'a=b', '-L', 'a', '--show-labels'],
      ['restore', 'get', '-l', 'a=nothing'],
    ]) {
      const [ours, theirs] = await answers(args)
      assert.equal(ours, theirs, args.join(' '))
    }
    const [ours, theirs] = await answers(['restore', 'get'], { TZ: 'Europe/Berlin' })
    assert.equal(ours, theirs)
    assert.match(ours, /2026-01-02 04:04:05 \+0100 CET/)
    assert.match(ours, /^deleting +whole +Completed \(Deleting\) /m)
  })

  for (const details of [[], ['--details']]) {
    it(`in the same words: describe ${details.join()}`, async () => {
      const [ours, theirs] = await answers(['restore', 'describe', ...details])
      assert.equal(ours, theirs)
      assert.equal(ours.match(/^Name:/gm)?.length, describedRestores.length)
    })
  }

  it('in the order they are named, and in another time zone too', async () => {
    const [ours, theirs] = await answers(['describe', 'restore', 'new', 'failed'], { TZ: 'America/New_York' })
    assert.equal(ours, theirs)
    assert.match(ours, /^Name: +new\n[\s\S]+\nName: +failed\n[\s\S]+ 2026-01-01 22:04:05 -0500 EST\n/)
  })

  it('as the same objects in json and yaml', async () => {
    for (const name of ['new', 'completed', 'failed']) {
      const [ours, theirs] = (await answers(['restore', 'get', name, '-o', 'yaml'])).map(text => parse(text))
      assert.deepEqual(withoutEmpty(ours), withoutEmpty(theirs))
    }
    const [ours, theirs] = (await answers(['restore', 'get', '-o', 'json'])).map(text => JSON.parse(text))
    const names = (list: { items: { metadata: { name: string } }[] }) =>
      list.items.map(item => item.metadata.name)
    assert.deepEqual([ours.kind, names(ours)], [theirs.kind, names(theirs)])
  })

  it('and lateen as one JSON document, too', async () => {
    const args = ['-n', namespace, 'restore', 'describe', 'completed', '--details', '-o', 'json']
    const shown = JSON.parse(await both.run('lateen', args))
    assert.equal(shown.phase, 'Completed')
    assert.deepEqual(shown.resourceList['apps/v1/Deployment'], ['shop/web(updated)'])
    assert.equal(shown.volumes.length, 3)
    assert.deepEqual(shown.podVolumeRestores.Failed, { 'shop/web': ['volume-5'] })
    assert.equal(shown.unavailable, undefined)
  })

  it('and refuse the log of one that has none yet', async () => {
    for (const program of ['lateen', 'velero'] as const) {
      const { status, stderr } = await both.end(program, ['-n', namespace, 'restore', 'logs', 'running'])
      assert.equal(status, 1)
      assert.match(stderr, /ogs for restore "running" are not available until it's finished processing/)
    }
  })
})

describe('velero and lateen build restores', { skip, concurrency: false }, () => {
  const flagsNamespace = `${namespace}-flags`
  const backup = (name: string, phase: string, startTimestamp?: string) => ({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace: flagsNamespace, labels: { 'velero.io/schedule-name': 'daily' } },
    spec: {},
    status: { phase, ...(startTimestamp && { startTimestamp }) },
  })

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', flagsNamespace])
    const items = [
      backup('oldest', 'Completed', '2026-01-01T00:00:00Z'),
      backup('middle', 'PartiallyFailed', '2026-01-02T00:00:00Z'),
      backup('newest', 'Failed', '2026-01-03T00:00:00Z'),
      backup('waiting', 'New'),
    ]
    await apply({ apiVersion: 'v1', kind: 'List', items })
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', flagsNamespace, '--wait=false']))

  async function built(program: Program, args: readonly string[]): Promise<object> {
    return parse(await both.run(program, ['-n', flagsNamespace, 'restore', 'create', ...args, '-o=yaml']))
  }

  const flags: readonly (readonly string[])[] = [
    [],
    ['--include-namespaces', 'a,b', '--exclude-namespaces=c'],
    ['--include-namespaces', ''],
    ['--include-namespaces=*,a', '--exclude-namespaces=*'],
    ['--include-resources=pods,deployments.apps', '--exclude-resources=secrets'],
    ['--include-cluster-resources'],
    ['--include-cluster-resources=false', '--include-resources=*'],
    ['--namespace-mappings', 'a:b,c:d', '--namespace-mappings=e:f:g'],
    ['-l', 'app=web,tier in (front, back),!test,owner,x notin (y)'],
    ['--selector', ''],
    ['--or-selector', 'a=b or c in (d,e) or f'],
    ['--item-operation-timeout', '1.5h'],
    ['--restore-volumes', '--preserve-nodeports=true', '--write-sparse-files'],
    ['--restore-volumes=f', '--preserve-nodeports=', '--write-sparse-files=false'],
    ['--parallel-files-download=7', '--existing-resource-policy=update'],
    ['--existing-resource-policy='],
    ['--existing-resource-policy=none', '--labels=a=b,c=', '--annotations', '"x=1,2",y=z=1'],
    ['--status-include-resources=*', '--status-exclude-resources=pods,services'],
    ['--status-include-resources=deployments.apps'],
    ['--status-exclude-resources=pods'],
    ['--resource-modifier-configmap=modifiers', '--resource-policies-configmap=policies'],
    ['--allow-partially-failed'],
  ]
  for (const some of flags) {
    it(`equally from ${JSON.stringify(some)}`, async () => {
      const args = ['made', '--from-backup=oldest', ...some]
      const [ours, theirs] = await Promise.all([built('lateen', args), built('velero', args)])
      assert.deepEqual(withoutEmpty(ours), withoutEmpty(theirs))
    })
  }

  for (const [some, spec] of [
    [[], { scheduleName: 'daily' }],
    [['--allow-partially-failed=false'], { scheduleName: 'daily' }],
    [['--allow-partially-failed'], { backupName: 'middle' }],
  ] as const) {
    it(`equally from a schedule with ${JSON.stringify(some)}`, async () => {
      const args = ['made', '--from-schedule=daily', ...some]
      const [ours, theirs] = await Promise.all([built('lateen', args), built('velero', args)])
      assert.deepEqual(withoutEmpty(ours), withoutEmpty(theirs))
      assert.partialDeepStrictEqual(ours, { spec })
    })
  }

  it('equally where a server sees a difference between empty and nothing', async () => {
    const args = ['made', '--from-backup=oldest']
    const [ours, theirs] = await Promise.all([built('lateen', args), built('velero', args)])
    assert.deepEqual((ours as { spec: object }).spec, (theirs as { spec: object }).spec)
  })

  it('with names of the same form, in the local time zone', async () => {
    const zone = { TZ: 'Asia/Kolkata' }
    for (const from of ['--from-backup=oldest', '--from-schedule=daily']) {
      const names = await Promise.all(
        (['lateen', 'velero'] as const).map(async program => {
          const args = ['-n', flagsNamespace, 'create', 'restore', from, '-o=json']
          return JSON.parse(await both.run(program, args, zone)).metadata.name as string
        }),
      )
      for (const name of names) assert.match(name, /^(?:oldest|daily)-\d{14}$/)
      const [ours = 0, theirs = 0] = names.map(name => timeIn(name))
      // Far less than the distance of the zones, and more than a busy machine needs to start a program.
      assert.ok(Math.abs(ours - theirs) < 10 * 60_000, names.join())
    }
  })

  const refused: readonly (readonly string[])[] = [
    [],
    ['x'],
    ['x', '--from-backup=a', '--from-schedule=b'],
    ['x', '--from-backup=', '--from-schedule='],
    ['x', '--from-backup=a', '-l', 'a=b', '--or-selector', 'c=d'],
    ['x', '--from-backup=a', '--existing-resource-policy=recreate'],
    ['x', '--from-backup=a', '--parallel-files-download=-1'],
    ['x', '--from-schedule=never'],
  ]
  for (const args of refused) {
    it(`and refuse ${JSON.stringify(args)} for the same reason`, async () => {
      const full = ['-n', flagsNamespace, 'restore', 'create', ...args]
      const [ours, theirs] = await Promise.all([both.end('lateen', full), both.end('velero', full)])
      assert.equal(theirs.status, 1)
      assert.equal(ours.status, 1)
      const reason = theirs.stderr.replace(/^(?:velero|An error occurred): /, '').trim()
      assert.ok(ours.stderr.startsWith(`An error occurred: ${reason}`), `${ours.stderr} is not ${reason}`)
    })
  }

  it('and refuse a backup that does not exist, or a mapping that is none', async () => {
    for (const [flag, message] of [
      ['--from-backup=no', /"no" (?:does not exist|not found)/],
      ['--namespace-mappings=a', /namespace-mappings/],
    ] as const) {
      for (const program of ['lateen', 'velero'] as const) {
        const args = ['-n', flagsNamespace, 'restore', 'create', 'x', '--from-backup=oldest', flag]
        const { status, stderr } = await both.end(program, args)
        assert.equal(status, 1)
        assert.match(stderr, message)
      }
    }
  })
})

/** The 14 digits at the end of a name as a point in time, whatever the zone. */
function timeIn(name: string): number {
  const [, year, month, day, hour, minute, second] =
    /(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(name)?.map(Number) ?? []
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
}

describe('lateen restore create --wait', { skip, concurrency: false }, () => {
  const where = `${namespace}-wait`
  const at = (...args: string[]) => given.cluster.kubectl(['-n', where, ...args])
  const patch = (name: string, status: object) =>
    at('patch', 'restores.velero.io', name, '--type=merge', '-p', JSON.stringify({ status }))

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', where])
    const metadata = { name: 'whole', namespace: where }
    await apply({ apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {} })
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', where, '--wait=false']))

  /** Starts waiting for a restore, and comes back once the restore exists. */
  async function waitingFor(name: string): Promise<Started> {
    const args = ['-n', where, 'restore', 'create', name, '--from-backup=whole', '--wait']
    const started = both.start('lateen', args)
    await at('wait', '--for=create', `restores.velero.io/${name}`, '--timeout=60s')
    return started
  }

  for (const [phase, code] of [
    ['Completed', 0],
    ['PartiallyFailed', 1],
    ['FailedValidation', 1],
    ['Failed', 1],
  ] as const) {
    it(`shows progress, and exits with ${code} when the end is ${phase}`, async () => {
      const name = `waited-${phase.toLowerCase()}`
      const { ended, said } = await waitingFor(name)
      await patch(name, { phase: 'InProgress', progress: { totalItems: 10, itemsRestored: 5 } })
      await said(/InProgress \d+s, 5\/10 items\n/)
      await patch(name, { phase })
      const { stdout, stderr, status } = await ended
      assert.equal(stderr, '')
      assert.match(stdout, /\nWaiting for the restore to end\.[^\n]*\n[\s\S]*InProgress \d+s, 5\/10 items\n/)
      assert.ok(stdout.includes(`\nRestore completed with status: ${phase}. Run `), stdout)
      assert.equal(status, code)
    })
  }

  it('fails when the restore is deleted meanwhile', async () => {
    const { ended } = await waitingFor('gone')
    await at('delete', 'restores.velero.io', 'gone')
    const { stderr, status } = await ended
    assert.match(stderr, /restore "gone" was deleted while it was waited for/)
    assert.equal(status, 1)
  })

  it('refuses a name that is taken', async () => {
    const args = ['-n', where, 'restore', 'create', 'waited-failed', '--from-backup=whole']
    const { stderr, status } = await both.end('lateen', args)
    assert.match(stderr, /restore "waited-failed" already exists .*lateen restore delete waited-failed/)
    assert.equal(status, 1)
  })
})

describe('velero and lateen delete restores', { skip, concurrency: false }, () => {
  const where = `${namespace}-delete`

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', where])
    const items = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => ({
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name, namespace: where, labels: { half: name < 'e' ? 'first' : 'second' } },
      spec: { backupName: 'whole' },
    }))
    await apply({ apiVersion: 'v1', kind: 'List', items })
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', where, '--wait=false']))

  async function left(): Promise<string> {
    const names = await given.cluster.kubectl(['get', 'restores.velero.io', '-n', where, '-o', 'name'])
    return names.replaceAll('restore.velero.io/', '').split('\n').join('')
  }

  it('by name, all or nothing', async () => {
    for (const [program, name] of [
      ['lateen', 'a'],
      ['velero', 'b'],
    ] as const) {
      const unknown = await both.end(program, ['-n', where, 'restore', 'delete', name, 'zz', '--confirm'])
      assert.equal(unknown.status, 1)
      assert.match(unknown.stderr, /"zz" (?:does not exist|not found)/)
    }
    assert.equal(await left(), 'abcdef')
    const [ours] = (await both.run('lateen', ['-n', where, 'restore', 'delete', 'a', '--confirm'])).split(
      '\n',
    )
    const [theirs] = (await both.run('velero', ['-n', where, 'delete', 'restore', 'b', '--confirm'])).split(
      '\n',
    )
    assert.equal(ours?.replace('"a"', '"b"'), theirs)
    assert.equal(await left(), 'cdef')
  })

  it('by label, and not without being told which', async () => {
    await both.run('lateen', ['-n', where, 'delete', 'restores', '-l', 'half=first', '--confirm'])
    assert.equal(await left(), 'ef')
    for (const args of [['--confirm'], ['e', '--all', '--confirm']]) {
      const full = ['-n', where, 'restore', 'delete', ...args]
      const [ours, theirs] = await Promise.all([both.end('lateen', full), both.end('velero', full)])
      assert.deepEqual([ours.status, theirs.status], [1, 1])
      const reason =
        /you must specify exactly one of: specific restore name\(s\), the --all flag, or the --selector flag/
      assert.match(ours.stderr, reason)
      assert.match(theirs.stderr, reason)
    }
    assert.equal(await left(), 'ef')
  })

  it('all, of which there may be none', async () => {
    await both.run('lateen', ['-n', where, 'restore', 'delete', '--all', '--confirm'])
    assert.equal(await left(), '')
    const full = ['-n', where, 'restore', 'delete', '--all', '--confirm']
    assert.equal(await both.run('lateen', full), await both.run('velero', full))
  })
})

describe('velero and lateen read a restore that our server made', { skip, concurrency: false }, () => {
  let server: AsyncDisposable
  const at = (program: Program, ...args: string[]) =>
    both.run(program, ['-n', live, '--colorized=false', ...args])

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(live)
    await given.cluster.kubectl(['create', 'configmap', 'kept', '-n', live, '--from-literal=a=b'])
    await at(
      'lateen',
      'backup',
      'create',
      'whole',
      `--include-namespaces=${live}`,
      '--include-resources=configmaps',
      '--wait',
    )
    await given.cluster.kubectl(['delete', 'configmap', 'kept', '-n', live])
  })
  after(async () => {
    await given.cluster.kubectl(['delete', 'restores.velero.io', '--all', '-n', live])
    await server[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', live, '--wait=false'])
  })

  it('which lateen waited for', async () => {
    const said = await at('lateen', 'restore', 'create', 'again', '--from-backup=whole', '--wait')
    assert.match(said, /^Restore request "again" submitted successfully\.\nWaiting for the restore to end\./)
    assert.match(
      said,
      /\nRestore completed with status: Completed\. Run .*`lateen restore logs again` for more details\.\n$/,
    )
    await given.cluster.kubectl(['get', 'configmap', 'kept', '-n', live])
  })

  it('or velero did', async () => {
    const said = await at('velero', 'restore', 'create', 'more', '--from-backup=whole', '--wait')
    assert.match(said, /\nRestore completed with status: Completed\./)
  })

  it('with the same description, table and log', async () => {
    for (const args of [
      ['restore', 'get'],
      ['restore', 'describe', 'again', '--details'],
      ['restore', 'logs', 'again'],
    ]) {
      const [ours, theirs] = await Promise.all([at('lateen', ...args), at('velero', ...args)])
      assert.ok(theirs.length > 50)
      assert.equal(ours, theirs)
    }
  })
})
