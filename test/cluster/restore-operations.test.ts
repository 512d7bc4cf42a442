import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Restore, RestorePhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { archiveOf, stored } from './restore-harness.ts'
import { type OperationsScene, openOperationsScene } from './restore-operations-scene.ts'
import { publishBackup } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('operations of restores', { skip: given.skip, concurrency: false }, () => {
  let all: OperationsScene
  let server: RunningServer

  before(async () => {
    all = await openOperationsScene(given.cluster, 'restore-ops')
    server = await all.start()
  })
  after(() => all?.[Symbol.asyncDispose]())

  const inPhase = (name: string, phase: RestorePhase) =>
    all.scene.restores.until(name, ({ status }) => status?.phase === phase)
  const ended = (name: string) => all.scene.restores.ended(name)

  function countsOf({ status = {} }: Restore) {
    return [
      status.phase,
      status.restoreItemOperationsAttempted,
      status.restoreItemOperationsCompleted ?? 0,
      status.restoreItemOperationsFailed ?? 0,
    ]
  }

  async function names(namespace: string): Promise<string[]> {
    const text = await given.cluster.kubectl(['get', 'configmaps', '-n', namespace, '-o', 'name'])
    return text.split('\n').filter(name => /\/(one|two|plain)$/.test(name))
  }

  /** Waits until an object of a restore is in the cluster, and what its action began is therefore noted. */
  function restored(name: string, item: string): Promise<unknown> {
    const find = async () =>
      (await names(all.target(name)).catch((): string[] => [])).includes(`configmap/${item}`)
    return waitUntil(async () => ((await find()) ? true : undefined), {
      timeoutMs: 60_000,
      failure: () => new Error(`${name} did not restore ${item}`),
      everyMs: 50,
    })
  }

  it('are waited for while another restore is made, are found again by a server that was killed, and end', async () => {
    await all.create('slow', { begin: true })
    const waits = await inPhase('slow', 'WaitingForPluginOperations')
    assert.deepEqual(countsOf(waits), ['WaitingForPluginOperations', 2, 0, 0])
    assert.equal(waits.status?.completionTimestamp, undefined)
    assert.equal((await names(all.target('slow'))).length, 3, 'everything is restored meanwhile')
    const files = await all.operations('slow')
    assert.deepEqual(
      files.map(({ spec }) => spec.operationID),
      ['slow.one', 'slow.two'],
    )
    assert.deepEqual(files[0]?.spec.resourceIdentifier, {
      Group: '',
      Resource: 'configmaps',
      Namespace: all.target('slow'),
      Name: 'one',
    })
    assert.deepEqual(await all.journal(), [], 'the file says it all')
    await all.create('meanwhile', {})
    assert.equal((await ended('meanwhile')).status?.phase, 'Completed')
    await all.tell('slow.one', { nCompleted: 3, nTotal: 10, operationUnits: 'pages', started: Date.now() })
    await server.kill()
    await all.tell('slow.two', { completed: true })
    server = await all.start()
    const half = await all.scene.restores.until(
      'slow',
      ({ status }) => status?.restoreItemOperationsCompleted === 1,
    )
    assert.equal(half.status?.phase, 'WaitingForPluginOperations')
    const [one, two] = await all.operations('slow')
    assert.deepEqual([one?.status.phase, one?.status.nCompleted], ['InProgress', 3])
    assert.equal(two?.status.phase, 'Completed')
    await all.tell('slow.one', { completed: true, nCompleted: 10, nTotal: 10 })
    assert.deepEqual(countsOf(await ended('slow')), ['Completed', 2, 2, 0])
    assert.equal(await all.isCancelled('slow.one'), false)
  })

  it('that fail are errors at once, and the others go on', async () => {
    await all.create('fails', { begin: true })
    await inPhase('fails', 'WaitingForPluginOperations')
    await all.tell('fails.one', { completed: true, error: 'the disk is full' })
    const partly = await inPhase('fails', 'WaitingForPluginOperationsPartiallyFailed')
    assert.deepEqual(countsOf(partly).slice(1), [2, 0, 1])
    assert.equal(partly.status?.errors, 1)
    await all.tell('fails.two', { completed: true })
    const { status, ...rest } = await ended('fails')
    assert.deepEqual(countsOf({ ...rest, ...(status && { status }) }), ['PartiallyFailed', 2, 1, 1])
    assert.equal(status?.errors, 1)
    const { errors } = await all.scene.bucket.restoreResults('fails')
    assert.deepEqual(errors.velero, [
      `error from restore item operation: the disk is full (operation fails.one of test.lateen.dev/operations for configmaps ${all.target('fails')}/one)`,
    ])
  })

  it('that have ended before everything is restored are not waited for', async () => {
    await all.create('quick', { begin: true, hold: 'two' })
    await all.held('quick', 'two')
    await restored('quick', 'one')
    await all.tell('quick.one', { completed: true, error: 'too quick' })
    await all.release('quick', 'two')
    await inPhase('quick', 'WaitingForPluginOperationsPartiallyFailed')
    await all.tell('quick.two', { completed: true })
    const quick = await ended('quick')
    assert.deepEqual(countsOf(quick), ['PartiallyFailed', 2, 1, 1])
    assert.equal(quick.status?.errors, 1)
  })

  it('that take too long are stopped', async () => {
    await all.create('long', { begin: true }, { itemOperationTimeout: '2s' })
    const long = await ended('long')
    assert.deepEqual(countsOf(long), ['PartiallyFailed', 2, 0, 2])
    for (const { spec, status } of await all.operations('long')) {
      assert.deepEqual([status.phase, status.error], ['Failed', 'Asynchronous action timed out'])
      assert.equal(await all.isCancelled(spec.operationID), true)
    }
  })

  it('of a plugin that crashes when it is asked are asked about again', async () => {
    await all.create('crash', { begin: true })
    await inPhase('crash', 'WaitingForPluginOperations')
    await all.crash('crash.one')
    await all.crashed('crash.one')
    for (const name of ['one', 'two']) await all.tell(`crash.${name}`, { completed: true })
    assert.deepEqual(countsOf(await ended('crash')), ['Completed', 2, 2, 0])
  })

  it('that nobody knows any more have failed', async () => {
    await all.create('lost', { begin: true })
    await inPhase('lost', 'WaitingForPluginOperations')
    await all.lose('lost.one')
    await all.tell('lost.two', { completed: true })
    assert.deepEqual(countsOf(await ended('lost')), ['PartiallyFailed', 2, 1, 1])
    const [one] = await all.operations('lost')
    assert.match(one?.status.error ?? '', /lost\.one is invalid/)
  })

  it('are stopped when the restore that waits for them is deleted', async () => {
    await all.create('deleted', { begin: true })
    await inPhase('deleted', 'WaitingForPluginOperations')
    await all.tell('deleted.one', { completed: true })
    await all.scene.restores.until('deleted', ({ status }) => status?.restoreItemOperationsCompleted === 1)
    await all.scene.restores.delete('deleted')
    await all.scene.restores.gone('deleted')
    assert.deepEqual(
      [await all.isCancelled('deleted.one'), await all.isCancelled('deleted.two')],
      [false, true],
    )
    const keys = await all.scene.bucket.keys()
    assert.deepEqual(
      keys.filter(key => key.includes('/deleted/')),
      [],
    )
  })

  it('of a restore that was in progress when its server was killed are stopped by the next', async () => {
    await all.create('broken', { begin: true, hold: 'two' })
    await all.held('broken', 'two')
    await restored('broken', 'one')
    assert.equal((await all.journal()).length, 1, 'noted before the result is used')
    await server.kill()
    server = await all.start()
    const broken = await ended('broken')
    assert.deepEqual(countsOf(broken), ['Failed', 1, 0, 1])
    assert.equal(await all.isCancelled('broken.one'), true)
    assert.deepEqual(await all.journal(), [])
    await all.release('broken', 'two')
  })

  it('of a restore that was in progress when its server was stopped are stopped by it', async () => {
    await all.create('stopped', { begin: true, hold: 'two' })
    await all.held('stopped', 'two')
    await restored('stopped', 'one')
    await server.stop()
    assert.equal(await all.isCancelled('stopped.one'), true)
    assert.match(
      (await all.scene.restores.get('stopped')).status?.failureReason ?? '',
      /the server was stopped/,
    )
    server = await all.start()
  })

  it('fail with the name of their plugin when it has gone', async () => {
    await all.create('without', { begin: true })
    await inPhase('without', 'WaitingForPluginOperations')
    await server.stop()
    server = await all.start({ pluginFolder: '/nowhere' })
    assert.deepEqual(countsOf(await ended('without')), ['PartiallyFailed', 2, 0, 2])
    const { errors } = await all.scene.bucket.restoreResults('without')
    assert.match(errors.velero?.[0] ?? '', /test\.lateen\.dev\/operations/)
    await server.stop()
    server = await all.start()
  })

  describe('of a restore that is cancelled', () => {
    it('never begin when it is New', async () => {
      await all.create('first', { hold: 'one' })
      await all.held('first', 'one')
      // It wants the same namespace, and waits for the first one.
      await all.create('new', { begin: true }, { namespaceMapping: { source: all.target('first') } })
      await all.cancel('new')
      const { status } = await ended('new')
      assert.deepEqual([status?.phase, status?.failureReason], ['Failed', 'cancelled by request'])
      assert.equal(status?.startTimestamp, undefined)
      await all.release('first', 'one')
      assert.equal((await ended('first')).status?.phase, 'Completed')
    })

    it('are stopped when it is InProgress, and what is restored stays', async () => {
      await all.create('running', { begin: true, hold: 'two' })
      await all.held('running', 'two')
      await restored('running', 'one')
      await all.cancel('running')
      const running = await ended('running')
      assert.deepEqual(countsOf(running), ['Failed', 1, 0, 1])
      assert.equal(running.status?.failureReason, 'cancelled by request')
      assert.equal(await all.isCancelled('running.one'), true)
      assert.ok((await names(all.target('running'))).includes('configmap/one'))
      const { errors } = await all.scene.bucket.restoreResults('running')
      assert.match(errors.velero?.[0] ?? '', /cancelled: what it has restored until now stays/)
      assert.deepEqual(await all.journal(), [])
    })

    it('are stopped when it waits for them, and it is PartiallyFailed', async () => {
      await all.create('waiting', { begin: true })
      await inPhase('waiting', 'WaitingForPluginOperations')
      await all.tell('waiting.one', { completed: true })
      await all.scene.restores.until('waiting', ({ status }) => status?.restoreItemOperationsCompleted === 1)
      await all.cancel('waiting')
      assert.deepEqual(countsOf(await ended('waiting')), ['PartiallyFailed', 2, 1, 1])
      assert.deepEqual(
        [await all.isCancelled('waiting.one'), await all.isCancelled('waiting.two')],
        [false, true],
      )
      const [, two] = await all.operations('waiting')
      assert.deepEqual([two?.status.phase, two?.status.error], ['Failed', 'cancelled by request'])
    })

    it('do not keep it when it is Finalizing: it is PartiallyFailed', async () => {
      const claim = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { namespace: 'source', name: 'data' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
          storageClassName: 'none-such',
          volumeName: 'old',
        },
      }
      const volumeInfo = {
        ...{ pvcName: 'data', pvcNamespace: 'source', pvName: 'old', backupMethod: 'PodVolumeBackup' },
        pvInfo: { reclaimPolicy: 'Retain', labels: {} },
      }
      await publishBackup(all.scene, {
        name: 'claims',
        archive: archiveOf(stored(claim)),
        volumeInfo: [volumeInfo],
      })
      await all.create('finalizing', {}, { backupName: 'claims' })
      await inPhase('finalizing', 'Finalizing')
      await all.cancel('finalizing')
      const { status } = await ended('finalizing')
      assert.deepEqual([status?.phase, status?.errors], ['PartiallyFailed', 1])
      const { errors } = await all.scene.bucket.restoreResults('finalizing')
      assert.match(errors.velero?.[0] ?? '', /^cancelled by request/)
    })

    it('change nothing when it has ended', async () => {
      const before = (await all.scene.restores.get('slow')).status
      await all.cancel('slow')
      await all.create('later', {})
      await ended('later')
      assert.deepEqual((await all.scene.restores.get('slow')).status, before)
    })
  })

  describe('and what actions wait for', () => {
    for (const [name, behaviour, errors] of [
      ['at-once', { ready: 0 }, 0],
      ['after-some-time', { ready: 3 }, 0],
      ['never', { ready: 1_000, readyTimeoutMs: 2_000 }, 2],
    ] as const) {
      it(`is asked for until it is ready: ${name}`, async () => {
        await all.create(name, behaviour)
        const { status } = await ended(name)
        assert.deepEqual(
          [status?.phase, status?.errors ?? 0],
          [errors === 0 ? 'Completed' : 'PartiallyFailed', errors],
        )
        assert.equal((await names(all.target(name))).length, 3, 'it is restored all the same')
        assert.deepEqual(JSON.parse(await all.note(`${name}.items`)), [
          { group: '', resource: 'configmaps', namespace: 'source', name: 'plain' },
        ])
        if (errors > 0) {
          const results = await all.scene.bucket.restoreResults(name)
          assert.match(results.errors.namespaces?.[all.target(name)]?.[0] ?? '', /are not ready to use/)
        }
      })
    }
  })
})
