import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { bothPrograms, type Program } from './both-programs.ts'
import {
  deletionAttempts,
  describedBackups,
  describedObjects,
  writeDescribedFiles,
} from './described-backups.ts'
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
  return [ours.replaceAll('`lateen backup logs', '`velero backup logs'), theirs]
}

describe('velero and lateen show backups', { skip, concurrency: false }, () => {
  let server: AsyncDisposable

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(namespace, [
      ...['backup', 'backup-queue', 'backup-operations', 'backup-finalizer'],
      ...['backup-deletion', 'backup-sync', 'gc'],
    ])
    await writeDescribedFiles(path.join(folder, namespace))
    const apply = (objects: object) =>
      given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(objects) })
    await apply(describedObjects(namespace))
    const uidPath = '-o=jsonpath={.metadata.uid}'
    const uid = await given.cluster.kubectl(['get', 'backups.velero.io', 'failed', '-n', namespace, uidPath])
    await apply(deletionAttempts(namespace, { name: 'failed', uid }))
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('in the same tables', async () => {
    for (const args of [
      ['backup', 'get'],
      ['get', 'backups', 'queued', 'completed', 'new'],
      ['get', 'backup', '-l', 'a=b', '-L', 'a', '--show-labels'],
      ['backup', 'get', '-l', 'a=nothing'],
    ]) {
      const [ours, theirs] = await answers(args)
      assert.equal(ours, theirs, args.join(' '))
    }
    const [ours, theirs] = await answers(['backup', 'get'], { TZ: 'Europe/Berlin' })
    assert.equal(ours, theirs)
    assert.match(ours, /2026-01-02 04:04:05 \+0100 CET/)
  })

  for (const details of [[], ['--details']]) {
    it(`in the same words: describe ${details.join()}`, async () => {
      const [ours, theirs] = await answers(['backup', 'describe', ...details])
      assert.equal(ours, theirs)
      assert.equal(ours.match(/^Name:/gm)?.length, describedBackups.length)
    })
  }

  it('in the order they are named, and in another time zone too', async () => {
    const [ours, theirs] = await answers(['describe', 'backup', 'new', 'failed'], { TZ: 'America/New_York' })
    assert.equal(ours, theirs)
    assert.match(ours, /^Name: +new\n[\s\S]+\nName: +failed\n[\s\S]+ 2026-01-01 22:04:05 -0500 EST\n/)
  })

  for (const { name, status } of describedBackups) {
    // Velero breaks down over -o json of a backup without expiration, and forgets the reason of unknown volumes.
    if (status === undefined || !('expiration' in status) || name === 'old-broken') continue
    for (const details of [[], ['--details']]) {
      it(`in the same JSON: describe ${[name, ...details].join(' ')}`, async () => {
        const [ours, theirs] = await answers(['describe', 'backups', name, '-o', 'json', ...details])
        assert.equal(ours, theirs)
      })
    }
  }

  it('as the same objects in json and yaml', async () => {
    for (const { name } of describedBackups) {
      const [ours, theirs] = (await answers(['backup', 'get', name, '-o', 'yaml'])).map(text => parse(text))
      assert.deepEqual(withoutEmpty(ours), withoutEmpty(theirs))
    }
    const [ours, theirs] = (await answers(['backup', 'get', '-o', 'json'])).map(text => JSON.parse(text))
    const names = (list: { items: { metadata: { name: string } }[] }) =>
      list.items.map(item => item.metadata.name)
    assert.deepEqual([ours.kind, names(ours)], [theirs.kind, names(theirs)])
  })
})

describe('velero and lateen build backups', { skip, concurrency: false }, () => {
  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', `${namespace}-flags`])
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(prerequisites) })
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', `${namespace}-flags`, '--wait=false']))

  const meta = (name: string, more: object = {}) => ({ name, namespace: `${namespace}-flags`, ...more })
  const prerequisites = {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: meta('here'),
        spec: { provider: 'aws', objectStorage: { bucket: 'b' } },
      },
      {
        apiVersion: 'velero.io/v1',
        kind: 'VolumeSnapshotLocation',
        metadata: meta('snaps'),
        spec: { provider: 'aws' },
      },
      {
        apiVersion: 'velero.io/v1',
        kind: 'Schedule',
        metadata: meta('daily', { labels: { of: 'schedule' }, annotations: { a: 'b' } }),
        spec: {
          schedule: '@daily',
          useOwnerReferencesInBackup: true,
          template: { ttl: '24h0m0s', includedNamespaces: ['shop'] },
        },
      },
      {
        apiVersion: 'velero.io/v1',
        kind: 'Schedule',
        metadata: meta('labelled', { labels: { of: 'schedule' } }),
        spec: {
          schedule: '@daily',
          template: {
            metadata: { labels: { of: 'template' } },
            hooks: { resources: [{ name: 'h' }] },
            resourcePolicy: { kind: 'ConfigMap', name: 'p' },
            snapshotVolumes: false,
          },
        },
      },
    ],
  }

  async function built(program: Program, args: readonly string[]): Promise<unknown> {
    const { status, stdout, stderr } = await both.end(program, [
      '-n',
      `${namespace}-flags`,
      'backup',
      'create',
      ...args,
    ])
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`)
    // Velero logs where a schedule's labels come from.
    const backup = parse(stdout.slice(stdout.search(/^apiVersion/m)))
    // Velero puts the schedule's name among the labels of the template, too.
    if (backup.spec.metadata?.labels) delete backup.spec.metadata.labels['velero.io/schedule-name']
    return withoutEmpty(backup)
  }

  const flags: readonly (readonly string[])[] = [
    [],
    ['--include-namespaces', 'a,b', '--exclude-namespaces=c'],
    ['--include-namespaces', ''],
    ['--include-namespaces=team-*,x?'],
    ['--include-resources=pods,deployments.apps', '--exclude-resources=secrets'],
    ['--include-cluster-resources'],
    ['--include-cluster-resources=false', '--include-resources=*'],
    [
      '--include-cluster-scoped-resources=*',
      '--exclude-cluster-scoped-resources=nodes,csinodes.storage.k8s.io',
    ],
    ['--include-namespace-scoped-resources=pods', '--exclude-namespace-scoped-resources=secrets'],
    ['-l', 'app=web,tier in (front, back),!test,owner,x notin (y)'],
    ['--selector', ''],
    ['--or-selector', 'a=b or c in (d,e) or f'],
    ['--ttl=90m', '--csi-snapshot-timeout=1h30m', '--item-operation-timeout', '1.5h'],
    ['--snapshot-volumes', '--snapshot-move-data=true', '--default-volumes-to-fs-backup=f'],
    ['--snapshot-volumes=', '--snapshot-move-data=0', '--default-volumes-to-fs-backup'],
    ['--data-mover=velero', '--parallel-files-upload=7'],
    ['--parallel-files-upload=-1', '--data-mover='],
    ['--labels=a=b,c=', '--annotations', '"x=1,2",y=z=1'],
    ['--ordered-resources', 'pods=ns/a,ns/b; persistentvolumeclaims = ns/c'],
    ['--resource-policies-configmap=policies'],
    [
      '--storage-location=here',
      '--volume-snapshot-locations=snaps,snaps',
      '--volume-snapshot-locations=snaps',
    ],
    ['--from-schedule=daily', '--include-namespaces=ignored', '--labels=more=1', '--annotations=c=d'],
    ['--from-schedule', ' labelled '],
  ]
  for (const some of flags) {
    it(`equally from ${JSON.stringify(some)}`, async () => {
      const [ours, theirs] = await Promise.all([
        built('lateen', ['made', ...some, '-o=yaml']),
        built('velero', ['made', ...some, '-o=yaml']),
      ])
      assert.deepEqual(ours, theirs)
    })
  }

  const refused: readonly (readonly string[])[] = [
    [],
    ['x', '-l', 'a=b', '--or-selector', 'c=d'],
    ['x', '--from-schedule', ' '],
    ['x', '--include-namespaces=*,a'],
    ['x', '--exclude-namespaces=*'],
    ['x', '--include-namespaces=a', '--exclude-namespaces=a'],
    ['x', '--include-namespaces=Upper'],
    ['x', '--include-namespaces=a.b'],
    ['x', '--include-namespaces=a**'],
    ['x', '--include-namespaces=a[]'],
    ['x', '--exclude-namespaces=a[b'],
    ['x', '--exclude-namespaces=a]'],
    ['x', '--exclude-namespaces=a{b}'],
    ['x', `--exclude-namespaces=${'x'.repeat(64)}`],
    ['x', '--include-resources=a', '--include-cluster-scoped-resources=b'],
    ['x', '--include-cluster-resources=false', '--exclude-namespace-scoped-resources=b'],
    ['x', '--ordered-resources=pods'],
  ]
  for (const args of refused) {
    it(`and refuse ${JSON.stringify(args)} for the same reason`, async () => {
      const [ours, theirs] = await Promise.all(
        (['lateen', 'velero'] as const).map(program => both.end(program, ['backup', 'create', ...args])),
      )
      assert.equal(theirs?.status, 1)
      assert.equal(ours?.status, 1)
      const reason =
        theirs?.stderr
          .replace(/^velero: /, '')
          .trim()
          .replaceAll('\n', ' ') ?? ''
      assert.ok(ours?.stderr.startsWith(`An error occurred: ${reason}`), `${ours?.stderr} is not ${reason}`)
    })
  }

  it('and refuse locations and schedules that do not exist', async () => {
    for (const flag of ['--storage-location=no', '--volume-snapshot-locations=no', '--from-schedule=no']) {
      for (const program of ['lateen', 'velero'] as const) {
        const { status, stderr } = await both.end(program, [
          '-n',
          `${namespace}-flags`,
          'backup',
          'create',
          'x',
          flag,
        ])
        assert.equal(status, 1)
        assert.match(stderr, /"no" (?:does not exist|not found)/)
      }
    }
  })
})

describe('velero and lateen read a backup that our server took', { skip, concurrency: false }, () => {
  let server: AsyncDisposable
  const at = (program: Program, ...args: string[]) =>
    both.run(program, ['-n', live, '--colorized=false', ...args])

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(live, ['backup-deletion'])
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', live, '--wait=false'])
  })

  it('which lateen waited for', async () => {
    const said = await at('lateen', 'backup', 'create', 'whole', '--include-namespaces=default', '--wait')
    assert.match(said, /^Backup request "whole" submitted successfully\.\nWaiting for the backup to end\./)
    assert.match(
      said,
      /\nBackup completed with status: Completed\. Run .*`lateen backup logs whole` for more details\.\n$/,
    )
  })

  it('with the same description, table and log', async () => {
    for (const args of [
      ['backup', 'get'],
      ['backup', 'describe', 'whole', '--details'],
      ['backup', 'describe', 'whole', '--details', '-o', 'json'],
      ['backup', 'logs', 'whole'],
    ]) {
      const [ours, theirs] = await Promise.all([at('lateen', ...args), at('velero', ...args)])
      assert.ok(theirs.length > 50)
      assert.equal(ours, theirs)
    }
  })

  it('and download the same archive', async () => {
    for (const program of ['lateen', 'velero'] as const) {
      await at(program, 'backup', 'download', 'whole', '-o', path.join(folder, program))
    }
    const [ours, theirs] = await Promise.all([
      readFile(path.join(folder, 'lateen')),
      readFile(path.join(folder, 'velero')),
    ])
    assert.ok(ours.length > 100)
    assert.deepEqual(ours, theirs)
  })

  it('and leave no request of lateen behind', async () => {
    await at('lateen', 'backup', 'describe', 'whole', '--details')
    const names = await given.cluster.kubectl(['get', 'downloadrequests.velero.io', '-n', live, '-o', 'name'])
    // Velero's requests end in a UUID and stay until they expire.
    for (const name of names.trim().split('\n')) assert.match(name, /-[0-9a-f]{4}-[0-9a-f]{12}$/)
  })

  it('both request its deletion alike', async () => {
    const requests = async () => {
      const list = await given.cluster.kubectl([
        'get',
        'deletebackuprequests.velero.io',
        '-n',
        live,
        '-o',
        'json',
      ])
      return JSON.parse(list).items.map(
        ({ metadata, spec }: { metadata: Record<string, unknown>; spec: object }) => ({
          labels: metadata.labels,
          generateName: metadata.generateName,
          spec,
        }),
      )
    }
    const theirs = await at('velero', 'backup', 'delete', 'whole', '--confirm')
    const ours = await at('lateen', 'delete', 'backup', 'whole', '--confirm')
    assert.equal(ours.split('\n')[0], theirs.split('\n')[0])
    const [one, other] = await requests()
    assert.deepEqual(one, other)
  })
})
