import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import { silentLogger, systemClock } from '@lateen/kube'
import {
  type BackupItemAction,
  type OperationProgress,
  PluginError,
  type VolumeSnapshotter,
} from '@lateen/plugin'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import { FilesystemStore } from '../object-store/filesystem.ts'
import { createSignedDownloads } from '../object-store/signed-downloads.ts'
import { newOperation } from '../operations/backup-operation.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { pollOperations } from '../operations/poll-operations.ts'
import { WaitingOperations } from '../operations/waiting-operations.ts'
import { createPluginRegistry } from '../plugin-host/plugin-registry.ts'
import { askedAtOnce, operationPortsOf, RunOperations } from './run-operations.ts'

const clock = systemClock
const log = silentLogger
const { signal } = new AbortController()
const owner = { of: 'backup', name: 'many' } as const
const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'many', namespace: 'velero', uid: 'u' },
  spec: { itemOperationTimeout: '1h' },
}

async function givenStore(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-run-operations-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'bucket'))
  let names = 0
  const downloads = createSignedDownloads({
    signingKey: Buffer.alloc(32),
    clock,
    publicUrl: () => 'http://unused.invalid',
  })
  const files = new FilesystemStore({ clock, randomName: () => `unfinished-${names++}`, downloads })
  await files.init({ config: { path: folder, bucket: 'bucket', prefix: '' } })
  const location = {
    store: files,
    bucket: 'bucket',
    layout: bucketLayout(''),
    accessMode: 'ReadWrite' as const,
    [Symbol.asyncDispose]: async () => undefined,
  }
  const store = createBackupStore({ location, clock, random: () => 0.5 })
  return { store, journal: path.join(folder, 'bucket', 'backups', 'many', 'lateen-operations', 'backup') }
}

/** An action whose operations complete when they are told to, and its session. */
function givenAction() {
  const seen: { completed: boolean; isAway: boolean; cancelled: string[] } = {
    completed: false,
    isAway: false,
    cancelled: [],
  }
  const progress = async (): Promise<OperationProgress> => {
    await setImmediate()
    const nothing = { error: '', operationUnits: 'bytes', description: '' }
    return { ...nothing, completed: seen.completed, nCompleted: seen.completed ? 9 : 1, nTotal: 9 }
  }
  const action: BackupItemAction = {
    appliesTo: async () => ({}),
    execute: async ({ item }) => ({ item }),
    progress,
    async cancel({ operationId }) {
      if (seen.isAway) throw new PluginError('UNAVAILABLE', { reason: 'the program has ended' })
      seen.cancelled.push(operationId)
    },
  }
  const registry = createPluginRegistry({
    builtIns: () => ({
      backupItemActions: [{ name: 'x.io/slow', action }],
      itemBlockActions: [],
      restoreItemActions: [],
      deleteItemActions: [],
      volumeSnapshotters: {},
      objectStores: {},
    }),
  })
  const plugins = registry.open({ log })
  const scope = { clock, log, plugins, snapshotters: undefined, asking: { plugins: registry, log }, signal }
  return { seen, plugins, scope }
}

function operation(number: number) {
  const item = { group: '', resource: 'configmaps', namespace: 'shop', name: `item-${number}` }
  return newOperation({ backup, action: 'x.io/slow', item, operationId: `op-${number}`, now: clock.now() })
}

/** Begins operations as the workers of a backup do. */
async function begin(operations: RunOperations, count: number, workers: number): Promise<void> {
  let next = 0
  const work = async () => {
    for (let number = next++; number < count; number = next++) await operations.begun.add(operation(number))
  }
  await Promise.all(Array.from({ length: workers }, work))
}

describe('the operations of a running backup', () => {
  it('may be ten thousand: few puts, and no more memory than their records need', async t => {
    const count = 10_000
    const workers = 32
    const { store, journal } = await givenStore(t)
    const { seen, plugins, scope } = givenAction()
    const before = process.memoryUsage().heapUsed
    const operations = new RunOperations({ backup, store }, scope)
    await begin(operations, count, workers)
    const segments = (await readdir(journal)).length
    assert.ok(segments <= count / 8, `${segments} parts of the journal`)
    assert.equal((await readJournal(store, owner, signal)).length, count)

    const settled = await operations.settle(undefined)
    assert.deepEqual([settled.operations.length, settled.unfinished, settled.failed], [count, count, 0])
    await store.putJson({ ...owner, file: 'itemOperations' }, settled.operations, signal)
    await operations.deleteJournal()
    assert.deepEqual(await readJournal(store, owner, signal), [])

    const waiting = new WaitingOperations<(typeof settled.operations)[number]>()
    const ports = operationPortsOf(backup, { clock, log, plugins, snapshotters: undefined })
    const round = async () => {
      const known = await waiting.load({ ...owner, uid: 'u' }, store, signal)
      const polled = await pollOperations(known, ports, { timeoutMs: 3_600_000, atOnce: askedAtOnce, signal })
      await waiting.save({ ...owner, uid: 'u', operations: polled.operations }, store, signal)
      return polled
    }
    assert.equal((await round()).changed, false)
    seen.completed = true
    const last = await round()
    assert.deepEqual([last.completed, last.unfinished], [count, 0])
    const stored = (await store.getJson({ ...owner, file: 'itemOperations' }, signal)) as unknown[]
    assert.equal(stored.length, count)
    const grown = process.memoryUsage().heapUsed - before
    assert.ok(grown < 300 << 20, `${grown} bytes more than before`)
  })

  it('are stopped when the backup breaks off, and say so', async t => {
    const { store } = await givenStore(t)
    const { seen, scope } = givenAction()
    const operations = new RunOperations({ backup, store }, scope)
    await begin(operations, 3, 1)
    const settled = await operations.settle('the scratch space is full')
    assert.deepEqual(seen.cancelled, ['op-0', 'op-1', 'op-2'])
    assert.deepEqual([settled.failed, settled.unfinished], [3, 0])
    assert.match(settled.operations[0]?.status.error ?? '', /scratch space is full/)
  })

  it('are told again by whoever gives the backup up when they did not hear that it broke off', async t => {
    const { store } = await givenStore(t)
    const { seen, scope } = givenAction()
    const operations = new RunOperations({ backup, store }, scope)
    await begin(operations, 2, 1)
    seen.isAway = true
    const settled = await operations.settle('the scratch space is full')
    // So that whoever deletes the backup tells them.
    assert.deepEqual([settled.failed, settled.unfinished], [0, 2])
    assert.equal(await operations.abandon('it could not be stored'), false)
    seen.isAway = false
    assert.equal(await operations.abandon('it could not be stored'), true)
    assert.deepEqual(seen.cancelled, ['op-0', 'op-1'])
  })

  it('are stopped when the backup is given up, but not those that have ended', async t => {
    const { store } = await givenStore(t)
    const { seen, scope } = givenAction()
    const operations = new RunOperations({ backup, store }, scope)
    await begin(operations, 2, 1)
    seen.completed = true
    await operations.settle(undefined)
    assert.equal(await operations.abandon('it could not be stored'), true)
    assert.deepEqual(seen.cancelled, [])
  })

  it('are left in the bucket when one that hangs cannot be stopped, which takes no time from their snapshots', async t => {
    const { store } = await givenStore(t)
    const { seen, scope } = givenAction()
    const deleted: string[] = []
    const snapshotter = {
      deleteSnapshot: async ({ snapshotId }: { snapshotId: string }) => void deleted.push(snapshotId),
      cancel: () => new Promise(() => {}),
    } as unknown as VolumeSnapshotter
    const snapshotters = { of: async () => snapshotter, named: async () => snapshotter }
    const stopping = AbortSignal.abort()
    const operations = new RunOperations({ backup, store, stopping }, { ...scope, snapshotters })
    await begin(operations, 1, 1)
    const { spec, status } = operation(1)
    await operations.begun.add({ spec: { ...spec, volumeSnapshotLocation: 'ebs' }, status })
    assert.equal(await operations.abandon('the server was stopped'), false)
    assert.deepEqual([seen.cancelled, deleted], [['op-0'], ['op-1']])
    assert.equal((await readJournal(store, owner, signal)).length, 2)
    const noted = (await store.getJson({ ...owner, file: 'itemOperations' }, signal)) as unknown[]
    assert.equal(noted.length, 2)
  })
})
