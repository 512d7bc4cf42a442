import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { BackupSpec } from '@lateen/api'
import type { NativeSnapshot } from '../../packages/server/src/volumes/volume-backup.ts'
import type { VolumeInfo } from '../../packages/server/src/volumes/volume-info.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import {
  createFolderVolumes,
  createPluginProgram,
  type FolderPlace,
  pageOf,
  snapshotCalls,
  snapshotLocation,
  volumeName,
} from './snapshot-scene.ts'

const given = await givenCluster({ s3: true })
const sources = {
  example: path.join(import.meta.dirname, '../../examples/volume-snapshotter.ts'),
  recording: path.join(import.meta.dirname, 'snapshot-plugin.ts'),
}

describe('native snapshots', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let folder = ''
  let place: FolderPlace
  let copy = ''
  const at = (...names: string[]) => path.join(folder, ...names)
  const chosen = (test: string): BackupSpec => ({
    includedNamespaces: [scene.data],
    labelSelector: { matchLabels: { test } },
  })
  const kubectlJson = async (...args: string[]) =>
    JSON.parse(await given.cluster.kubectl(['get', '-o', 'json', ...args]))
  const apply = (...items: object[]) =>
    given.cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-native-snapshots-'))
    scene = await openServerScene(given.cluster, 'native-snapshots')
    place = { cluster: given.cluster, folder, namespace: scene.data }
    copy = `${scene.data}-copy`
    for (const source of Object.values(sources)) await createPluginProgram(at('plugins'), source)
    for (const name of ['example', 'recorded', 'progress']) await mkdir(at(name))
    const { namespace } = scene
    await apply(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'storage', namespace },
        stringData: { key: 'sesame' },
      },
      snapshotLocation('recording', namespace, {
        provider: 'example.com/recording',
        config: { path: folder, owns: 'recording', iops: '250' },
        credential: { name: 'storage', key: 'key' },
      }),
      snapshotLocation('second', namespace, {
        provider: 'example.com/second',
        config: { path: folder, owns: 'second' },
      }),
      snapshotLocation('example', namespace, {
        provider: 'example.lateen.dev/folder',
        config: { path: at('example') },
      }),
    )
    const recording = { storage: 'recording' }
    await createFolderVolumes(place, [
      { name: 'plain', labels: { test: 'plain' }, zone: 'zone-b' },
      { name: 'tagged', labels: { test: 'tagged' }, ...recording, zone: 'zone-a' },
      { name: 'others', labels: { test: 'tagged' }, storage: 'second' },
      ...['getVolumeId', 'getVolumeInfo', 'createSnapshot', 'createVolume', 'setVolumeId'].map(call => ({
        name: `fails-${call}`.toLowerCase(),
        labels: { test: 'fails' },
        ...recording,
      })),
      ...['slow', 'slow-cancelled', 'slow-late', 'slow-failing'].map(name => ({
        name,
        labels: { test: name },
        ...recording,
      })),
    ])
    await scene.start({ pluginFolder: at('plugins'), itemOperationSyncFrequency: 300 })
  })

  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', copy, '--ignore-not-found', '--wait=false'])
    await given.cluster.kubectl(['delete', 'pv', '-l', `example.com/of=${scene.data}`, '--wait=false'])
    await rm(folder, { recursive: true, force: true })
  })

  const snapshotsOf = async (backup: string) =>
    (await scene.bucket.readJson(backup, '-volumesnapshots.json.gz')) as NativeSnapshot[]
  const infosOf = async (backup: string) =>
    (await scene.bucket.readJson(backup, '-volumeinfo.json.gz')) as VolumeInfo[]

  it('hold what was on the volume, and come back as a volume of their own in another namespace', async () => {
    const { status } = await scene.backups.take('plain', chosen('plain'))
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.deepEqual(
      [
        status?.volumeSnapshotsAttempted,
        status?.volumeSnapshotsCompleted,
        status?.backupItemOperationsCompleted,
      ],
      [1, 1, 1],
    )
    const pvName = volumeName(place, 'plain')
    const [snapshot] = await snapshotsOf('plain')
    assert.equal(snapshot?.spec.location, 'example')
    assert.equal(snapshot?.spec.volumeAZ, 'zone-b')
    const [info] = await infosOf('plain')
    assert.deepEqual(
      [info?.pvName, info?.pvcName, info?.backupMethod, info?.result],
      [pvName, 'plain', 'NativeSnapshot', 'succeeded'],
    )

    await writeFile(pageOf(place, 'plain'), 'changed afterwards')
    const namespaceMapping = { [scene.data]: copy }
    const restored = await scene.restores.run('plain', { backupName: 'plain', namespaceMapping })
    assert.equal(restored.status?.phase, 'Completed', JSON.stringify(restored.status))
    const claim = await kubectlJson('pvc', 'plain', '--namespace', copy)
    assert.match(claim.spec.volumeName, /^velero-clone-/)
    const volume = await kubectlJson('pv', claim.spec.volumeName)
    assert.equal(volume.metadata.annotations['velero.io/original-pv-name'], pvName)
    assert.equal(await readFile(path.join(volume.spec.hostPath.path, 'page'), 'utf8'), 'the page of plain')
    const bytes = await scene.bucket.read('restores/plain/plain-volumeinfo.json.gz')
    assert.deepEqual(JSON.parse(gunzipSync(bytes).toString()), [
      {
        pvcName: 'plain',
        pvcNamespace: copy,
        pvName: claim.spec.volumeName,
        restoreMethod: 'NativeSnapshot',
        snapshotDataMoved: false,
        nativeSnapshotInfo: {
          snapshotHandle: snapshot?.status.providerSnapshotID,
          volumeType: 'folder',
          volumeAZ: 'zone-b',
          iops: '0',
          Phase: '',
        },
      },
    ])
  })

  const ours = { volumeSnapshotLocations: ['recording', 'second'] }
  const callsFor = async (backup: string) => {
    const all = await snapshotCalls(folder)
    return all.filter(
      ({ tags }) => (tags as Record<string, string> | undefined)?.['velero.io/backup'] === backup,
    )
  }
  const callsOn = async (name: string, call: string) =>
    (await snapshotCalls(folder)).filter(each => each.call === call && path.basename(each.volumeId) === name)

  it('are taken by the location that knows the volume, with zone, tags and credentials, and restored with type, zone and iops', async () => {
    const { status } = await scene.backups.take('tagged', { ...chosen('tagged'), ...ours })
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.equal(status?.volumeSnapshotsCompleted, 2)
    // The first location does not know the volume of the second.
    assert.equal(status?.warnings, 1)
    const tags = (name: string) => ({
      'velero.io/storage-location': 'default',
      'velero.io/backup': 'tagged',
      'velero.io/pv': volumeName(place, name),
    })
    assert.deepEqual(
      (await callsFor('tagged')).sort((one, other) => (one.volumeId < other.volumeId ? -1 : 1)),
      [
        { call: 'createSnapshot', volumeId: at('volumes/others'), volumeZone: '', tags: tags('others') },
        {
          call: 'createSnapshot',
          volumeId: at('volumes/tagged'),
          volumeZone: 'zone-a',
          tags: tags('tagged'),
        },
      ],
    )
    const inits = (await snapshotCalls(folder)).filter(({ call }) => call === 'init')
    assert.ok(inits.some(({ owns, credentials }) => owns === 'recording' && credentials === 'sesame'))
    const byLocation = Object.fromEntries(
      (await snapshotsOf('tagged')).map(each => [each.spec.location, each]),
    )
    assert.deepEqual(byLocation.recording?.spec.volumeIOPS, 250)
    assert.deepEqual(byLocation.second?.status, { providerSnapshotID: 'tagged-others', phase: 'Completed' })

    const namespaceMapping = { [scene.data]: copy }
    const restored = await scene.restores.run('tagged', { backupName: 'tagged', namespaceMapping })
    assert.equal(restored.status?.phase, 'Completed', JSON.stringify(restored.status))
    const [made] = await callsOn('tagged', 'createVolume')
    assert.deepEqual(
      [made?.snapshotId, made?.volumeType, made?.volumeZone, made?.iops],
      ['tagged-tagged', 'recorded', 'zone-a', 250],
    )
    assert.equal(await readFile(at('restored/tagged/page'), 'utf8'), 'the page of tagged')
  })

  it('take the place of volumes that are lost, under the same name', async () => {
    const name = volumeName(place, 'tagged')
    await given.cluster.kubectl(['delete', 'pvc', 'tagged', '--namespace', scene.data])
    await given.cluster.kubectl(['delete', 'pv', name])
    const labelSelector = { matchLabels: { test: 'tagged' } }
    const restored = await scene.restores.run('lost', { backupName: 'tagged', labelSelector })
    assert.equal(restored.status?.phase, 'Completed', JSON.stringify(restored.status))
    const volume = await kubectlJson('pv', name)
    assert.equal(volume.spec.hostPath.path, at('restored/tagged'))
    const bound = ['--for=jsonpath={.status.phase}=Bound', '--timeout=120s']
    await given.cluster.kubectl(['wait', 'pvc/tagged', '--namespace', scene.data, ...bound])
    // The volume of the other claim is there, and stays what it is.
    const other = await kubectlJson('pv', volumeName(place, 'others'))
    assert.equal(other.spec.hostPath.path, at('volumes/others'))
  })

  it('that are not wanted are not taken', async () => {
    const { status } = await scene.backups.take('unwanted', { ...chosen('tagged'), snapshotVolumes: false })
    assert.equal(status?.phase, 'Completed')
    assert.equal(status?.volumeSnapshotsAttempted, undefined)
    assert.deepEqual(await snapshotsOf('unwanted'), [])
    const infos = await infosOf('unwanted')
    assert.deepEqual(
      infos.map(({ skipped, skippedReason }) => [skipped, skippedReason]),
      infos.map(() => [true, 'volumeSnapshot: snapshotVolumes is false;']),
    )
    assert.equal(infos.length, 2)
  })

  it('cannot be restored without their location, which the error names', async () => {
    await given.cluster.kubectl(['delete', 'vsl', 'second', '--namespace', scene.namespace])
    const namespaceMapping = { [scene.data]: copy }
    const { status } = await scene.restores.run('homeless', { backupName: 'tagged', namespaceMapping })
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    const { errors } = await scene.bucket.restoreResults('homeless')
    assert.match(
      errors.cluster?.join() ?? '',
      /error executing PVAction for persistentvolumes\/\S+-others: VolumeSnapshotLocation.velero.io "second" not found/,
    )
    const config = { path: folder, owns: 'second' }
    await apply(snapshotLocation('second', scene.namespace, { provider: 'example.com/second', config }))
  })

  it('of volumes whose plugin fails are errors, each in its own way, and the others are taken', async () => {
    const { status } = await scene.backups.take('fails', { ...chosen('fails'), ...ours })
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    const shown = (await snapshotsOf('fails')).map(({ spec, status: { phase, providerSnapshotID } }) =>
      [path.basename(spec.providerVolumeID), spec.location, phase, providerSnapshotID !== undefined].join(
        ' ',
      ),
    )
    assert.deepEqual(
      shown.toSorted((one, other) => (one < other ? -1 : 1)),
      [
        'fails-createsnapshot recording Failed false',
        'fails-createvolume recording Completed true',
        // Nobody knows what the first location would have said, and the example takes everything.
        'fails-getvolumeid example Completed true',
        'fails-setvolumeid recording Completed true',
      ],
    )
    assert.deepEqual([status?.volumeSnapshotsAttempted, status?.volumeSnapshotsCompleted], [4, 3])
    const { errors } = (await scene.bucket.readJson('fails', '-results.gz')) as {
      errors: { cluster?: string[]; namespaces?: Record<string, string[]> }
    }
    const told = JSON.stringify(errors)
    for (const call of ['getVolumeId', 'getVolumeInfo', 'createSnapshot'])
      assert.match(told, new RegExp(`${call} fails on purpose`))
    const stored = [...(await scene.bucket.unpack('fails')).keys()].map(each => path.basename(each, '.json'))
    for (const name of ['fails-getvolumeinfo', 'fails-createsnapshot'])
      assert.ok(!stored.includes(volumeName(place, name)), name)

    const namespaceMapping = { [scene.data]: copy }
    const restored = await scene.restores.run('fails', { backupName: 'fails', namespaceMapping })
    assert.equal(restored.status?.phase, 'PartiallyFailed')
    const results = await scene.bucket.restoreResults('fails')
    const restoreErrors = results.errors.cluster?.join('\n') ?? ''
    assert.match(restoreErrors, /-fails-createvolume: .*createVolume fails on purpose/)
    assert.match(
      restoreErrors,
      /-fails-setvolumeid: .*setVolumeId fails on purpose.*; the volume \S+ was made/,
    )
  })

  /** What the plugin says about the upload of a volume's snapshot from now on. */
  const upload = (name: string, progress: object) => writeFile(at('progress', name), JSON.stringify(progress))
  const operationsOf = async (backup: string) =>
    (await scene.bucket.readJson(backup, '-itemoperations.json.gz')) as {
      spec: Record<string, unknown>
      status: Record<string, unknown>
    }[]

  it('that take long are waited for, and show how far they are', async () => {
    await upload('slow', { nCompleted: 3, nTotal: 10, started: Date.now() })
    await scene.backups.create('slow', { ...chosen('slow'), ...ours })
    await scene.backups.until('slow', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    const [operation] = await operationsOf('slow')
    assert.deepEqual(operation?.spec, {
      backupName: 'slow',
      backupUID: (await scene.backups.get('slow')).metadata.uid,
      backupItemAction: 'example.com/recording',
      volumeSnapshotLocation: 'recording',
      resourceIdentifier: {
        Group: '',
        Resource: 'persistentvolumes',
        Namespace: '',
        Name: volumeName(place, 'slow'),
      },
      operationID: 'slow-slow',
      postOperationItems: null,
    })
    const { phase, nCompleted, nTotal, operationUnits, description } = operation?.status ?? {}
    assert.deepEqual(
      { phase, nCompleted, nTotal, operationUnits, description },
      { phase: 'InProgress', nCompleted: 3, nTotal: 10, operationUnits: 'bytes', description: 'uploading' },
    )
    assert.ok(!(await scene.bucket.files()).get('slow')?.includes('velero-backup.json'))
    await upload('slow', { completed: true, nCompleted: 10, nTotal: 10 })
    const { status } = await scene.backups.ended('slow')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.deepEqual([status?.volumeSnapshotsCompleted, status?.backupItemOperationsCompleted], [1, 1])
    assert.equal((await operationsOf('slow'))[0]?.status.phase, 'Completed')
  })

  const ends: Record<string, { spec?: BackupSpec; act?: (name: string) => Promise<unknown>; error: RegExp }> =
    {
      'slow-failing': {
        act: name => upload(name, { completed: true, error: 'the disk is full' }),
        error: /^the disk is full$/,
      },
      'slow-late': { spec: { itemOperationTimeout: '1s' }, error: /timed out/ },
      'slow-cancelled': {
        act: name =>
          given.cluster.kubectl([
            ...['annotate', 'backups.velero.io', name, '--namespace', scene.namespace],
            'lateen.dev/cancel=true',
          ]),
        error: /^cancelled by request$/,
      },
    }
  for (const [name, { spec, act, error }] of Object.entries(ends)) {
    it(`that end badly are failed wherever they are listed: ${name}`, async () => {
      await scene.backups.create(name, { ...chosen(name), ...ours, ...spec })
      if (act !== undefined) {
        await scene.backups.until(name, ({ status }) => status?.phase === 'WaitingForPluginOperations')
        await act(name)
      }
      const { status } = await scene.backups.ended(name)
      assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
      assert.equal(status?.backupItemOperationsFailed, 1)
      assert.deepEqual([status?.volumeSnapshotsAttempted, status?.volumeSnapshotsCompleted ?? 0], [1, 0])
      assert.match(String((await operationsOf(name))[0]?.status.error), error)
      assert.equal((await snapshotsOf(name))[0]?.status.phase, 'Failed')
      const [info] = await infosOf(name)
      assert.equal(info?.result, 'failed')
      assert.equal((info?.nativeSnapshotInfo as { Phase?: string } | undefined)?.Phase, 'Failed')
      assert.equal((await callsOn(name, 'cancel')).length, name === 'slow-failing' ? 0 : 1)
    })
  }

  it('that failed are not restored from', async () => {
    const namespaceMapping = { [scene.data]: copy }
    const { status } = await scene.restores.run('failed', { backupName: 'slow-failing', namespaceMapping })
    assert.equal(status?.phase, 'PartiallyFailed')
    const { errors } = await scene.bucket.restoreResults('failed')
    assert.match(errors.cluster?.join() ?? '', /the snapshot slow-failing-slow-failing of .* had failed/)
  })
})
