import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Backup, BackupPhase, BackupStatus } from '@lateen/api'
import {
  type Informer,
  type KubeClient,
  KubeError,
  type ObjectEvent,
  type ObjectHandler,
  silentLogger,
  systemClock,
} from '@lateen/kube'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { type BackupOperation, newOperation } from '../operations/backup-operation.ts'
import { WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import {
  type BackupRound,
  backupOperationsController,
  pauseAfter,
  statusAfterRound,
} from './backup-operations.ts'
import { LatestObjects } from './latest-objects.ts'

function waiting(status: BackupStatus): Backup {
  const metadata = { name: 'nightly', namespace: 'velero' }
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {}, status }
}

const whole = 'WaitingForPluginOperations'
const partly = 'WaitingForPluginOperationsPartiallyFailed'

function round(completed: number, failed: number, unfinished: number): BackupRound {
  const item = { group: '', resource: 'pods', namespace: 'shop', name: 'web' }
  const backup = waiting({})
  const operations = Array.from({ length: completed + failed + unfinished }, (_, at) =>
    newOperation({ backup, action: 'x', item, operationId: `${at}`, now: 0 }),
  )
  return { operations, completed, failed, unfinished }
}

describe('a backup that waits for its operations', () => {
  it('goes on waiting, and counts those that have ended', () => {
    assert.deepEqual(statusAfterRound(waiting({ phase: whole }), round(1, 0, 2)), {
      phase: whole,
      backupItemOperationsAttempted: 3,
      backupItemOperationsCompleted: 1,
    })
  })

  it('has partly failed with the first failure, while the others go on', () => {
    assert.deepEqual(statusAfterRound(waiting({ phase: whole, errors: 2 }), round(0, 1, 2)), {
      phase: partly,
      errors: 3,
      backupItemOperationsAttempted: 3,
      backupItemOperationsFailed: 1,
    })
  })

  it('counts a failure once, and keeps in mind that something failed before', () => {
    const status = { phase: partly, errors: 3, backupItemOperationsFailed: 1 } as const
    const after = statusAfterRound(waiting(status), round(1, 1, 1))
    assert.deepEqual([after.phase, after.errors], [partly, 3])
  })

  it('is finalized when all have ended', () => {
    assert.equal(statusAfterRound(waiting({ phase: whole }), round(2, 0, 0)).phase, 'Finalizing')
    assert.equal(
      statusAfterRound(waiting({ phase: whole }), round(2, 1, 0)).phase,
      'FinalizingPartiallyFailed',
    )
    const failedBefore = waiting({ phase: partly, errors: 1 })
    assert.equal(statusAfterRound(failedBefore, round(2, 0, 0)).phase, 'FinalizingPartiallyFailed')
  })
})

/** Backups of which a controller hears through events alone, with a cluster and a bucket that do not answer. */
function givenEvents(t: TestContext, { resourceTimeoutMs = 0 } = {}) {
  const seen = { code: 'Unreachable', now: systemClock.now() }
  const clock = { ...systemClock, now: () => seen.now }
  const handlers = new Set<ObjectHandler<Backup>>()
  const informer = {
    get: () => undefined,
    subscribe(handler: ObjectHandler<Backup>) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  } as unknown as Informer<Backup>
  const stopped: string[] = []
  const cancel = async ({ operationId }: { operationId: string }) => void stopped.push(operationId)
  const plugins = {
    open: () => ({ backupItemAction: () => ({ cancel }), [Symbol.asyncDispose]: async () => undefined }),
  } as unknown as PluginSessions
  const away = () => Promise.reject(new KubeError(seen.code, { message: 'away' }))
  const remembered = new WaitingOperations<BackupOperation>()
  const { reconcile, sources } = backupOperationsController({
    client: { discovery: { all: away } } as unknown as KubeClient,
    informer,
    backups: new LatestObjects(informer),
    ...{ clock, random: () => 0, ports: {} as LocationPorts, perform: { plugins } },
    ...{ waiting: remembered, everyMs: 1_000, resourceTimeoutMs },
  })
  const { signal } = endOf(t)
  const keys: string[] = []
  const ports = { log: silentLogger, clock: systemClock, random: () => 0, signal }
  for (const source of sources) void source.run(key => keys.push(key), ports)
  return {
    stopped,
    seen,
    tell(event: ObjectEvent<Backup>) {
      for (const handler of handlers) handler(event)
    },
    async begin(backup: Backup, operationId: string) {
      const { uid = '', name = '' } = backup.metadata
      const item = { group: '', resource: 'pods', namespace: 'shop', name: 'web' }
      const operations = [newOperation({ backup, action: 'x', item, operationId, now: 0 })]
      const store = { putJson: async () => undefined } as unknown as BackupStore
      await remembered.save({ uid, of: 'backup', name, operations }, store, signal)
    },
    async work() {
      for (const key of keys.splice(0)) await reconcile(key, { signal, log: silentLogger, failures: 0 })
    },
  }
}

function endOf(t: TestContext): AbortController {
  const end = new AbortController()
  t.after(() => end.abort())
  return end
}

describe('a backup that is deleted while it waits', () => {
  const named = (uid: string, phase: BackupPhase): Backup => {
    const { metadata, ...rest } = waiting({ phase })
    return { ...rest, metadata: { ...metadata, uid } }
  }

  it('is stopped although it was gone before any worker came to look at it', async t => {
    const { tell, begin, work, stopped } = givenEvents(t)
    await begin(named('a', whole), 'of-a')
    tell({ type: 'updated', object: named('a', whole), previous: named('a', 'InProgress') })
    tell({ type: 'deleted', object: named('a', whole) })
    await work()
    assert.deepEqual(stopped, ['of-a'])
    tell({ type: 'added', object: named('b', 'New') })
    await work()
    assert.deepEqual(stopped, ['of-a'])
  })

  it('is stopped although another one had its name before any worker came', async t => {
    const { tell, begin, work, stopped } = givenEvents(t)
    for (const uid of ['a', 'b']) {
      await begin(named(uid, partly), `of-${uid}`)
      tell({ type: 'added', object: named(uid, partly) })
      tell({ type: 'deleted', object: named(uid, partly) })
    }
    await work()
    assert.deepEqual(stopped, ['of-a', 'of-b'])
  })

  it('is tried again while the cluster is away, with its operations told each time, and given up in the end', async t => {
    const { tell, begin, work, stopped, seen } = givenEvents(t, { resourceTimeoutMs: 10_000 })
    await begin(named('a', whole), 'of-a')
    const deleted: ObjectEvent<Backup> = { type: 'deleted', object: named('a', whole) }
    const again: ObjectEvent<Backup> = { type: 'added', object: named('b', 'New') }
    tell(deleted)
    await assert.rejects(work(), /away/)
    tell(again)
    await assert.rejects(work(), /away/)
    assert.deepEqual(stopped, ['of-a', 'of-a'])
    seen.now += 10_000
    tell(again)
    await work()
    tell(again)
    await work()
    assert.deepEqual(stopped, ['of-a', 'of-a', 'of-a'])
  })

  it('is not tried again when its location is gone', async t => {
    const { tell, begin, work, stopped, seen } = givenEvents(t, { resourceTimeoutMs: 10_000 })
    seen.code = 'NotFound'
    await begin(named('a', whole), 'of-a')
    tell({ type: 'deleted', object: named('a', whole) })
    await work()
    assert.deepEqual(stopped, ['of-a'])
  })

  it('is left alone when it had moved on before', async t => {
    const { tell, begin, work, stopped } = givenEvents(t)
    await begin(named('a', whole), 'of-a')
    tell({ type: 'updated', object: named('a', 'Finalizing'), previous: named('a', whole) })
    tell({ type: 'deleted', object: named('a', 'Finalizing') })
    await work()
    assert.deepEqual(stopped, [])
  })
})

describe('the pause between questions about operations', () => {
  it('grows with the time that was waited, up to what the server is told', () => {
    assert.deepEqual(
      [0, 1_000, 2_500, 9_999, 60_000].map(waited => pauseAfter(waited, 10_000)),
      [1_000, 1_000, 2_500, 9_999, 10_000],
    )
    assert.equal(pauseAfter(60_000, 500), 500)
    assert.equal(pauseAfter(0, 500), 500)
  })
})
