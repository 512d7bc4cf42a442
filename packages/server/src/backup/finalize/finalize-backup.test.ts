import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Backup } from '@lateen/api'
import { type KubeObject, silentLogger, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../../tools/test/object-server.ts'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import type { BackupFile } from '../../backup-store/bucket-layout.ts'
import { folderBucket } from '../../backup-store/testing/folder-bucket.ts'
import { claimSnapshotName } from '../../csi/claim-snapshot-name.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { newOperation } from '../../operations/backup-operation.ts'
import type { PluginSession, PluginSessions } from '../../plugin-host/plugin-session.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import { archiveEntries } from '../../restore/archive/archive-entries.ts'
import { csiClaimAction } from '../../volumes/csi-operations.ts'
import { createBlockWorkers } from '../../workers/block-workers.ts'
import { createArchive } from '../archive/create-archive.ts'
import { finalizeBackup } from './finalize-backup.ts'

const { signal } = new AbortController()
const backup: Backup = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup', spec: {}, status: { phase: 'Finalizing' } },
  metadata: { namespace: 'velero', name: 'nightly', uid: 'b' },
}
const name = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'data' })
const apiVersion = 'snapshot.storage.k8s.io/v1'
const snapshot: KubeObject & { spec: object } = {
  ...{ apiVersion, kind: 'VolumeSnapshot' },
  metadata: { namespace: 'shop', name, uid: 'u', labels: { 'velero.io/backup-uid': 'b' } },
  spec: { source: { persistentVolumeClaimName: 'data' } },
}
const content: KubeObject & { spec: object } = {
  ...{ apiVersion, kind: 'VolumeSnapshotContent' },
  metadata: { name: 'snapcontent-u', uid: 'c' },
  spec: {
    ...{ deletionPolicy: 'Delete', driver: 'disk.example', source: { volumeHandle: 'v' } },
    volumeSnapshotRef: { namespace: 'shop', name, uid: 'u' },
  },
}
const taken = newOperation({
  ...{ backup, action: csiClaimAction, operationId: 'o', now: 0 },
  item: { group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'data' },
  postOperationItems: [
    { group: 'snapshot.storage.k8s.io', resource: 'volumesnapshots', namespace: 'shop', name },
  ],
})
const operations = [{ ...taken, status: { ...taken.status, phase: 'Completed' as const } }]
const at = (file: BackupFile) => ({ of: 'backup', name: 'nightly', file }) as const

/** Calls back at each step that is seen from outside: `PUT <file>` and `STORED <file>` of the bucket, and requests to the cluster. */
type OnStep = (step: string) => void

/** A bucket with the files of a backup that has been in progress. */
async function bucketWithBackup(t: TestContext, onStep: OnStep): Promise<BackupStore> {
  const { folder, store } = await folderBucket(t)
  await using archive = await createArchive({ scratch: folder, modified: 0, signal })
  await archive.add('resources/configmaps/namespaces/shop/web.json', Buffer.from('{}'))
  const finished = await archive.finish()
  await store.put(at('contents'), () => finished.open())
  await store.putJson(at('resourceList'), { 'v1/ConfigMap': ['shop/web'] })
  return {
    ...store,
    async put(file, body, abort) {
      onStep(`PUT ${file.file}`)
      await store.put(file, body, abort)
      onStep(`STORED ${file.file}`)
    },
  }
}

/** What a backup is when it was cancelled at a step: what is in its bucket, and what is new for its status. */
async function cancelledAt(t: TestContext, wanted: string) {
  const cancel = new AbortController()
  const steps: string[] = []
  const onStep: OnStep = step => {
    steps.push(step)
    if (step === wanted) cancel.abort()
  }
  await using server = await startObjectServer({
    kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind],
    before: onStep,
  })
  server.objects.set(`volumesnapshots/shop/${name}`, snapshot)
  server.objects.set('volumesnapshotcontents//snapcontent-u', content)
  const store = await bucketWithBackup(t, onStep)
  const { folder: scratch } = await folderBucket(t)
  await using workers = createBlockWorkers({ count: 1 })
  const session = { backupItemActions: () => [], [Symbol.asyncDispose]: async () => undefined }
  const ports = {
    ...{ client: server.client, clock: systemClock, log: silentLogger, scratch, workers },
    ...({ features: new Set<string>(), logLevel: 'info', logFormat: 'text', archiveEntries } as const),
    plugins: { open: () => session as unknown as PluginSession } as PluginSessions,
    isDamage: () => false,
  }
  const status = await finalizeBackup(
    { backup, operations, store, cancel: cancel.signal },
    ports,
    new AbortController().signal,
  )
  assert.ok(wanted === '' || steps.includes(wanted), `${wanted} is no step: ${steps.join(', ')}`)
  const stored = await store.get(at('contents'))
  assert.ok(stored)
  const paths = (await Array.fromAsync(archiveEntries(stored, signal))).map(entry => entry.path)
  const list = (await store.getJson(at('resourceList'))) as Partial<ResourceList>
  return {
    inArchive: paths.includes(
      `resources/volumesnapshots.snapshot.storage.k8s.io/namespaces/shop/${name}.json`,
    ),
    inList: list['snapshot.storage.k8s.io/v1/VolumeSnapshot']?.includes(`shop/${name}`) ?? false,
    keepsOthers: paths.length > 1 && list['v1/ConfigMap']?.[0] === 'shop/web',
    completed: status.csiVolumeSnapshotsCompleted ?? 0,
    errors: status.errors,
  }
}

describe('a snapshot of a backup that is finalized', () => {
  const whole = { inArchive: true, inList: true, keepsOthers: true, completed: 1, errors: 0 }

  it('is in the archive and in the list of its contents', async t => {
    assert.deepEqual(await cancelledAt(t, ''), whole)
  })

  it('is in both, too, when somebody cancels the backup while the archive is stored, or when it just has been', async t => {
    for (const step of ['PUT contents', 'STORED contents'])
      assert.deepEqual(await cancelledAt(t, step), whole, step)
  })

  it('is in neither when somebody cancels the backup before', async t => {
    const neither = { inArchive: false, inList: false, completed: 0, errors: 1 }
    for (const step of [`PATCH volumesnapshotcontents//snapcontent-u`, `GET volumesnapshots/shop/${name}`]) {
      const { keepsOthers: _, ...found } = await cancelledAt(t, step)
      assert.deepEqual(found, neither, step)
    }
  })
})
