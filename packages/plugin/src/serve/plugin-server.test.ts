import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import type { Backup, Restore } from '@lateen/api'
import { connectPlugin, type PluginConnection } from '../client/connect-plugin.ts'
import type { ActionItem, BackupItemAction, OperationProgress } from '../item-actions.ts'
import { parseItem, serializeItem } from '../item-json.ts'
import { isObjectStoreError, ObjectStoreError } from '../object-store-error.ts'
import { invalidOperationId, isPluginError } from '../plugin-error.ts'
import { kindsKnownToHost } from '../plugin-kinds.ts'
import type { RestoreItemAction } from '../restore-item-action.ts'
import type { VolumeSnapshotter } from '../volume-snapshotter.ts'
import { createPluginLog } from './plugin-log.ts'
import { type PluginServer, startPluginServer } from './plugin-server.ts'
import type { PluginFactories } from './registered-plugins.ts'
import { StoreInMemory } from './store-in-memory.ts'

const pod: ActionItem = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'n' } }
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const restore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'r' },
  spec: { backupName: 'b' },
}
const claim = { group: '', resource: 'persistentvolumeclaims', namespace: 'n', name: 'data' }
const progress: OperationProgress = {
  completed: false,
  error: '',
  nCompleted: 3,
  nTotal: 9_007_199_254_740_991,
  operationUnits: 'bytes',
  description: 'half ünd half',
  started: Date.UTC(2026, 1, 2, 3, 4, 5, 678),
  updated: undefined,
}

let calls: unknown[] = []

const backupAction: BackupItemAction = {
  appliesTo: async () => ({ includedResources: ['pods'], labelSelector: 'a=b' }),
  async execute({ item, backup }) {
    calls.push({ item, backup })
    const metadata = { ...item.metadata, labels: { seen: 'yes' } }
    const changed = { ...item, metadata }
    return { item: changed, additionalItems: [claim], operationId: 'op-1', postOperationItems: [claim] }
  },
  getAdditionalItems: async () => [claim],
  async progress({ operationId }) {
    if (operationId !== 'op-1') throw invalidOperationId(operationId)
    return progress
  },
  cancel: async ({ operationId }) => void calls.push(operationId),
}

const failing = (thrown: unknown): BackupItemAction => ({
  appliesTo: async () => ({}),
  execute: () => {
    throw thrown
  },
})

const restoreAction: RestoreItemAction = {
  appliesTo: async () => ({ excludedNamespaces: ['kube-system'] }),
  async execute({ item, itemFromBackup, restore }) {
    calls.push({ item, itemFromBackup, restore })
    if (item.metadata.name === 'skipped') return { item, skip: true }
    return {
      item,
      additionalItems: [claim],
      operationId: 'op-2',
      waitForAdditionalItems: true,
      additionalItemsReadyTimeout: 1500,
    }
  },
  areAdditionalItemsReady: async ({ additionalItems }) => additionalItems.length === 1,
  progress: async () => ({ ...progress, started: undefined, updated: 1, completed: true, error: 'broken' }),
}

const snapshotter: VolumeSnapshotter = {
  init: async ({ config }) => void calls.push(config),
  createVolumeFromSnapshot: async ({ snapshotId, volumeType, volumeZone, iops }) =>
    `${snapshotId} ${volumeType} ${volumeZone} ${iops}`,
  getVolumeInfo: async ({ volumeId }) => ({
    volumeType: volumeId,
    iops: volumeId === 'fast' ? 500 : undefined,
  }),
  createSnapshot: async ({ volumeId, volumeZone, tags }) =>
    `${volumeId} ${volumeZone} ${JSON.stringify(tags)}`,
  deleteSnapshot: async ({ snapshotId }) => void calls.push(snapshotId),
  getVolumeId: async ({ persistentVolume }) => persistentVolume.metadata.labels?.volume,
  setVolumeId: async ({ persistentVolume, volumeId }) => ({ ...persistentVolume, spec: { volumeId } }),
  progress: async ({ snapshotId }) => ({ ...progress, description: snapshotId }),
  cancel: async ({ snapshotId }) => void calls.push(`cancel ${snapshotId}`),
}

const { progress: _progress, cancel: _cancel, ...plainSnapshotter } = snapshotter

const plugins: PluginFactories = {
  BackupItemAction: {
    'example.com/unchanged': () => ({
      appliesTo: async () => ({}),
      execute: async ({ item }) => ({ item, unchanged: true }),
    }),
    'example.com/skipping': () => ({
      appliesTo: async () => ({}),
      execute: async () => ({ item: undefined }),
    }),
    'example.com/operating': () => backupAction,
    'example.com/echo': () => ({ appliesTo: async () => ({}), execute: async ({ item }) => ({ item }) }),
    'example.com/plain-error': () => failing(new Error('äh, no\nsecond line')),
    'example.com/long-error': () => failing(new Error('x'.repeat(1_000_000))),
    'example.com/bug': () => failing(new TypeError('x is not a function')),
    'example.com/odd': () => failing('just a text \ud800'),
    'example.com/no-kind': () => ({
      appliesTo: async () => ({}),
      execute: async () => ({ item: { metadata: {} } as never }),
    }),
    'example.com/silent': () => ({ ...failing(new Error('x')), appliesTo: () => new Promise(() => {}) }),
    'example.com/never-made': () => {
      throw new Error('no settings')
    },
  },
  BackupItemActionV2: {
    'example.com/v2': () => backupAction,
    'example.com/no-operations': () => failing(new Error('never')),
  },
  BackupItemActionV3: { 'example.com/v3': () => backupAction },
  RestoreItemAction: {
    'example.com/r1': () => ({ ...restoreAction, execute: async ({ item }) => ({ item }) }),
  },
  RestoreItemActionV2: { 'example.com/r2': () => restoreAction },
  DeleteItemAction: {
    'example.com/d': () => ({
      appliesTo: async () => ({ includedNamespaces: ['n'] }),
      execute: async ({ item, backup }) => void calls.push({ item, backup }),
    }),
  },
  ItemBlockAction: {
    'example.com/i': () => ({ appliesTo: async () => ({}), getRelatedItems: async () => [claim] }),
  },
  ObjectStore: { 'example.com/memory': () => new StoreInMemory() },
  VolumeSnapshotter: {
    'example.com/snapshots': () => snapshotter,
    'example.com/plain-snapshots': () => plainSnapshotter,
  },
}

describe('a plugin server and its client', () => {
  let folder: string
  let server: PluginServer
  let host: PluginConnection

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-plugin-'))
    server = await startPluginServer({
      plugins,
      socketPath: path.join(folder, 'socket'),
      command: '/plugins/example',
      knownKinds: kindsKnownToHost('BackupItemActionV3'),
      features: new Set(),
      log: createPluginLog({ level: 'error', write: () => {} }),
      onShutdown: () => {},
    })
    const handshake = { network: 'unix', address: server.socketPath } as const
    host = await connectPlugin({ handshake, program: 'example', shortCallMs: 20_000 })
  })
  after(async () => {
    host.close()
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const execute = (name: string, item = pod) =>
    host.plugin('BackupItemAction', name).execute({ item, backup })

  it('agree on what the program has', async () => {
    const listed = await host.listPlugins()
    assert.ok(listed.every(({ command }) => command === '/plugins/example'))
    const names = listed.map(({ kind, name }) => `${kind} ${name}`)
    assert.ok(names.includes('BackupItemActionV3 example.com/v3'))
    assert.equal(names.length, Object.values(plugins).flatMap(factories => Object.keys(factories)).length)
    await host.checkHealth()
  })

  it('pass a backup item action whole through versions 2 and 3', async () => {
    for (const [kind, name] of [
      ['BackupItemActionV2', 'example.com/v2'],
      ['BackupItemActionV3', 'example.com/v3'],
    ] as const) {
      calls = []
      const action = host.plugin(kind, name)
      assert.deepEqual(await action.appliesTo(), { includedResources: ['pods'], labelSelector: 'a=b' })
      assert.deepEqual(await action.execute({ item: pod, backup }), {
        item: { ...pod, metadata: { ...pod.metadata, labels: { seen: 'yes' } } },
        additionalItems: [claim],
        operationId: 'op-1',
        postOperationItems: [claim],
      })
      assert.deepEqual(await action.progress?.({ operationId: 'op-1', backup }), progress)
      await action.cancel?.({ operationId: 'op-1', backup })
      assert.deepEqual(calls, [{ item: pod, backup }, 'op-1'])
    }
    const { getAdditionalItems } = host.plugin('BackupItemActionV3', 'example.com/v3')
    assert.deepEqual(await getAdditionalItems?.({ item: pod, backup }), [claim])
    assert.equal(host.plugin('BackupItemActionV2', 'example.com/v2').getAdditionalItems, undefined)
  })

  it('keep what an action leaves unchanged, and integers beyond 2^53', async () => {
    const item = parseItem(
      Buffer.from('{"apiVersion":"v1","kind":"Odd","metadata":{"name":"a"},"n":9007199254740993}'),
    )
    assert.equal((await execute('example.com/unchanged', item)).unchanged, true)
    const echoed = await execute('example.com/echo', item)
    assert.deepEqual(serializeItem(echoed.item ?? {}), serializeItem(item))
  })

  it('carry the wish to leave an object out of the backup', async () => {
    assert.deepEqual(await execute('example.com/skipping'), { item: undefined })
  })

  it('pass a restore item action whole', async () => {
    calls = []
    const action = host.plugin('RestoreItemActionV2', 'example.com/r2')
    const itemFromBackup = { ...pod, status: { phase: 'Running' } }
    assert.deepEqual(await action.appliesTo(), { excludedNamespaces: ['kube-system'] })
    assert.deepEqual(await action.execute({ item: pod, itemFromBackup, restore }), {
      item: pod,
      additionalItems: [claim],
      operationId: 'op-2',
      waitForAdditionalItems: true,
      additionalItemsReadyTimeout: 1500,
    })
    assert.deepEqual(calls, [{ item: pod, itemFromBackup, restore }])
    const skipped = { ...pod, metadata: { name: 'skipped' } }
    const answer = await action.execute({ item: skipped, itemFromBackup, restore })
    assert.equal(answer.skip, true)
    assert.equal(await action.areAdditionalItemsReady?.({ additionalItems: [claim], restore }), true)
    assert.equal(await action.areAdditionalItemsReady?.({ additionalItems: [], restore }), false)
    const done = await action.progress?.({ operationId: 'op-2', restore })
    assert.deepEqual(
      [done?.completed, done?.error, done?.started, done?.updated],
      [true, 'broken', undefined, 1],
    )
    await action.cancel?.({ operationId: 'op-2', restore })
    const first = host.plugin('RestoreItemAction', 'example.com/r1')
    assert.deepEqual(await first.execute({ item: pod, itemFromBackup, restore }), {
      item: pod,
      additionalItems: [],
    })
    assert.equal(first.progress, undefined)
  })

  it('pass delete item actions and item block actions', async () => {
    calls = []
    const deletes = host.plugin('DeleteItemAction', 'example.com/d')
    assert.deepEqual(await deletes.appliesTo(), { includedNamespaces: ['n'] })
    await deletes.execute({ item: pod, backup })
    assert.deepEqual(calls, [{ item: pod, backup }])
    const blocks = host.plugin('ItemBlockAction', 'example.com/i')
    assert.deepEqual(await blocks.appliesTo(), {})
    assert.deepEqual(await blocks.getRelatedItems({ item: pod, backup }), [claim])
  })

  it('pass a volume snapshotter whole', async () => {
    calls = []
    const volumes = host.plugin('VolumeSnapshotter', 'example.com/snapshots')
    const location = { volumeId: 'v', volumeZone: 'z' }
    await assert.rejects(volumes.getVolumeInfo(location), /used before it was initialised/)
    await volumes.init({ config: { region: 'r', missing: undefined } })
    assert.deepEqual(calls, [{ region: 'r' }])
    assert.equal(await volumes.createSnapshot({ ...location, tags: { a: 'b' } }), 'v z {"a":"b"}')
    assert.deepEqual(await volumes.getVolumeInfo({ ...location, volumeId: 'fast' }), {
      volumeType: 'fast',
      iops: 500,
    })
    assert.deepEqual(await volumes.getVolumeInfo(location), { volumeType: 'v', iops: undefined })
    const wanted = { snapshotId: 's', volumeType: 't', volumeZone: 'z' }
    assert.equal(await volumes.createVolumeFromSnapshot(wanted), 's t z undefined')
    assert.equal(await volumes.createVolumeFromSnapshot({ ...wanted, iops: 7 }), 's t z 7')
    const volume: ActionItem = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { labels: { volume: 'v' } },
    }
    assert.equal(await volumes.getVolumeId({ persistentVolume: volume }), 'v')
    assert.equal(await volumes.getVolumeId({ persistentVolume: { ...volume, metadata: {} } }), undefined)
    const set = await volumes.setVolumeId({ persistentVolume: volume, volumeId: 'w' })
    assert.deepEqual(set, { ...volume, spec: { volumeId: 'w' } })
    assert.deepEqual(await volumes.progress?.({ snapshotId: 's' }), { ...progress, description: 's' })
    await volumes.cancel?.({ snapshotId: 's' })
    await volumes.deleteSnapshot({ snapshotId: 's' })
    assert.deepEqual(calls.slice(1), ['cancel s', 's'])
  })

  it('say UNIMPLEMENTED for the progress of snapshots that are complete at once', async () => {
    const volumes = host.plugin('VolumeSnapshotter', 'example.com/plain-snapshots')
    await volumes.init({ config: {} })
    await assert.rejects(async () => volumes.progress?.({ snapshotId: 's' }), pluginError('UNIMPLEMENTED'))
  })

  it('keep the codes of operations that are not known or not supported', async () => {
    const action = host.plugin('BackupItemActionV2', 'example.com/v2')
    await assert.rejects(
      async () => action.progress?.({ operationId: 'other', backup }),
      pluginError('INVALID_OPERATION_ID', 'operation ID other is invalid'),
    )
    const none = host.plugin('BackupItemActionV2', 'example.com/no-operations')
    await assert.rejects(
      async () => none.progress?.({ operationId: 'x', backup }),
      pluginError('ASYNC_OPERATIONS_NOT_SUPPORTED'),
    )
    await none.cancel?.({ operationId: 'x', backup })
  })

  it('turn whatever an action throws into an error of that call, with the place it comes from', async () => {
    await assert.rejects(execute('example.com/plain-error'), (error: unknown) => {
      assert.ok(isPluginError(error, 'FAILED'))
      assert.match(error.message, /example\.com\/plain-error, executing on Pod n\/a: äh, no\nsecond line/)
      assert.match(error.frames[0]?.file ?? '', /plugin-server\.test\.ts$/)
      return true
    })
    await assert.rejects(execute('example.com/bug'), pluginError('PANICKED', 'x is not a function'))
    await assert.rejects(execute('example.com/odd'), pluginError('FAILED', 'just a text'))
    await assert.rejects(execute('example.com/no-kind'), pluginError('BAD_ANSWER', 'has no kind'))
    await assert.rejects(execute('example.com/operating'), pluginError('BAD_ANSWER', 'version 1 cannot'))
    await assert.rejects(execute('example.com/never-made'), pluginError('FAILED', 'no settings'))
    await assert.rejects(execute('example.com/unknown'), pluginError('NO_SUCH_PLUGIN', 'was not found'))
    assert.equal((await execute('example.com/unchanged')).unchanged, true)
  })

  it('let a short call fail that gets no answer in time, and a long one go on', async () => {
    const handshake = { network: 'unix', address: server.socketPath } as const
    using hasty = await connectPlugin({ handshake, program: 'example', shortCallMs: 50 })
    const action = hasty.plugin('BackupItemAction', 'example.com/silent')
    await assert.rejects(
      action.appliesTo(),
      pluginError('TIMEOUT', 'asking what it applies to: no answer within'),
    )
    const controller = new AbortController()
    const slow = { ...pod, data: 'x'.repeat(1_000_000) }
    const echo = hasty.plugin('BackupItemAction', 'example.com/echo')
    const answers = Array.from({ length: 10 }, () =>
      echo.execute({ item: slow, backup, signal: controller.signal }),
    )
    assert.equal((await Promise.all(answers)).length, 10)
  })

  it('say that nobody listens', async () => {
    const handshake = { network: 'unix', address: path.join(folder, 'nobody') } as const
    const connecting = connectPlugin({ handshake, program: 'example', connectMs: 200 })
    await assert.rejects(connecting, pluginError('UNAVAILABLE', 'example does not speak to its host'))
    const signal = AbortSignal.abort(new Error('enough'))
    await assert.rejects(connectPlugin({ handshake, program: 'example', signal }), /enough/)
  })

  it('cut an error text that is too long for a trailer, and lose no other call', async () => {
    await assert.rejects(execute('example.com/long-error'), (error: unknown) => {
      assert.ok(isPluginError(error, 'FAILED'))
      assert.ok(error.message.length < 4000)
      return true
    })
    assert.equal((await execute('example.com/unchanged')).unchanged, true)
  })

  it('carry objects of 6 MiB', async () => {
    const item = { ...pod, data: 'x'.repeat(6 * 1024 * 1024) }
    assert.deepEqual((await execute('example.com/echo', item)).item, item)
  })

  describe('for an object store', () => {
    const bucket = 'things'
    const store = () => host.plugin('ObjectStore', 'example.com/memory')

    before(() => store().init({ config: { bucket } }))

    it('carry objects of all sizes', async () => {
      for (const size of [0, 1, 16_383, 16_384, 16_385, 3_000_000]) {
        const body = Buffer.alloc(size, 'abcdefghijk')
        await store().putObject({ bucket, key: `sizes/${size}`, body })
        assert.deepEqual(await buffer(await store().getObject({ bucket, key: `sizes/${size}` })), body)
      }
      const keys = await Array.fromAsync(store().listObjects({ bucket, prefix: 'sizes/' }))
      assert.equal(keys.length, 6)
      const prefixes = store().listCommonPrefixes({ bucket, prefix: '', delimiter: '/' })
      assert.deepEqual(await Array.fromAsync(prefixes), ['sizes/'])
      assert.equal(await store().objectExists({ bucket, key: 'sizes/1' }), true)
      await store().deleteObject({ bucket, key: 'sizes/1' })
      assert.equal(await store().objectExists({ bucket, key: 'sizes/1' }), false)
      const url = await store().createSignedUrl({ bucket, key: 'sizes/0', ttlSeconds: 600 })
      assert.equal(url, 'memory:things/sizes/0?600')
    })

    it('keep the codes, hints and retryability of its errors', async () => {
      await assert.rejects(store().getObject({ bucket, key: 'none' }), (error: unknown) => {
        assert.ok(isObjectStoreError(error, 'NOT_FOUND'))
        assert.deepEqual(
          [error.message, error.hint],
          ['not found: none is away. Look elsewhere', 'Look elsewhere'],
        )
        return true
      })
    })

    it('never store a part: not when the body fails, not when the signal aborts', async () => {
      for (let round = 0; round < 40; round += 1) {
        const key = `parts/${round}`
        const controller = new AbortController()
        async function* body() {
          for (let chunk = 0; chunk <= round; chunk += 1) yield Buffer.alloc(10_000)
          if (round % 2 === 0) throw new Error('the source is broken')
          controller.abort(new Error('enough'))
          yield Buffer.alloc(10_000)
        }
        const put = store().putObject({ bucket, key, body: body(), signal: controller.signal })
        await assert.rejects(put, /the source is broken|enough/)
      }
      await new Promise(resolve => setTimeout(resolve, 100))
      assert.deepEqual(await Array.fromAsync(store().listObjects({ bucket, prefix: 'parts/' })), [])
    })

    it('tell the real error of a store that fails while a large body is sent', async () => {
      const body = Buffer.alloc(5_000_000)
      await assert.rejects(store().putObject({ bucket, key: 'full', body }), (error: unknown) =>
        isObjectStoreError(error, 'FULL'),
      )
    })

    it('stop a read that nobody finishes, and go on', async () => {
      await store().putObject({ bucket, key: 'long', body: Buffer.alloc(4_000_000) })
      const stream = await store().getObject({ bucket, key: 'long' })
      stream.destroy()
      assert.equal(await store().objectExists({ bucket, key: 'long' }), true)
    })

    it('take new settings while it is used', async () => {
      await store().init({ config: { bucket, again: 'yes' } })
      assert.equal(await store().objectExists({ bucket, key: 'long' }), true)
      await assert.rejects(
        store().init({ config: { fail: 'yes' } }),
        (error: unknown) => error instanceof ObjectStoreError && error.code === 'INVALID_CONFIG',
      )
      assert.equal(await store().objectExists({ bucket, key: 'long' }), true)
    })
  })
})

function pluginError(code: string, text = ''): (error: unknown) => boolean {
  return error => {
    assert.ok(isPluginError(error))
    assert.equal(error.code, code)
    assert.ok(error.message.includes(text), error.message)
    return true
  }
}
