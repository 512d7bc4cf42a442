import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { DataDownload, DataUpload } from '@lateen/api'
import type { KubeObject } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { csiScene } from '../cluster/csi-scene.ts'
import { bothPrograms } from './both-programs.ts'
import {
  createCsiWorkload,
  isOfClaim,
  keptByDriver,
  leftBehind,
  restoredCsiWorkload,
  type SnapshotObject,
  snapshotObjects,
  type VolumeContents,
} from './csi-both-scene.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { agentSettings } from './node-installation.ts'
import { fieldsOf } from './shape.ts'
import { installVeleroOnNode, knowsBackups, type VeleroOnNode } from './velero-on-node.ts'

/** A snapshot as kopia tells of it. */
interface Snapshot {
  id: string
  source: { userName: string; host: string; path: string }
  stats: { cachedFiles: number; nonCachedFiles: number }
}

const given = await givenCluster({ node: true, s3: true, csi: true })
const both = await bothPrograms(given)
const skip = both.skip || (await kopiaSkip())

/** Lateen's namespace, and the prefix of the location that both use. */
const prefix = 'csi-both'
const [app, moved] = [`${prefix}-app`, `${prefix}-moved`]
const backups = ['csi-by-lateen', 'csi-by-velero', 'moved-by-lateen', 'moved-by-velero'] as const
/** Each backup is restored by the other program, into a namespace of its own. */
const restoredIn = (backup: string) => `${prefix}-${backup}`

describe('CSI volumes, with Lateen and Velero on one cluster with one driver and one bucket', {
  skip,
  concurrency: false,
}, async () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const scope = new AsyncDisposableStack()
  const contents = new Map<string, VolumeContents>()
  let velero: VeleroOnNode
  let kopia: KopiaRepository
  let installing: Promise<VeleroOnNode>
  const agents = ['--node-agent-configmap=agents', '--concurrent-backups=2', '--item-block-worker-count=2']
  before(async () => {
    for (const namespace of [prefix, `${prefix}-velero`]) {
      await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(agentSettings(namespace, 4)) })
    }
    installing = installVeleroOnNode(given.cluster, both, {
      namespace: `${prefix}-velero`,
      prefix,
      flags: [...agents, '--features=EnableCSI'],
      serverArgs: ['--item-operation-sync-frequency=2s'],
    })
    installing.catch(() => {})
  })
  const lateen = await csiScene(given, { namespace: prefix, flags: agents })
  before(async () => {
    scope.defer(cleanUp)
    scope.defer(async () => (await installing.catch(() => undefined))?.[Symbol.asyncDispose]())
    for (const workload of await Promise.all(
      [app, moved].map(namespace => createCsiWorkload(given.cluster, namespace)),
    )) {
      contents.set(workload.namespace, await workload.contents())
    }
  })
  after(() => scope.disposeAsync())

  /** By which program a backup was taken, and which is to restore and delete it. */
  const programOf = (name: string) =>
    name.endsWith('-by-lateen')
      ? { run: lateen.succeed, other: () => velero.run, otherNamespace: `${prefix}-velero` }
      : { run: velero.run, other: () => lateen.succeed, otherNamespace: prefix }
  const sourceOf = (name: string) => (name.startsWith('moved') ? moved : app)

  const backUp = async (name: string) => {
    const what = [`--include-namespaces=${sourceOf(name)}`, '--exclude-resources=events,events.events.k8s.io']
    const move = name.startsWith('moved') ? ['--snapshot-move-data'] : []
    const said = await programOf(name).run('backup', 'create', name, ...what, ...move, '--wait')
    assert.match(said, /completed with status: Completed\./, `${name}: ${said}`)
  }

  it('are backed up by Lateen, as snapshots and with their data', async () => {
    // Velero is still being installed.
    await Promise.all(['csi-by-lateen', 'moved-by-lateen'].map(backUp))
  })

  it('are backed up by Velero, which goes by what Lateen has moved', async () => {
    velero = await installing
    await Promise.all(['csi-by-velero', 'moved-by-velero'].map(backUp))
    kopia = await repository()
    const all = await kopia.json<Snapshot[]>(['snapshot', 'list', '--all'])
    const ofFiles = all.filter(({ source }) => source.path.endsWith(`/${moved}/data`))
    assert.deepEqual(new Set(ofFiles.map(({ source }) => JSON.stringify(source))).size, 1)
    const [ours, theirs, ...more] = ofFiles
    assert.ok(ours && theirs && more.length === 0)
    assert.equal(ours.stats.cachedFiles, 0)
    assert.equal(theirs.stats.nonCachedFiles, 0)
  })

  it('have nothing left in the cluster, and one snapshot for each volume in the driver', async () => {
    await allGone(() => snapshotObjects(given.cluster, prefix))
    const handles = (await Promise.all(['csi-by-lateen', 'csi-by-velero'].map(handlesOf))).flat()
    assert.equal(new Set(handles).size, 4)
    assert.deepEqual(await keptByDriver(given.cluster, handles), handles)
    assert.deepEqual(await lateen.driverSnapshots(), handles.toSorted())
  })

  it('are in files of the same fields', async () => {
    for (const kind of ['csi', 'moved']) {
      const [ours, theirs] = [`${kind}-by-lateen`, `${kind}-by-velero`]
      const names = async (backup: string) =>
        (await lateen.bucket.files())
          .get(backup)
          ?.map(name => name.replace(backup, '<backup>'))
          .filter(name => name !== classesFile)
      assert.deepEqual(await names(ours), await names(theirs))
      for (const file of ['-volumeinfo.json.gz', '-itemoperations.json.gz', '-results.gz']) {
        const [our, their] = [
          await lateen.bucket.readJson(ours, file),
          await lateen.bucket.readJson(theirs, file),
        ]
        assert.deepEqual(fieldsOf(our, explained), fieldsOf(their, explained), `${kind}${file}`)
      }
      const [our, their] = [await lateen.bucket.metadata(ours), await lateen.bucket.metadata(theirs)]
      assert.deepEqual(fieldsOf(our, explained), fieldsOf(their, explained), kind)
    }
  })

  it('are in archives with the same kinds of objects, with the same fields', async () => {
    for (const kind of ['csi', 'moved']) {
      const [ours, theirs] = [await byKind(`${kind}-by-lateen`), await byKind(`${kind}-by-velero`)]
      assert.deepEqual([...ours.keys()].toSorted(), [...theirs.keys()].toSorted())
      for (const [sort, objects] of ours) {
        const their = theirs.get(sort) ?? []
        assert.equal(objects.length, their.length, sort)
        assert.deepEqual(fieldsOf(objects, explained), fieldsOf(their, explained), `${kind}: ${sort}`)
      }
    }
  })

  it('look as an older Velero left them, which kept snapshots in the cluster and their copies in the bucket', async () => {
    const backup = 'csi-by-velero'
    const objects = (await objectsIn(backup)) as SnapshotObject[]
    const ofKind = (kind: string) =>
      objects.filter(object => object.kind === kind && isOfClaim(object, 'data', objects))
    const files = {
      'csi-volumesnapshots': ofKind('VolumeSnapshot'),
      'csi-volumesnapshotcontents': ofKind('VolumeSnapshotContent'),
      'csi-volumesnapshotclasses': objects.filter(({ kind }) => kind === 'VolumeSnapshotClass'),
    }
    for (const [name, documents] of Object.entries(files)) {
      assert.equal(documents.length, 1, name)
      const file = `backups/${backup}/${backup}-${name}.json.gz`
      await lateen.bucket.write(file, gzipSync(JSON.stringify(documents)))
    }
    const [content] = files['csi-volumesnapshotcontents']
    assert.ok(content)
    const items = leftBehind(content, backup)
    await kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
    const { namespace, name } = content.spec.volumeSnapshotRef ?? {}
    const ready = ['wait', '--for=jsonpath={.status.readyToUse}=true', '--timeout=60s']
    await kubectl([...ready, '-n', namespace ?? '', `volumesnapshot/${name}`])
  })

  it('are known to the other program, and shown as if they were its own', async () => {
    const patch = JSON.stringify({ spec: { backupSyncPeriod: '1s' } })
    for (const namespace of [prefix, velero.namespace]) {
      const location = ['-n', namespace, 'backupstoragelocation', 'default']
      await kubectl(['patch', ...location, '--type=merge', '-p', patch])
    }
    await velero.sync(backups.filter(name => name.endsWith('-by-lateen')))
    await knowsBackups(given.cluster, prefix, backups)
    for (const name of backups) {
      const described = await shownAlike('backup', name, programOf(name).otherNamespace)
      assert.match(described, name.startsWith('moved') ? /Data Movement:/ : /Snapshot Content Name: /)
      assert.doesNotMatch(described, /Result: failed/)
    }
  })

  it('are restored by the other program', async () => {
    await Promise.all(
      backups.map(async backup => {
        const mapping = ['--namespace-mappings', `${sourceOf(backup)}:${restoredIn(backup)}`]
        const create = ['restore', 'create', backup, '--from-backup', backup, ...mapping, '--wait']
        const said = await programOf(backup).other()(...create)
        assert.match(said, /completed with status: Completed\./, `${backup}: ${said}`)
        const restored = await restoredCsiWorkload(given.cluster, restoredIn(backup))
        assert.deepEqual(await restored.contents(), contents.get(sourceOf(backup)), backup)
      }),
    )
  })

  it('have nothing of Lateen left in the cluster after that, and what Velero leaves', async () => {
    const restored = async () =>
      (await snapshotObjects(given.cluster, prefix)).filter(({ metadata }) => metadata.labels?.[restoreLabel])
    const ofVelero = ({ metadata }: SnapshotObject) => metadata.labels?.[restoreLabel] === 'csi-by-lateen'
    await allGone(async () => (await restored()).filter(object => !ofVelero(object)))
    const left = await restored()
    assert.deepEqual(
      [...new Set(left.map(({ metadata }) => metadata.labels?.[restoreLabel]))],
      ['csi-by-lateen'],
    )
    const kinds = Map.groupBy(left, ({ kind }) => kind)
    assert.deepEqual(
      [kinds.get('VolumeSnapshot')?.length, kinds.get('VolumeSnapshotContent')?.length],
      [2, 2],
    )
  })

  it('are shown by both programs as restored, in files and objects of the same fields', async () => {
    for (const kind of ['csi', 'moved']) {
      for (const backup of [`${kind}-by-lateen`, `${kind}-by-velero`]) {
        const described = await shownAlike('restore', backup, programOf(backup).otherNamespace)
        assert.match(described, kind === 'moved' ? /Data Movement:/ : /Snapshot Content Name: /)
      }
      // The restore of a backup by Lateen is one by Velero.
      const [ours, theirs] = [`${kind}-by-velero`, `${kind}-by-lateen`]
      for (const file of restoreFiles) {
        assert.deepEqual(await restoreFields(ours, file), await restoreFields(theirs, file), file)
      }
    }
    const downloads = async (namespace: string) =>
      fieldsOf(await list<DataDownload>('datadownloads', namespace), explained)
    assert.deepEqual(await downloads(prefix), await downloads(velero.namespace))
    const uploads = async (namespace: string) =>
      fieldsOf(await list<DataUpload>('datauploads', namespace), explained)
    assert.deepEqual(await uploads(prefix), await uploads(velero.namespace))
  })

  it('are deleted with their snapshots by the other program', async () => {
    const moves = (await list<DataUpload>('datauploads', prefix)).concat(
      await list<DataUpload>('datauploads', velero.namespace),
    )
    const snapshots = async () =>
      (await kopia.json<Snapshot[]>(['snapshot', 'list', '--all'])).map(({ id }) => id)
    assert.deepEqual(
      new Set(await snapshots()),
      new Set(moves.flatMap(({ status }) => status?.snapshotID ?? [])),
    )
    const handles = (await Promise.all(['csi-by-lateen', 'csi-by-velero'].map(handlesOf))).flat()
    await Promise.all([
      lateen.deleteBackups('csi-by-velero', 'moved-by-velero'),
      deletedByVelero('csi-by-lateen', 'moved-by-lateen'),
    ])
    // Velero has the driver told to delete them, and does not wait until it has.
    let kept = handles
    const isDeleted = async () => {
      kept = await keptByDriver(given.cluster, handles)
      return kept.length === 0
    }
    const failure = () => new Error(`the driver keeps ${kept.join()}`)
    await waitUntil(isDeleted, { timeoutMs: 120_000, failure })
    assert.deepEqual(await snapshots(), [])
    await allGone(async () =>
      (await snapshotObjects(given.cluster, prefix)).filter(
        ({ metadata }) => !metadata.labels?.[restoreLabel],
      ),
    )
    for (const restored of backups.map(restoredIn)) {
      const { namespace, contents: now } = await restoredCsiWorkload(given.cluster, restored)
      const source = sourceOf(namespace.slice(prefix.length + 1))
      assert.deepEqual(await now(), contents.get(source), 'what was restored does not need the snapshot')
    }
  })

  /** Snapshot objects that are deleted stay until the snapshot controller lets them go, for which nobody waits. */
  async function allGone(find: () => Promise<SnapshotObject[]>): Promise<void> {
    let left: SnapshotObject[] = []
    const isGone = async () => {
      left = await find()
      return left.length === 0
    }
    const failure = () => new Error(`these stay: ${left.map(nameOf).join(', ')}`)
    await waitUntil(isGone, { timeoutMs: 120_000, failure })
  }

  async function deletedByVelero(...names: string[]): Promise<void> {
    await velero.run('backup', 'delete', ...names, '--confirm')
    const objects = names.map(name => `backup.velero.io/${name}`)
    await kubectl(['-n', velero.namespace, 'wait', '--for=delete', ...objects, '--timeout=180s'])
  }

  /** Both command lines show the same of a backup or restore; what they show. */
  async function shownAlike(kind: string, name: string, namespace: string): Promise<string> {
    const words = [kind, 'describe', name, '--details', '--colorized=false', '--namespace', namespace]
    const [ours, theirs] = await Promise.all([both.run('lateen', words), both.run('velero', words)])
    assert.equal(ours, theirs)
    return theirs
  }

  async function handlesOf(backup: string): Promise<string[]> {
    const objects = (await objectsIn(backup)) as SnapshotObject[]
    return objects.flatMap(({ status }) => status?.snapshotHandle ?? [])
  }

  /** The objects in an archive, each once. */
  async function objectsIn(backup: string): Promise<KubeObject[]> {
    const unpacked = [...(await lateen.bucket.unpack(backup)).entries()]
    return unpacked.flatMap(([path, object]) => (path.includes('preferredversion') ? [] : [object]))
  }

  async function byKind(backup: string): Promise<Map<string, KubeObject[]>> {
    return Map.groupBy(await objectsIn(backup), ({ kind }) => kind)
  }

  async function restoreFields(restore: string, file: string): Promise<string[]> {
    const key = `restores/${restore}/${file.replace('%', restore)}`
    const document: unknown = JSON.parse(gunzipSync(await lateen.bucket.read(key)).toString())
    // Both name the volume of a claim that is bound when they write this, and do not wait for that.
    return fieldsOf(document, [...explained, /^\[\]\.pvName$/])
  }

  async function list<T>(plural: string, namespace: string): Promise<T[]> {
    return JSON.parse(await kubectl(['-n', namespace, 'get', `${plural}.velero.io`, '-o', 'json'])).items
  }

  function repository(): Promise<KopiaRepository> {
    return kopiaRepository(
      { after: clean => scope.defer(clean) },
      {
        storage: { ...given.cluster.s3, prefix: `${prefix}/kopia/${moved}/` },
        ...{ connect: true, password: 'static-passw0rd', username: 'default', hostname: 'default' },
      },
    )
  }

  /** Namespaces, and what Velero leaves where no namespace takes it along. */
  async function cleanUp(): Promise<void> {
    const namespaces = [app, moved, ...backups.map(restoredIn)]
    const contentsLeft = (await snapshotObjects(given.cluster, prefix)).filter(
      ({ metadata }) => !metadata.namespace,
    )
    await kubectl(['delete', 'namespace', ...namespaces, '--ignore-not-found', '--wait=false'])
    for (const { metadata } of contentsLeft) {
      await kubectl([
        'delete',
        'volumesnapshotcontent',
        metadata.name ?? '',
        '--ignore-not-found',
        '--wait=false',
      ])
    }
  }
})

const restoreLabel = 'velero.io/restore-name'
const restoreFiles = ['%-volumeinfo.json.gz', 'restore-%-itemoperations.json.gz']

/** Lateen writes down which classes a backup needs, where Velero does not. Both read it. */
const classesFile = '<backup>-csi-volumesnapshotclasses.json.gz'

const nameOf = ({ kind, metadata }: SnapshotObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`

/** Which fields the two programs fill differently, and why. */
const explained = [
  // Who wrote which field is nothing of a backup's.
  /\.managedFields\b/,
  // Velero's can be negative, and is left out at 0.
  /\.incremental(Bytes|Size)$/,
  // Velero means to take it away, and changes a copy.
  /\.metadata\.annotations\.backup\.velero\.io\/must-include-additional-items$/,
  // Velero has it for some moves only.
  /^\[\]\.startTimestamp$/,
  // What Lateen makes has a name that it finds again, and marks by which it knows it for its own.
  /\.metadata\.generateName$/,
  /^\[\]\.metadata\.labels\.velero\.io\/backup-uid$/,
  /\.metadata\.annotations\.lateen\.dev\//,
  // Lateen's installation has no location for native snapshots.
  /\.volumeSnapshotLocations\[\]$/,
  // Velero leaves out 0.
  /\.(hookStatus\.hooks(Attempted|Failed)|queuePosition)$/,
  // Velero writes down the default, too.
  /\.dataMoverConfig\.WriteSparseFiles$/,
]
