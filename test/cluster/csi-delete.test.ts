import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Backup, DeleteBackupRequest } from '@lateen/api'
import {
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
} from '../../packages/server/src/csi/snapshot-kinds.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { type CsiPod, createCsiPod, csiScene, ownLabel } from './csi-scene.ts'
import { serverCommand, signalProcess } from './pod-processes.ts'
import { archiveOf, type Stored } from './restore-harness.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })

const namespace = 'csi-delete'
const data = 'csi-delete-data'
const snapshotApi = 'snapshot.storage.k8s.io/v1'

describe('the deletion of backups with CSI snapshots', { skip: given.skip, concurrency: false }, async () => {
  const scene = await csiScene(given, { namespace })
  const kubectl = (args: readonly string[], stdin = '') => given.cluster.kubectl(args, { stdin })
  const apply = (...items: object[]) =>
    kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const read = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await kubectl(['get', ...args, '-o', 'json']))
  let pod: CsiPod

  before(async () => {
    pod = await createCsiPod(given.cluster, {
      namespace: data,
      claims: {
        files: {},
        disk: { mode: 'Block' },
      },
    })
    await pod.run('echo first > /files/one')
  })
  after(async () => {
    await kubectl(['delete', 'namespace', data, '--wait=false', '--ignore-not-found'])
  })

  async function backUp(name: string): Promise<string[]> {
    const earlier = new Set(await scene.driverSnapshots())
    const backup = await scene.backUp(name, `--include-namespaces=${data}`)
    assert.equal(backup.status?.phase, 'Completed', JSON.stringify(backup.status))
    return (await scene.driverSnapshots()).filter(handle => !earlier.has(handle))
  }

  /** The contents that appear while something is done. */
  async function contentsMade(
    work: (onEach: (see: (content: VolumeSnapshotContent) => void) => void) => Promise<void>,
  ): Promise<VolumeSnapshotContent[]> {
    const ending = new AbortController()
    const seen: VolumeSnapshotContent[] = []
    let tell: (content: VolumeSnapshotContent) => void = () => undefined
    const contents = scene.client.resource(VolumeSnapshotContentKind)
    const listing = contents.list()
    await listing.toArray()
    const watch = async () => {
      const { resourceVersion } = listing
      for await (const event of contents.watch({ resourceVersion, signal: ending.signal })) {
        if (event.type !== 'ADDED') continue
        seen.push(event.object)
        tell(event.object)
      }
    }
    const watching = watch().catch((error: unknown) => {
      if (!ending.signal.aborted) throw error
    })
    try {
      await work(see => {
        tell = see
      })
    } finally {
      ending.abort()
      await watching
    }
    return seen
  }

  it('delete the snapshots in the storage, by contents that go again', async () => {
    const handles = await backUp('plain')
    assert.equal(handles.length, 2)
    const classes = (await scene.bucket.readJson(
      'plain',
      '-csi-volumesnapshotclasses.json.gz',
    )) as VolumeSnapshotClass[]
    assert.deepEqual(
      classes.map(({ metadata, driver }) => [metadata.name, driver]),
      [[given.cluster.csi.snapshotClass, given.cluster.csi.driver]],
    )
    const seen = await contentsMade(() => scene.deleteBackups('plain'))
    const ours = seen.filter(({ spec }) => handles.includes(spec.source.snapshotHandle ?? ''))
    assert.equal(ours.length, 2)
    for (const { metadata, spec } of ours) {
      assert.match(metadata.name ?? '', /^vsc-[0-9a-f-]{36}$/)
      assert.equal(spec.deletionPolicy, 'Delete')
      assert.match(spec.volumeSnapshotRef.namespace ?? '', /^ns-[0-9a-f-]{36}$/)
      assert.match(spec.volumeSnapshotRef.name ?? '', /^name-[0-9a-f-]{36}$/)
    }
    assert.deepEqual(await scene.driverSnapshots(), [])
    await scene.nothingIsLeft()
  })

  it('need neither the class of a snapshot nor the snapshot itself to be there', async () => {
    const [gone = ''] = await backUp('classless')
    const contents = [...(await scene.bucket.unpack('classless')).values()].filter(
      (each): each is Stored & VolumeSnapshotContent => each.kind === 'VolumeSnapshotContent',
    )
    const renamed = contents.map(each => ({
      ...each,
      spec: { ...each.spec, volumeSnapshotClassName: 'csi-delete-gone' },
    }))
    const plural = 'volumesnapshotcontents'
    const archive = archiveOf(...renamed.map(object => ({ plural, object })))
    await scene.bucket.write('backups/classless/classless.tar.gz', archive)
    using driver = driverClient(given.cluster.csi.socket)
    await driver.controller.deleteSnapshot({ snapshotId: gone })
    await scene.deleteBackups('classless')
    assert.deepEqual(await scene.driverSnapshots(), [])
    await scene.nothingIsLeft()
  })

  it('are taken up by the next server when the first is killed in the middle', async () => {
    await backUp('killed')
    let killing: Promise<number> | undefined
    await contentsMade(async onEach => {
      onEach(({ metadata }) => {
        if (metadata.labels?.['velero.io/backup-name'] !== 'killed') return
        const which = { cluster: given.cluster, namespace, command: serverCommand }
        killing ??= signalProcess(which, 'SIGKILL')
      })
      await scene.deleteBackups('killed')
    })
    await (killing ?? assert.fail('the server was not killed'))
    assert.deepEqual(await scene.driverSnapshots(), [])
    await scene.nothingIsLeft()
  })

  /** Puts a backup into the bucket that another program made, and into the cluster. */
  async function publish(name: string, objects: Stored[], more: { timeout?: string; file?: object } = {}) {
    const backup: Backup = {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: {
        name,
        namespace,
        ...(more.timeout && { annotations: { 'velero.io/resource-timeout': more.timeout } }),
      },
      spec: { storageLocation: 'default' },
      status: {
        phase: 'Completed',
        startTimestamp: '2026-01-01T00:00:00Z',
        csiVolumeSnapshotsAttempted: objects.length,
      },
    }
    const at = (file: string) => `backups/${name}/${file}`
    const plural = (kind: string) => `${kind.toLowerCase()}s`
    const archive = archiveOf(...objects.map(object => ({ plural: plural(object.kind), object })))
    await scene.bucket.write(at(`${name}.tar.gz`), archive)
    if (more.file) {
      const file = gzipSync(JSON.stringify(more.file))
      await scene.bucket.write(at(`${name}-csi-volumesnapshotcontents.json.gz`), file)
    }
    await scene.bucket.write(at('velero-backup.json'), Buffer.from(JSON.stringify(backup)))
    await apply(backup)
  }

  function archivedContent(
    name: string,
    of: { backup: string; driver: string; handle: string; annotations?: Record<string, string> },
  ): Stored {
    const { backup, driver, handle, annotations = {} } = of
    return {
      apiVersion: snapshotApi,
      kind: 'VolumeSnapshotContent',
      metadata: { name, uid: `uid-${name}`, labels: { 'velero.io/backup-name': backup }, annotations },
      spec: {
        deletionPolicy: 'Retain',
        driver,
        source: { volumeHandle: 'some-volume' },
        volumeSnapshotRef: { namespace: data, name: 'gone' },
      },
      status: { snapshotHandle: handle, readyToUse: true },
    }
  }

  async function errorsOf(backup: string): Promise<string[]> {
    const { items } = await read<{ items: DeleteBackupRequest[] }>(
      'deletebackuprequests.velero.io',
      '-n',
      namespace,
    )
    const request = items.find(({ spec }) => spec.backupName === backup)
    return request?.status?.errors ?? []
  }

  it('keep the backup when a snapshot is not deleted in time, say why, and leave no content behind', async () => {
    const gone = { backup: 'stuck', driver: 'gone.lateen.dev', handle: 'stuck-1' }
    const secret = {
      'snapshot.storage.kubernetes.io/deletion-secret-name': 'driver-key',
      'snapshot.storage.kubernetes.io/deletion-secret-namespace': data,
    }
    const { driver } = given.cluster.csi
    const locked = { backup: 'stuck', driver, handle: 'stuck-2', annotations: secret }
    await publish('stuck', [archivedContent('one', gone), archivedContent('two', locked)], { timeout: '1s' })
    await scene.succeed('backup', 'delete', 'stuck', '--confirm')
    await untilSeen('the reasons', async () => (await errorsOf('stuck')).length === 2)
    const errors = (await errorsOf('stuck')).join('\n')
    assert.match(errors, /driver gone\.lateen\.dev did not look at the snapshot stuck-1, .* within 1s/)
    assert.match(
      errors,
      /the Secret csi-delete-data\/driver-key, which its driver needs for it, does not exist/,
    )
    const backup = await read<Backup>('backups.velero.io', 'stuck', '-n', namespace)
    assert.equal(backup.status?.phase, 'Deleting')
    const contents = () => read<{ items: VolumeSnapshotContent[] }>('volumesnapshotcontents')
    const ofStuck = async () =>
      (await contents()).items.filter(({ spec }) => spec.source.snapshotHandle?.startsWith('stuck-'))
    await untilSeen('no content', async () => (await ofStuck()).length === 0)

    await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'driver-key', namespace: data } })
    await untilSeen('one reason less', async () => (await errorsOf('stuck')).length === 1)
    // Whoever gives up takes the archive's word away.
    await scene.bucket.write('backups/stuck/stuck.tar.gz', archiveOf())
    await untilSeen('the end of the backup', async () => {
      const listed = await kubectl(['get', 'backups.velero.io', '-n', namespace, '-o', 'name'])
      return !listed.includes('/stuck')
    })
    assert.deepEqual(await ofStuck(), [])
  })

  it('have repositories forget what was moved there, also where only the archive knows of it', async t => {
    const flags = [`--include-namespaces=${data}`, '--snapshot-move-data']
    const backup = await scene.backUp('moved', ...flags)
    assert.equal(backup.status?.phase, 'Completed', JSON.stringify(backup.status))
    const moved = async () =>
      (await scene.kopia(t, data)).json<{ id: string }[]>(['snapshot', 'list', '--all'])
    assert.equal((await moved()).length, 2)
    const [one] = await scene.dataUploads('moved')
    await kubectl(['delete', 'datauploads.velero.io', one?.metadata.name ?? '', '-n', namespace])
    await scene.deleteBackups('moved')
    assert.deepEqual(await moved(), [])
    assert.deepEqual(await scene.dataUploads('moved'), [])
    await scene.nothingIsLeft()
  })

  it("delete what older versions of Velero kept in the cluster, and no snapshot of a user's own", async () => {
    const labels = { 'velero.io/backup-name': 'old' }
    const snapshot = (name: string, more: Record<string, string>) => ({
      apiVersion: snapshotApi,
      kind: 'VolumeSnapshot',
      metadata: { name, namespace: data, labels: { ...labels, ...more } },
      spec: {
        volumeSnapshotClassName: given.cluster.csi.snapshotClass,
        source: { persistentVolumeClaimName: 'files' },
      },
    })
    await apply(
      snapshot('velero-files', {}),
      snapshot('velero-lone', {}),
      snapshot('copied', { [ownLabel]: 'yes' }),
    )
    const ready = ['--for=jsonpath={.status.readyToUse}=true', '--timeout=120s']
    const all = ['velero-files', 'velero-lone', 'copied'].map(name => `volumesnapshot/${name}`)
    await kubectl(['wait', '-n', data, ...all, ...ready])
    const contentOf = async (name: string): Promise<Stored & VolumeSnapshotContent> => {
      const path = 'jsonpath={.status.boundVolumeSnapshotContentName}'
      return read(
        'volumesnapshotcontent',
        await kubectl(['get', '-n', data, `volumesnapshot/${name}`, '-o', path]),
      )
    }
    const kept = await Promise.all(['velero-files', 'velero-lone'].map(contentOf))
    for (const { metadata } of kept) {
      const patch = JSON.stringify({ metadata: { labels }, spec: { deletionPolicy: 'Retain' } })
      await kubectl(['patch', 'volumesnapshotcontent', metadata.name ?? '', '--type=merge', '-p', patch])
    }
    const [file, lone] = kept.map(each => ({ ...each, metadata: { ...each.metadata, labels } }))
    await publish('old', file ? [file] : [], { file: [lone] })
    await scene.deleteBackups('old')
    assert.deepEqual(await scene.driverSnapshots(), [(await contentOf('copied')).status?.snapshotHandle])
    await kubectl(['delete', '-n', data, 'volumesnapshot/copied'])
    await scene.nothingIsLeft()
  })
})
