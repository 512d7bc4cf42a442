import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type Backup, type BackupStorageLocation, cancelAnnotation } from '@lateen/api'
import { type Informer, type KubeClient, KubeError, silentLogger, systemClock } from '@lateen/kube'
import { ObjectStoreError, PluginError, type VolumeSnapshotter } from '@lateen/plugin'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { FilesystemStore } from '../object-store/filesystem.ts'
import { createSignedDownloads } from '../object-store/signed-downloads.ts'
import { newOperation } from '../operations/backup-operation.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import { failInterrupted, removeDeleted, removeLeftovers } from './fail-interrupted.ts'
import { LatestObjects } from './latest-objects.ts'
import { Patience } from './patience.ts'

const { signal } = new AbortController()
const name = 'nightly'
const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name, namespace: 'velero', uid: 'u', resourceVersion: '1' },
  spec: { storageLocation: 'default' },
  status: { phase: 'InProgress' },
}

/** What the plugins do that are told to stop and to delete. */
interface Behaviour {
  cancel(): Promise<void>
  deleteSnapshot(): Promise<void>
}

/** A bucket with the journal of a backup that has begun one operation and one snapshot, and a clock that goes when a test says so. */
async function given(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-interrupted-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'bucket'))
  const seen = { now: systemClock.now(), patches: [] as Partial<Backup>[], isThere: true, present: backup }
  const clock = { ...systemClock, now: () => seen.now }
  const behaviour: Behaviour = { cancel: async () => {}, deleteSnapshot: async () => {} }
  const files = await filesIn(folder)
  const location = {
    store: files,
    bucket: 'bucket',
    layout: bucketLayout(''),
    accessMode: 'ReadWrite',
  } as const
  const disposable = { ...location, [Symbol.asyncDispose]: async () => undefined }
  const store = createBackupStore({ location: disposable, clock, random: () => 0.5 })
  const owner = { of: 'backup', name } as const
  await store.putSegment({ owner, number: 1 }, begun, signal)
  const informer = { get: () => backup } as unknown as Informer<Backup>
  const scope = {
    ...{ client: clientOf(folder, seen), backups: new LatestObjects(informer), clock, random: () => 0.5 },
    ...{ log: silentLogger, perform: pluginsOf(behaviour), signal },
    ports: { objectStores: { create: () => files } } as unknown as LocationPorts,
    patience: new Patience({ clock, patienceMs: 600_000 }),
  }
  return { scope, seen, behaviour, store, files, hasFiles: () => store.hasAny(name, signal) }
}

const item = { group: '', resource: 'configmaps', namespace: 'shop', name: 'web' }
const begun = [
  newOperation({ backup, action: 'x.io/slow', item, operationId: 'op-1', now: 0 }),
  newOperation({
    ...{ backup, action: 'x.io/disks', item, now: 0 },
    ...{ operationId: 'snap-1', volumeSnapshotLocation: 'ebs' },
  }),
]

async function filesIn(folder: string): Promise<FilesystemStore> {
  let names = 0
  const downloads = createSignedDownloads({
    ...{ signingKey: Buffer.alloc(32), clock: systemClock },
    publicUrl: () => 'http://unused.invalid',
  })
  const files = new FilesystemStore({
    clock: systemClock,
    randomName: () => `unfinished-${names++}`,
    downloads,
  })
  await files.init({ config: { path: folder, bucket: 'bucket', prefix: '' } })
  return files
}

/** What a test sees, and changes, of the cluster. */
interface Cluster {
  patches: Partial<Backup>[]
  /** The location. */
  isThere: boolean
  present: Backup
}

function clientOf(folder: string, seen: Cluster): KubeClient {
  const location: BackupStorageLocation = {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace: 'velero' },
    spec: { provider: 'filesystem', objectStorage: { bucket: 'bucket' }, config: { path: folder } },
  }
  const resource = {
    async get() {
      if (!seen.isThere) throw new KubeError('NotFound', { message: 'gone', status: 404 })
      return location
    },
    async *list() {},
    // Of backups.
    async patch(_name: string, { body }: { body: Partial<Backup> }) {
      seen.patches.push(body)
      return { ...backup, ...body }
    },
  }
  const backups = { ...resource, get: async () => seen.present }
  return {
    resource: ({ kind }: { kind: string }) => (kind === 'Backup' ? backups : resource),
    discovery: { all: async () => [] },
  } as unknown as KubeClient
}

function pluginsOf(behaviour: Behaviour) {
  return { plugins: sessionsOf(behaviour), openSnapshotters: () => snapshottersOf(behaviour) }
}

function sessionsOf(behaviour: Behaviour): PluginSessions {
  const action = { cancel: () => behaviour.cancel() }
  const session = { backupItemAction: () => action, [Symbol.asyncDispose]: async () => undefined }
  return { open: () => session } as unknown as PluginSessions
}

function snapshottersOf(behaviour: Behaviour) {
  const snapshotter = { deleteSnapshot: () => behaviour.deleteSnapshot() } as unknown as VolumeSnapshotter
  return { of: async () => snapshotter, named: async () => snapshotter }
}

const away = async () => {
  throw new PluginError('UNAVAILABLE', { reason: 'the program has ended' })
}
const refusing = async () => {
  throw new PluginError('FAILED', { reason: 'unknown operation' })
}

describe('a backup whose server died', () => {
  it('has the reason of those who had asked for its end, not that of the server', async t => {
    const { scope, seen } = await given(t)
    await failInterrupted(backup, scope)
    assert.match(seen.patches[0]?.status?.failureReason ?? '', /during the server starting/)
    const metadata = { ...backup.metadata, annotations: { [cancelAnnotation]: 'true' } }
    await failInterrupted({ ...backup, metadata }, scope)
    assert.equal(seen.patches[1]?.status?.failureReason, 'cancelled by request')
  })

  it('lost its files and operations when the answer to its last move was: it goes on', async t => {
    const { scope, seen, behaviour, hasFiles } = await given(t)
    behaviour.cancel = () => assert.fail('it is waited for')
    seen.present = { ...backup, status: { phase: 'WaitingForPluginOperations' } }
    await failInterrupted(backup, scope)
    assert.deepEqual([seen.patches, await hasFiles()], [[], true])
  })

  it('says that something is left of it when a plugin was away in the only attempt', async t => {
    const { scope, seen, behaviour, hasFiles } = await given(t)
    behaviour.cancel = away
    await failInterrupted(backup, scope)
    assert.equal(seen.patches[0]?.metadata?.annotations?.['lateen.dev/leftovers'], 'true')
    assert.equal(await hasFiles(), true)
    behaviour.cancel = async () => {}
    await removeLeftovers(backup, scope)
    assert.equal(await hasFiles(), false)
  })
})

describe('what a failed backup has left', () => {
  it('stays while its plugin may still hear of it or delete it, and not for ever', async t => {
    for (const part of ['cancel', 'deleteSnapshot'] as const) {
      const { scope, seen, behaviour, hasFiles } = await given(t)
      behaviour[part] = part === 'cancel' ? away : refusing
      for (const _attempt of [1, 2]) {
        await assert.rejects(removeLeftovers(backup, scope), { name: 'LeftBehindError' })
        assert.equal(await hasFiles(), true)
      }
      seen.now += 600_000
      await removeLeftovers(backup, scope)
      assert.equal(await hasFiles(), false)
    }
  })

  it('goes when a plugin has said that it does not stop it', async t => {
    const { scope, behaviour, hasFiles } = await given(t)
    behaviour.cancel = refusing
    await removeLeftovers(backup, scope)
    assert.equal(await hasFiles(), false)
  })

  it('is left alone where another backup has claimed the name since', async t => {
    const { scope, behaviour, store, hasFiles } = await given(t)
    await store.putClaim({ name, uid: 'another' }, signal)
    behaviour.deleteSnapshot = () => assert.fail('it is not its own')
    await removeLeftovers(backup, scope)
    assert.equal(await hasFiles(), true)
  })
})

describe('a failed backup with metadata in the bucket', () => {
  it('keeps its files, without the claim of its name', async t => {
    const { scope, store, hasFiles } = await given(t)
    const other = { name, uid: 'another' }
    await store.putMetadata(backup, signal)
    await store.putClaim({ name, uid: 'u' }, signal)
    assert.equal(await store.hasBeside(other, 'claims', signal), true)
    await removeLeftovers(backup, scope)
    assert.equal(await hasFiles(), true)
    assert.equal(await store.hasBeside(other, 'claims', signal), false)
  })
})

describe('what a deleted backup has left', () => {
  it('kept all others from beginning, without an end, where the bucket refuses to delete', async t => {
    for (const part of ['nothing', 'cancel'] as const) {
      const { scope, seen, behaviour, files } = await given(t)
      if (part === 'cancel') behaviour.cancel = away
      files.deleteObject = async () => {
        throw new ObjectStoreError('ACCESS_DENIED', {
          reason: 'access denied',
          hint: 'ask for it',
          retryable: false,
        })
      }
      for (const _attempt of [1, 2]) await assert.rejects(removeDeleted(backup, scope))
      seen.now += 600_000
      assert.equal(await removeDeleted(backup, scope), false)
    }
  })

  it('is looked after for as long as that of any other, and no longer when its location is gone', async t => {
    const { scope, seen, behaviour, hasFiles } = await given(t)
    behaviour.deleteSnapshot = away
    await assert.rejects(removeDeleted(backup, scope), { name: 'LeftBehindError' })
    seen.isThere = false
    assert.equal(await removeDeleted(backup, scope), false)
    seen.isThere = true
    assert.equal(await hasFiles(), true)
    behaviour.deleteSnapshot = async () => {}
    assert.equal(await removeDeleted(backup, scope), true)
    assert.equal(await hasFiles(), false)
  })
})
