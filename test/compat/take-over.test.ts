import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { lateenImageName } from '../../tools/image/lateen-image.ts'
import { awsPluginImageName, veleroImageName } from '../../tools/velero/velero-images.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { bothPrograms, type Program } from './both-programs.ts'
import { assertKept, type KeptState, keptState, namesOf } from './kept-state.ts'
import { deliverBothImages, installWords, serverReplaced } from './node-installation.ts'

const given = await givenCluster({ node: true, s3: true, own: true })
const both = await bothPrograms(given)
const prefix = 'taken-over'
const ended = /^(Completed|PartiallyFailed|Failed|FailedValidation)$/

describe('a running Velero', { skip: both.skip, concurrency: false }, () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  let bucket: BackupBucket
  let kept: KeptState

  before(async () => {
    bucket = new BackupBucket(given.cluster, prefix)
    await deliverBothImages(given.cluster)
    await kubectl(['create', 'namespace', 'shop'])
    await kubectl(['create', 'configmap', 'things', '-n', 'shop', '--from-literal=a=b'])
    await kubectl(['create', 'secret', 'generic', 'secrets', '-n', 'shop', '--from-literal=c=d'])
  })
  after(() => bucket?.[Symbol.dispose]())

  const read = async (...words: string[]) =>
    JSON.parse(await kubectl([...words, '-n', 'velero', '-o', 'json']))
  const look = () => keptState(given.cluster, bucket)

  const install = async (program: Program, more: readonly string[] = []) => {
    const image = program === 'velero' ? veleroImageName : lateenImageName
    const words = await installWords(given.cluster, { image, prefix, folder: both.folder })
    const said = await both.run(program, [...words, ...more])
    await serverReplaced(given.cluster)
    return said
  }

  const setImage = async (program: Program) => {
    const image = program === 'velero' ? veleroImageName : lateenImageName
    await kubectl(['set', 'image', 'deployment/velero', `velero=${image}`, '-n', 'velero'])
    await serverReplaced(given.cluster)
  }

  /** The schedule's backups, newest first. */
  const scheduled = async () => {
    const { items } = await read('get', 'backups.velero.io', '-l', 'velero.io/schedule-name=often')
    return items.toSorted((a: Named, b: Named) => (a.metadata.name < b.metadata.name ? 1 : -1)) as Named[]
  }

  const stuck = async (what: () => Promise<Named[]>) => {
    const states = (await what()).map(({ metadata, status }) => `${metadata.name} ${JSON.stringify(status)}`)
    const log = await kubectl(['logs', 'deployment/velero', '-n', 'velero', '--tail=50']).catch(String)
    return new Error(['it does not go on:', ...states, await kubectl(['get', 'pods', '-A']), log].join('\n'))
  }

  /** The schedule makes another backup, and that is Completed. `nudge` is done again and again meanwhile. */
  const firesAgain = async (known: readonly string[], nudge = async () => {}) => {
    await waitUntil(
      async () => {
        await nudge()
        const [newest] = await scheduled()
        return newest && !known.includes(newest.metadata.name) && ended.test(newest.status?.phase ?? '')
      },
      { timeoutMs: 120_000, failure: () => stuck(scheduled), everyMs: 500 },
    )
    // Two servers that overlap report as interrupted what the other one does.
    for (const { status = {} } of await scheduled()) {
      if (ended.test(status.phase ?? ''))
        assert.deepEqual([status.phase, status.failureReason], ['Completed', undefined])
    }
  }

  /** Velero looks at its schedules once a minute, and at those whose spec has changed. */
  const pausedAndBack = async () => {
    for (const verb of ['pause', 'unpause']) await both.run('velero', ['schedule', verb, 'often'])
  }

  const quiet = async () => {
    const moving = async (): Promise<Named[]> =>
      (await read('get', 'backups.velero.io,restores.velero.io')).items.filter(
        ({ status }: Named) => !ended.test(status?.phase ?? ''),
      )
    await waitUntil(async () => (await moving()).length === 0, {
      timeoutMs: 120_000,
      failure: () => stuck(moving),
    })
  }

  /**
   * Velero looks at its schedules once a minute: waits until it has done so by itself and has ended what came of it. A backup that
   * a server leaves behind when it is replaced has failed, and its files are not the last ones.
   */
  const betweenLooks = async () => {
    await firesAgain((await scheduled()).map(({ metadata }) => metadata.name))
    await quiet()
  }

  /** A program restores a backup into a namespace of its own, where all is as it was. */
  const restores = async (program: Program, backup: string) => {
    const name = `${backup}-by-${program}-${randomPart()}`
    const words = ['restore', 'create', name, '--from-backup', backup, '--namespace-mappings', `shop:${name}`]
    assert.match(await both.run(program, [...words, '--wait']), /completed with status: Completed\./)
    const data = (kind: string, at: string) =>
      kubectl(['get', kind, '-n', at, '-o=jsonpath={.items[*].data}'])
    for (const kind of ['configmap', 'secret']) assert.equal(await data(kind, name), await data(kind, 'shop'))
  }

  /** Both programs show all backups and restores alike, and what is in the bucket of some. */
  const shownAlike = async (backups: readonly string[]) => {
    await quiet()
    const words = [
      ['backup', 'get'],
      ['restore', 'get'],
      ['backup', 'describe', ...backups, '--details'],
      ['restore', 'describe', '--details'],
      ...backups.map(name => ['backup', 'logs', name]),
    ]
    for (const some of words) {
      const full = ['--colorized=false', ...some]
      const [ours, theirs] = await Promise.all([both.run('lateen', full), both.run('velero', full)])
      assert.ok(theirs.length > 50, some.join(' '))
      assert.equal(ours, theirs, some.join(' '))
    }
  }

  /** Which server answers. */
  const isServing = async (program: Program) => {
    const own = await both.run(program, ['version', '--client-only'])
    const version = /\tVersion: (v\S+)\n/.exec(own)?.[1]
    assert.ok(version)
    const said = await both.run('velero', ['version', '--timeout=60s'])
    assert.equal(/^Server:\n\tVersion: (v\S+)$/m.exec(said)?.[1], version, said)
  }

  /** The plugin that Velero was installed with: its container has put it there, and nothing is there twice. */
  const pluginDoesNoHarm = async () => {
    const [pod] = (await read('get', 'pods', '-l', 'deploy=velero')).items
    const [init] = pod.status.initContainerStatuses
    assert.equal(init.image, awsPluginImageName)
    assert.equal(init.state.terminated.exitCode, 0)
    const plugins = (await both.run('velero', ['plugin', 'get', '--timeout=60s'])).trim().split('\n')
    assert.equal(new Set(plugins).size, plugins.length)
    for (const kind of ['ObjectStore', 'VolumeSnapshotter']) {
      assert.equal(plugins.filter(line => line.startsWith('velero.io/aws ') && line.includes(kind)).length, 1)
    }
  }

  it('has schedules, backups and a restore', async () => {
    await install('velero')
    // A backup that comes before its location was looked at fails validation.
    const available = ['--for=jsonpath={.status.phase}=Available', '--timeout=180s']
    await kubectl(['wait', 'backupstoragelocation/default', '-n', 'velero', ...available])
    await both.run('velero', [
      ...[
        'schedule',
        'create',
        'often',
        '--schedule=@every 10s',
        '--include-namespaces=shop',
        '--labels=a=b',
      ],
    ])
    await both.run('velero', [
      ...['schedule', 'create', 'weekly', '--schedule=0 3 * * 0', '--paused', '--ttl=90m'],
      '--use-owner-references-in-backup',
    ])
    await both.run('velero', ['backup', 'create', 'first', '--include-namespaces=shop', '--labels=a=b', '-w'])
    await restores('velero', 'first')
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(pastDataMovement) })
    await firesAgain([], pausedAndBack)
    const ready = ['wait', '--for=jsonpath={.status.phase}=Ready', 'backuprepositories.velero.io/past']
    await kubectl([...ready, '-n', 'velero', '--timeout=120s'])
    await isServing('velero')
    await betweenLooks()
    kept = await look()
    assert.deepEqual(namesOf(kept, 'Schedule'), ['often', 'weekly'])
    assert.ok(namesOf(kept, 'Backup').includes('first'))
    for (const { kind, metadata } of pastDataMovement.items) {
      assert.deepEqual(namesOf(kept, kind), [metadata.name])
    }
  })

  it('is taken over by changing the image alone, and nothing is lost', async () => {
    const [deployment, known] = [await read('get', 'deployment', 'velero'), await scheduled()]
    await setImage('lateen')
    const { spec } = await read('get', 'deployment', 'velero')
    spec.template.spec.containers[0].image = veleroImageName
    assert.deepEqual(spec, deployment.spec)
    await isServing('lateen')
    await firesAgain(known.map(({ metadata }) => metadata.name))
    assertKept(kept, await look())
    await pluginDoesNoHarm()
  })

  it('whose backups Lateen shows and restores, beside new ones', async () => {
    await restores('lateen', 'first')
    await both.run('lateen', ['backup', 'create', 'by-image', '--include-namespaces=shop', '--wait'])
    await both.run('lateen', ['schedule', 'pause', 'often'])
    await quiet()
    await restores('lateen', (await scheduled())[0]?.metadata.name ?? '')
    await shownAlike(['first', 'by-image'])
    kept = await look()
  })

  it('is given back by changing the image, and Velero goes on with what Lateen made', async () => {
    await setImage('velero')
    await goesOn(['by-image'])
    kept = await look()
  })

  it('is taken over by `lateen install`, which names what is left of older versions and loses nothing', async () => {
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(leftovers) })
    await untilEstablished(given.cluster, 'resticrepositories.velero.io')
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(resticRepository) })
    await betweenLooks()
    kept = await look()
    const known = (await scheduled()).map(({ metadata }) => metadata.name)
    const said = await install('lateen', ['--wait'])
    assert.match(said, /DaemonSet\/restic .*kubectl -n velero delete daemonset restic/)
    assert.match(said, /1 ResticRepository object .*kubectl delete crd resticrepositories\.velero\.io/)
    await isServing('lateen')
    await firesAgain(known)
    assertKept(kept, await look())
    await pluginDoesNoHarm()
    await restores('lateen', 'first')
    await both.run('lateen', ['backup', 'create', 'by-install', '--include-namespaces=shop', '--wait'])
    await both.run('lateen', ['schedule', 'pause', 'often'])
    await quiet()
    kept = await look()
  })

  it('is given back by changing the image of what `lateen install` made', async () => {
    await setImage('velero')
    await isServing('velero')
    assertKept(kept, await look())
  })

  it('is given back by `velero install --apply`, and Velero goes on with what Lateen made', async () => {
    await install('velero', ['--apply'])
    await goesOn(['by-install', 'by-image'])
    await both.run('lateen', ['schedule', 'pause', 'often'])
    await shownAlike(['first', 'by-install'])
  })

  /** Velero has lost nothing, restores what Lateen has made, and its schedules go on. */
  async function goesOn(backups: readonly string[]): Promise<void> {
    await isServing('velero')
    assertKept(kept, await look())
    const known = (await scheduled()).map(({ metadata }) => metadata.name)
    await both.run('velero', ['schedule', 'unpause', 'often'])
    await firesAgain(known)
    for (const backup of [...backups, known[0] ?? '']) await restores('velero', backup)
  }
})

const metadata = { name: 'past', namespace: 'velero', labels: { 'velero.io/backup-name': 'first' } }
const pod = { kind: 'Pod', namespace: 'shop', name: 'web' }
const [completed, start] = [{ phase: 'Completed' }, { startTimestamp: '2026-01-02T03:04:05Z' }]
const csi = { volumeSnapshot: 'v', storageClass: 's', snapshotClass: 'c' }
const moved = { backupStorageLocation: 'default', operationTimeout: '10m0s' }

/** What node agents have done once, and nobody has to do again. */
const pastDataMovement = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      ...{
        apiVersion: 'velero.io/v1',
        kind: 'PodVolumeBackup',
        metadata,
        status: { ...completed, ...start },
      },
      spec: { node: 'n', pod, volume: 'data', backupStorageLocation: 'default', repoIdentifier: 'r' },
    },
    {
      ...{ apiVersion: 'velero.io/v1', kind: 'PodVolumeRestore', metadata, status: completed },
      spec: {
        ...{ pod, volume: 'data', backupStorageLocation: 'default', repoIdentifier: 'r' },
        ...{ snapshotID: 'i', sourceNamespace: 'shop', uploaderType: 'kopia' },
      },
    },
    {
      ...{ apiVersion: 'velero.io/v2alpha1', kind: 'DataUpload', metadata, status: completed },
      spec: { ...moved, snapshotType: 'CSI', csiSnapshot: csi, sourceNamespace: 'shop', sourcePVC: 'data' },
    },
    {
      ...{ apiVersion: 'velero.io/v2alpha1', kind: 'DataDownload', metadata, status: completed },
      spec: {
        ...{ ...moved, snapshotID: 'i', sourceNamespace: 'shop' },
        targetVolume: { pvc: 'data', pv: '', namespace: 'shop' },
      },
    },
    {
      ...{ apiVersion: 'velero.io/v1', kind: 'BackupRepository', metadata },
      spec: {
        ...{ volumeNamespace: 'shop', backupStorageLocation: 'default', repositoryType: 'kopia' },
        ...{ maintenanceFrequency: '1h0m0s', resticIdentifier: '' },
      },
    },
  ],
}

/** What Velero 1.9 had instead of node agents and BackupRepository. */
const leftovers = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'restic', namespace: 'velero' },
      spec: {
        selector: { matchLabels: { name: 'restic' } },
        template: {
          metadata: { labels: { name: 'restic' } },
          spec: { nodeSelector: { no: 'node' }, containers: [{ name: 'restic', image: veleroImageName }] },
        },
      },
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'resticrepositories.velero.io', labels: { component: 'velero' } },
      spec: {
        group: 'velero.io',
        names: { kind: 'ResticRepository', plural: 'resticrepositories' },
        scope: 'Namespaced',
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true },
            schema: {
              openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        ],
      },
    },
  ],
}
const resticRepository = {
  apiVersion: 'velero.io/v1',
  kind: 'ResticRepository',
  metadata: { name: 'shop-default', namespace: 'velero' },
  spec: { volumeNamespace: 'shop', backupStorageLocation: 'default' },
}

interface Named {
  metadata: { name: string; creationTimestamp: string }
  status?: { phase?: string; failureReason?: string }
}

function randomPart(): string {
  return Math.random().toString(36).slice(2, 6)
}
