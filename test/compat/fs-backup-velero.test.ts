import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { BackupRepository, PodVolumeBackup } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { lateenImageName } from '../../tools/image/lateen-image.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { createFilesPod, fsScene } from '../cluster/fs-scene.ts'
import { bothPrograms } from './both-programs.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { agentSettings, serverReplaced } from './node-installation.ts'
import { makeOddFiles, tellTree } from './odd-files.ts'
import { fieldsOf } from './shape.ts'
import { installVeleroOnNode, knowsBackups, type VeleroOnNode } from './velero-on-node.ts'

const given = await givenCluster({ node: true, s3: true })
const both = await bothPrograms(given)
const skip = both.skip || (await kopiaSkip())

/** Lateen's namespace, and the prefix of the location that both use. */
const prefix = 'fs-both'
const [app, copy] = ['fs-both-app', 'fs-both-copy']
const repositoryName = `${app}-default-kopia`
const volumes = {
  data: { emptyDir: {} },
  cache: { persistentVolumeClaim: { claimName: 'kept' } },
  empty: { emptyDir: {} },
}
const volumeNames = Object.keys(volumes)

/** A snapshot as kopia tells of it. */
interface Snapshot {
  id: string
  source: { userName: string; host: string; path: string }
  description: string
  rootEntry: { obj: string }
  stats: { totalSize: number; cachedFiles: number; nonCachedFiles: number }
  pins: string[]
}

describe('the files of a pod, with Lateen and Velero at one repository', {
  skip,
  concurrency: false,
}, async () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const scope = new AsyncDisposableStack()
  let bucket: BackupBucket
  let velero: VeleroOnNode
  let kopia: KopiaRepository
  /** Of the volume `data`, by the backup's name. */
  const trees = new Map<string, string>()

  const inPod = (namespace: string, volume: string, stdin: string) => {
    const words = ['-n', namespace, 'exec', '-i', 'writer', '-c', 'main', '--', 'sh', '-c']
    return kubectl([...words, `cd /${volume} && exec sh -s`], { stdin })
  }

  let installing: Promise<VeleroOnNode>
  const agents = ['--node-agent-configmap=agents']
  before(async () => {
    for (const namespace of [prefix, `${prefix}-velero`]) {
      await kubectl(['apply', '-f', '-'], {
        stdin: JSON.stringify(agentSettings(namespace, volumeNames.length)),
      })
    }
    const options = { namespace: `${prefix}-velero`, prefix, flags: agents }
    installing = installVeleroOnNode(given.cluster, both, options)
    installing.catch(() => {})
  })
  const lateen = await fsScene(given, { namespace: prefix, flags: agents })
  before(async () => {
    bucket = scope.use(new BackupBucket(given.cluster, prefix))
    scope.defer(async () => {
      await kubectl(['delete', 'namespace', app, copy, '--ignore-not-found', '--wait=false'])
    })
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(claim) })
    await createFilesPod(given.cluster, { namespace: app, volumes })
    await inPod(app, 'data', makeOddFiles)
    await inPod(app, 'cache', 'echo cached > file')
    velero = scope.use(await installing)
  })
  after(() => scope.disposeAsync())

  /** Backs up the pod and remembers what was in it. */
  const backUp = async (run: VeleroOnNode['run'], name: string) => {
    trees.set(name, await inPod(app, 'data', tellTree))
    const what = [
      `--include-namespaces=${app}`,
      '--exclude-resources=events,events.events.k8s.io',
      '--default-volumes-to-fs-backup',
    ]
    assert.match(await run('backup', 'create', name, ...what, '--wait'), /completed with status: Completed\./)
  }

  /** All snapshots of a volume, oldest first. */
  const snapshotsOf = async (volume: string) => {
    const all = await kopia.json<Snapshot[]>(['snapshot', 'list', '--all'])
    return all.filter(({ source }) => source.path === `snapshot-pod-volume/kopia/${app}/writer/${volume}`)
  }

  /** How much data, and not only lists of it, is in the repository. */
  const storedBytes = async () => {
    const blobs = await kopia.json<{ length: number }[]>(['blob', 'list', '--prefix=p'])
    return blobs.reduce((sum, { length }) => sum + length, 0)
  }

  /** What became of the volumes of a backup, by volume. */
  const movesOf = async (backup: string) => {
    const moves = (await bucket.readJson(backup, '-podvolumebackups.json.gz')) as PodVolumeBackup[]
    return new Map(moves.map(move => [move.spec.volume, move]))
  }

  it('are backed up by Lateen', async () => {
    await backUp(lateen.succeed, 'by-lateen')
    kopia = await kopiaRepository(
      { after: clean => scope.defer(clean) },
      {
        storage: { ...given.cluster.s3, prefix: `${prefix}/kopia/${app}/` },
        ...{ connect: true, password: 'static-passw0rd', username: 'default', hostname: 'default' },
      },
    )
  })

  it('are not stored again when Velero backs them up: it goes by the snapshot that Lateen made', async () => {
    const stored = await storedBytes()
    await backUp(velero.run, 'by-velero')
    assert.ok((await storedBytes()) - stored < 100_000)
    // Under the name of its claim, where a volume has one.
    for (const volume of ['data', 'kept']) {
      const [ours, theirs, ...more] = await snapshotsOf(volume)
      assert.ok(ours && theirs && more.length === 0)
      assert.equal(theirs.rootEntry.obj, ours.rootEntry.obj)
      assert.deepEqual(theirs.source, ours.source)
      assert.deepEqual([theirs.description, theirs.pins], [ours.description, ours.pins])
      assert.equal(theirs.stats.nonCachedFiles, 0)
      assert.equal(ours.stats.cachedFiles, 0)
    }
  })

  it('are not stored again when Lateen backs them up: it goes by the snapshot that Velero made', async () => {
    await inPod(app, 'data', 'echo four > new')
    const stored = await storedBytes()
    await backUp(lateen.succeed, 'again')
    assert.ok((await storedBytes()) - stored < 100_000)
    const [, theirs, ours] = await snapshotsOf('data')
    assert.equal(ours?.stats.nonCachedFiles, 1)
    assert.ok(theirs)
    assert.equal(ours?.stats.totalSize, theirs.stats.totalSize + 'four\n'.length)
    const { status } = (await movesOf('again')).get('data') ?? {}
    assert.deepEqual(
      [status?.snapshotID, status?.progress?.totalBytes, status?.incrementalBytes],
      [ours?.id, ours?.stats.totalSize, 'four\n'.length],
    )
  })

  it('are in files of the same fields', async () => {
    const names = async (backup: string) =>
      (await bucket.files()).get(backup)?.map(name => name.replace(backup, '<backup>'))
    assert.deepEqual(await names('by-lateen'), await names('by-velero'))
    const [ours, theirs] = [await movesOf('by-lateen'), await movesOf('by-velero')]
    assert.deepEqual(new Set(ours.keys()), new Set(volumeNames))
    for (const volume of volumeNames) {
      assert.deepEqual(moveFields(ours.get(volume)), moveFields(theirs.get(volume)), volume)
    }
    for (const file of ['-volumeinfo.json.gz', '-results.gz']) {
      const [our, their] = [
        await bucket.readJson('by-lateen', file),
        await bucket.readJson('by-velero', file),
      ]
      assert.deepEqual(fieldsOf(our, explained), fieldsOf(their, explained), file)
    }
  })

  it('are known to the other program, and shown as if they were its own', async () => {
    const patch = JSON.stringify({ spec: { backupSyncPeriod: '1s' } })
    for (const namespace of [prefix, velero.namespace]) {
      const location = ['-n', namespace, 'backupstoragelocation', 'default']
      await kubectl(['patch', ...location, '--type=merge', '-p', patch])
    }
    await velero.sync(['by-lateen', 'again'])
    await knowsBackups(given.cluster, prefix, ['by-velero'])
    const shown: string[] = []
    for (const backup of ['by-lateen', 'by-velero']) {
      for (const namespace of [prefix, velero.namespace]) {
        const described = await shownAlike('backup', backup, namespace)
        assert.match(
          described,
          /^ {6}fs-both-app\/writer: cache \(size: 7\b.*\), data \(size: \d{8}\b.*\), empty$/m,
        )
        shown.push(anonymous(described, { [backup]: '<backup>', [`Namespace:    ${namespace}`]: '' }))
      }
    }
    assert.deepEqual(new Set(shown).size, 1, shown.join('\n'))
  })

  it('survive the maintenance of both programs, and of kopia without its usual care', async () => {
    const snapshots = await kopia.json(['snapshot', 'list', '--all'])
    for (const namespace of [prefix, velero.namespace]) await maintains(namespace)
    await kopia.verify()
    await kopia.kopia(['maintenance', 'run', '--full', '--safety=none'])
    await kopia.verify()
    assert.deepEqual(await kopia.json(['snapshot', 'list', '--all']), snapshots)
  })

  it('are restored by the other program before the pod starts', async () => {
    await kubectl(['delete', 'namespace', app, '--timeout=180s'])
    const restore = (run: VeleroOnNode['run'], backup: string, ...more: string[]) =>
      run('restore', 'create', backup, '--from-backup', backup, ...more, '--wait')
    const said = await Promise.all([
      restore(velero.run, 'by-lateen'),
      restore(lateen.succeed, 'by-velero', '--namespace-mappings', `${app}:${copy}`),
    ])
    for (const each of said) assert.match(each, /completed with status: Completed\./)
    for (const [namespace, backup] of [
      [app, 'by-lateen'],
      [copy, 'by-velero'],
    ] as const) {
      await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', 'pod/writer', '--timeout=180s'])
      const tree = await inPod(namespace, 'data', tellTree)
      // kopia in Velero gives folders the time of the newest file in them, and rounds those of links.
      const told = namespace === app ? withoutSomeTimes : withoutRootTime
      assert.equal(told(tree), told(trees.get(backup) ?? ''))
      assert.equal(await inPod(namespace, 'cache', 'cat file'), 'cached\n')
    }
    // Velero leaves its mark where the container that waits does not run as root.
    assert.equal(await inPod(copy, 'empty', 'ls -A . /cache'), '.:\n\n/cache:\nfile\n')
  })

  it('are shown by both programs as restored', async () => {
    const theirs = await shownAlike('restore', 'by-lateen', velero.namespace)
    assert.match(
      theirs,
      /^kopia Restores:\n {2}Completed:\n {4}fs-both-app\/writer: cache \(size: 7\), data \(size: \d{8}\)$/m,
    )
    const ours = await shownAlike('restore', 'by-velero', prefix)
    const size = /data \((size: \d+)\)/.exec(theirs)?.[1]
    assert.ok(ours.includes(`fs-both-copy/writer: cache (size: 7), data (${size}), empty\n`), ours)
    const fields = async (restore: string) => {
      const file = await bucket.read(`restores/${restore}/${restore}-volumeinfo.json.gz`)
      return fieldsOf(JSON.parse(gunzipSync(file).toString()))
    }
    assert.deepEqual(await fields('by-velero'), await fields('by-lateen'))
  })

  it('are forgotten with their backups by the other program', async () => {
    const before = await snapshotsOf('data')
    assert.equal(before.length, 3)
    await velero.run('backup', 'delete', 'by-lateen', '--confirm')
    await gone(velero.namespace, 'by-lateen')
    assert.deepEqual(await snapshotsOf('data'), before.slice(1))
    await lateen.succeed('backup', 'delete', 'by-velero', '--confirm', '--wait')
    const left = await kopia.json<Snapshot[]>(['snapshot', 'list', '--all'])
    const kept = [...(await movesOf('again')).values()].flatMap(({ status }) => status?.snapshotID ?? [])
    assert.deepEqual(new Set(left.map(({ id }) => id)), new Set(kept.filter(Boolean)))
    await kopia.verify()
  })

  it('are moved by Lateen where an installation of Velero is given its image', async () => {
    for (const workload of ['deployment/velero', 'daemonset/node-agent']) {
      const container = `${path.basename(workload)}=${lateenImageName}`
      await kubectl(['-n', velero.namespace, 'set', 'image', workload, container])
    }
    await serverReplaced(given.cluster, velero.namespace)
    await kubectl(['-n', velero.namespace, 'rollout', 'status', 'daemonset/node-agent', '--timeout=180s'])
    await backUp(velero.run, 'taken-over')
    const moves = await movesOf('taken-over')
    for (const volume of volumeNames) assert.equal(moves.get(volume)?.status?.phase, 'Completed', volume)
    const newest = (await snapshotsOf('data')).at(-1)
    // The mark that Velero's restore has left is new.
    assert.deepEqual([newest?.id, newest?.stats.nonCachedFiles], [moves.get('data')?.status?.snapshotID, 1])
  })

  /** Both command lines show the same of a backup or restore; what they show. */
  async function shownAlike(kind: string, name: string, namespace: string): Promise<string> {
    const words = [kind, 'describe', name, '--details', '--colorized=false', '--namespace', namespace]
    const [ours, theirs] = await Promise.all([both.run('lateen', words), both.run('velero', words)])
    assert.equal(ours, theirs)
    return theirs
  }

  /** The server in a namespace maintains the repository by a Job, and says so. */
  async function maintains(namespace: string): Promise<void> {
    const object = ['-n', namespace, 'backuprepository', repositoryName]
    const often = async (maintenanceFrequency: string) => {
      const patch = JSON.stringify({ spec: { maintenanceFrequency } })
      await kubectl(['patch', ...object, '--type=merge', '-p', patch])
    }
    await often('1s')
    let last: BackupRepository | undefined
    const runs = await waitUntil(
      async () => {
        last = JSON.parse(await kubectl(['get', ...object, '-o', 'json'])) as BackupRepository
        const { recentMaintenance = [] } = last.status ?? {}
        return recentMaintenance.length > 0 && recentMaintenance
      },
      {
        timeoutMs: 120_000,
        everyMs: 300,
        failure: () => new Error(`no maintenance: ${JSON.stringify(last)}`),
      },
    )
    await often('1h0m0s')
    for (const run of runs) assert.equal(run.result, 'Succeeded', run.message)
    const jobs = await kubectl([
      '-n',
      namespace,
      'get',
      'jobs',
      '-l',
      `velero.io/repo-name=${repositoryName}`,
    ])
    assert.match(jobs, /-maintain-job-/)
    // One that began meanwhile would go on beside what comes next.
    await kubectl(['-n', namespace, 'wait', '--for=condition=Complete', 'jobs', '--all', '--timeout=120s'])
  }

  /** Waits until a backup is no more. */
  async function gone(namespace: string, name: string): Promise<void> {
    const wait = ['-n', namespace, 'wait', '--for=delete', `backup.velero.io/${name}`, '--timeout=120s']
    await kubectl(wait)
  }
})

/** A claim of a volume that can be read below the kubelet's folder, in a namespace. */
const claim = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: app } },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'kept', namespace: app, annotations: { volumeType: 'local' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ],
}

/** Which fields the two programs fill differently, and why. */
const explained = [
  // Velero's can be negative, and is left out at 0.
  /\.incremental(Bytes|Size)$/,
  // Velero writes what its client has left of an object; who wrote which field is nothing of a backup's.
  /^\.(apiVersion|kind)$/,
  /\.managedFields\b/,
]

/** Velero takes a snapshot of an empty folder too; Lateen takes none and says so. */
const ofEmpty = [/^\.status\.(snapshotID|message)$/, /^\.status\.progress\./]

function moveFields(move: PodVolumeBackup | undefined): string[] {
  return fieldsOf(move, [...explained, ...(move?.spec.volume === 'empty' ? ofEmpty : [])])
}

/** A description without names, times and sizes. */
function anonymous(described: string, names: Record<string, string>): string {
  const named = Object.entries(names).reduce((text, [name, other]) => text.replaceAll(name, other), described)
  return named
    .replace(/lateen\.dev\/synced=true\n\s+/, '')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '<time>')
    .replaceAll(/\(size: (\d+)(, incremental size: \d+)?\)/g, '(<size>)')
}

/** The time of a volume's own folder tells when the mark of its restore was taken away. */
function withoutRootTime(tree: string): string {
  return tree.replace(/^(\. directory \S+ \S+) .*$/m, '$1')
}

function withoutSomeTimes(tree: string): string {
  return tree.replaceAll(/^(.* (?:directory|symbolic link) \S+ \S+) .*$/gm, '$1')
}
