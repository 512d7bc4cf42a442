import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { BackupKind, BackupStorageLocationKind, type Restore } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, silentLogger, systemClock } from '@lateen/kube'
import type { RestoreItemAction } from '@lateen/plugin'
import { createBackupStore } from '../../packages/server/src/backup-store/backup-store.ts'
import { openLocation } from '../../packages/server/src/backup-store/open-location.ts'
import {
  type StopOperationsScope,
  stopRestoreOperations,
} from '../../packages/server/src/controllers/stop-restore-operations.ts'
import { FilesystemStore } from '../../packages/server/src/object-store/filesystem.ts'
import { createSignedDownloads } from '../../packages/server/src/object-store/signed-downloads.ts'
import { readJournal } from '../../packages/server/src/operations/operation-journal.ts'
import {
  newRestoreOperation,
  type RestoreOperation,
} from '../../packages/server/src/operations/restore-operation.ts'
import { WaitingOperations } from '../../packages/server/src/operations/waiting-operations.ts'
import { createPluginRegistry } from '../../packages/server/src/plugin-host/plugin-registry.ts'
import { journalOwnerOf } from '../../packages/server/src/restore/settle-operations.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { installKinds } from './storage-location-harness.ts'

const given = await givenCluster({})
const namespace = `stopped-${process.pid}`
const clock = systemClock
const log = silentLogger
const { signal } = new AbortController()
const restore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'again', namespace, uid: 'u' },
  spec: { backupName: 'b' },
  status: { phase: 'InProgress' },
}
const file = { of: 'restore', name: 'again', file: 'itemOperations' } as const
const owner = journalOwnerOf(restore)

function operation(operationId: string): RestoreOperation {
  const item = { group: '', resource: 'configmaps', namespace: 'shop', name: operationId }
  return newRestoreOperation({ restore, action: 'x.io/slow', item, operationId, now: 0 })
}

/** A server that has just started, with a bucket that others have used. */
async function givenServer(t: TestContext, client: KubeClient) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-stop-operations-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'bucket'))
  const cancelled: string[] = []
  const action: RestoreItemAction = {
    appliesTo: async () => ({}),
    execute: async ({ item }) => ({ item }),
    cancel: async ({ operationId }) => void cancelled.push(operationId),
  }
  const plugins = createPluginRegistry({
    builtIns: () => ({
      restoreItemActions: [{ name: 'x.io/slow', action }],
      ...{ backupItemActions: [], itemBlockActions: [], deleteItemActions: [] },
      ...{ volumeSnapshotters: {}, objectStores: {} },
    }),
  })
  const publicUrl = () => 'http://unused.invalid'
  const downloads = createSignedDownloads({ signingKey: Buffer.alloc(32), clock, publicUrl })
  const create = () => new FilesystemStore({ clock, randomName: () => crypto.randomUUID(), downloads })
  const location = {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace },
    spec: { provider: 'filesystem', objectStorage: { bucket: 'bucket' }, config: { path: folder } },
  }
  const locations = client.resource(BackupStorageLocationKind, namespace)
  await locations.create(location)
  t.after(() => locations.delete('default'))
  const scope = {
    ...{ clock, log, plugins, signal, random: () => 0.5, waiting: new WaitingOperations<RestoreOperation>() },
    client,
    ports: { objectStores: { names: [], create } } as unknown as StopOperationsScope['ports'],
  }
  const opened = await openLocation(location, scope.ports, signal)
  t.after(() => opened[Symbol.asyncDispose]())
  const store = createBackupStore({ location: opened, clock, random: () => 0.5 })
  return { store, scope, cancelled }
}

describe('the operations of a restore that was interrupted', { skip: given.skip, concurrency: false }, () => {
  let client: KubeClient
  before(async () => {
    await installKinds(given.cluster)
    await given.cluster.kubectl(['create', 'namespace', namespace])
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    const metadata = { name: 'b', namespace }
    const spec = { storageLocation: 'default' }
    await client
      .resource(BackupKind, namespace)
      .create({ apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec })
  })
  after(async () => {
    await client[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('are stopped, counted and noted', async t => {
    const { store, scope, cancelled } = await givenServer(t, client)
    await store.putSegment({ owner, number: 1 }, [operation('one'), operation('two')], signal)
    const stopped = await stopRestoreOperations(restore, 'interrupted', scope)
    assert.deepEqual([stopped?.failed, stopped?.completed, stopped?.unfinished], [2, 0, 0])
    assert.deepEqual(new Set(cancelled), new Set(['one', 'two']))
    assert.deepEqual(await readJournal(store, owner, signal), [])
    const noted = (await store.getJson(file, signal)) as RestoreOperation[]
    assert.deepEqual(
      noted.map(({ status }) => [status.phase, status.error]),
      Array(2).fill(['Failed', 'interrupted']),
    )
  })

  it('are counted by the next server, too, when one has stopped them and died before it could say so', async t => {
    const { store, scope, cancelled } = await givenServer(t, client)
    const failed = operation('one')
    failed.status = { ...failed.status, phase: 'Failed', error: 'interrupted' }
    await store.putSegment({ owner, number: 1 }, [operation('one')], signal)
    await store.putJson(file, [failed], signal)
    const stopped = await stopRestoreOperations(restore, 'interrupted', scope)
    assert.deepEqual([stopped?.operations.length, stopped?.failed], [1, 1])
    assert.deepEqual(cancelled, [])
    assert.deepEqual(await readJournal(store, owner, signal), [], 'the file says it all')
  })

  it('are none when nothing was begun', async t => {
    const { scope } = await givenServer(t, client)
    assert.equal(await stopRestoreOperations(restore, 'interrupted', scope), undefined)
  })
})
