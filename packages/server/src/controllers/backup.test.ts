import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Backup, BackupKind, type BackupPhase } from '@lateen/api'
import {
  type Informer,
  KubeError,
  type ObjectEvent,
  type ObjectHandler,
  silentLogger,
  systemClock,
} from '@lateen/kube'
import { phaseAfterWork } from '../backup/perform-backup.ts'
import { type BackupControllerOptions, backupController, nextStep } from './backup.ts'
import { finalized } from './backup-finalizer.ts'
import { presenceOf } from './backup-presence.ts'
import { LatestObjects } from './latest-objects.ts'

const backupPhases: readonly BackupPhase[] = BackupKind.phases?.phases ?? []

const backup = (phase: BackupPhase | undefined, annotations: Record<string, string> = {}): Backup => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly', namespace: 'velero', annotations },
  spec: {},
  ...(phase && { status: { phase } }),
})

describe('The backup controller', () => {
  it('starts what is ready, and leaves alone what it is working on', () => {
    assert.deepEqual(nextStep(backup('ReadyToStart'), false), { type: 'start' })
    assert.deepEqual(nextStep(backup('ReadyToStart'), true), { type: 'ignore' })
    assert.deepEqual(nextStep(backup('InProgress'), true), { type: 'ignore' })
  })

  it('fails what a server left in progress that is gone', () => {
    assert.deepEqual(nextStep(backup('InProgress'), false), { type: 'fail-interrupted' })
  })

  it('goes on removing what a failed backup left in the bucket', () => {
    assert.deepEqual(nextStep(backup('Failed', { 'lateen.dev/leftovers': 'true' }), false), {
      type: 'remove-leftovers',
    })
  })

  it('cancels what has not begun, and leaves the rest to those who work on it', () => {
    const cancel = { 'lateen.dev/cancel': 'true' }
    for (const phase of [undefined, 'New', 'Queued', 'ReadyToStart'] as const) {
      assert.deepEqual(nextStep(backup(phase, cancel), false), { type: 'cancel' }, phase)
    }
    for (const phase of ['WaitingForPluginOperations', 'Finalizing', 'Completed', 'Failed'] as const) {
      assert.deepEqual(nextStep(backup(phase, cancel), false), { type: 'ignore' }, phase)
    }
    assert.deepEqual(nextStep(backup('InProgress', cancel), false), { type: 'fail-interrupted' })
  })

  it('has nothing to do in all other phases, or without a backup', () => {
    const own = new Set<BackupPhase>(['ReadyToStart', 'InProgress'])
    for (const phase of [undefined, ...backupPhases].filter(
      phase => phase === undefined || !own.has(phase),
    )) {
      assert.deepEqual(nextStep(backup(phase), false), { type: 'ignore' }, phase)
    }
    assert.deepEqual(nextStep(undefined, false), { type: 'ignore' })
  })
})

/** A controller that hears of backups which are gone when it looks, with a cluster that does not answer for a while. */
function givenDeleted(patienceMs: number) {
  const handlers = new Set<ObjectHandler<Backup>>()
  const informer = {
    get: () => undefined,
    subscribe(handler: ObjectHandler<Backup>) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  } as unknown as Informer<Backup>
  const seen = { now: systemClock.now(), attempts: 0 }
  const all = async () => {
    seen.attempts += 1
    throw new KubeError('Unreachable', { message: 'away' })
  }
  const { reconcile, sources } = backupController({
    ...{ informer, backups: new LatestObjects(informer), clock: { ...systemClock, now: () => seen.now } },
    ...{ client: { discovery: { all } }, perform: {}, defaults: { resourceTimeout: patienceMs } },
  } as unknown as BackupControllerOptions)
  const { signal } = new AbortController()
  const ports = { log: silentLogger, clock: systemClock, random: () => 0, signal }
  for (const source of sources) void source.run(() => {}, ports)
  return {
    seen,
    tell(event: ObjectEvent<Backup>) {
      for (const handler of handlers) handler(event)
    },
    work: () => reconcile('velero/nightly', { signal, log: silentLogger, failures: 0 }),
  }
}

describe('A backup that is deleted while something of it is left', () => {
  const of = (backup: Backup): Backup => ({ ...backup, metadata: { ...backup.metadata, uid: 'u' } })

  it('is tidied up after, by the memory of the server alone, for as long as it has patience', async () => {
    for (const object of [backup('Failed', { 'lateen.dev/leftovers': 'true' }), backup('InProgress')]) {
      const { seen, tell, work } = givenDeleted(10)
      tell({ type: 'deleted', object: of(object) })
      await assert.rejects(work(), /away/)
      await assert.rejects(work(), /away/)
      seen.now += 10
      await work()
      await work()
      assert.equal(seen.attempts, 3)
    }
  })

  it('is not looked after when nothing is', async () => {
    const { seen, tell, work } = givenDeleted(10)
    tell({ type: 'deleted', object: of(backup('Failed')) })
    tell({ type: 'updated', object: of(backup('InProgress')), previous: of(backup('InProgress')) })
    await work()
    assert.equal(seen.attempts, 0)
  })
})

describe('A backup that did not answer to its move', () => {
  const before: Backup = { ...backup('InProgress'), metadata: { name: 'nightly', uid: 'u' } }
  const answers = (now: Backup | undefined) => {
    const get = async () => {
      if (now === undefined) throw new KubeError('NotFound', { message: 'gone', status: 404 })
      return now
    }
    const client = { resource: () => ({ get }) } as unknown as BackupControllerOptions['client']
    return presenceOf(before, { client, signal: new AbortController().signal })
  }

  it('was taken for deleted when others had moved it on, and lost its files: it goes on', async () => {
    for (const phase of ['WaitingForPluginOperationsPartiallyFailed', 'Finalizing', 'Completed'] as const) {
      assert.equal(await answers({ ...before, status: { phase } }), 'moved on', phase)
    }
  })

  it('is gone, has failed, or is where it was', async () => {
    assert.equal(await answers(undefined), 'gone')
    assert.equal(await answers({ ...before, metadata: { name: 'nightly', uid: 'another' } }), 'gone')
    assert.equal(await answers({ ...before, status: { phase: 'Failed' } }), 'failed')
    assert.equal(await answers(before), 'in progress')
  })
})

describe('After its work a backup', () => {
  const after = (errors: number, unfinishedOperations: number, failureReason?: string) =>
    phaseAfterWork({ status: { errors, ...(failureReason && { failureReason }) }, unfinishedOperations })

  it('is finalized, or waits for the operations of plugins', () => {
    assert.equal(after(0, 0), 'Finalizing')
    assert.equal(after(1, 0), 'FinalizingPartiallyFailed')
    assert.equal(after(0, 1), 'WaitingForPluginOperations')
    assert.equal(after(1, 1), 'WaitingForPluginOperationsPartiallyFailed')
  })

  it('has failed when it broke off, whatever it has done before', () => {
    assert.equal(after(1, 1, 'the scratch space is full'), 'Failed')
  })
})

describe('The finalizer', () => {
  const now = Date.parse('2026-01-02T03:04:05Z')

  it('ends a backup with the time, as its errors say', () => {
    assert.deepEqual(finalized(backup('Finalizing'), { now })?.status, {
      phase: 'Completed',
      completionTimestamp: '2026-01-02T03:04:05Z',
    })
    assert.equal(finalized(backup('FinalizingPartiallyFailed'), { now })?.status?.phase, 'PartiallyFailed')
  })

  it('counts what went wrong at the end, and does not call that complete', () => {
    const one = { ...backup('Finalizing'), status: { phase: 'Finalizing' as const, warnings: 2 } }
    assert.deepEqual(finalized(one, { added: { warnings: 1, errors: 1 }, now })?.status, {
      phase: 'PartiallyFailed',
      completionTimestamp: '2026-01-02T03:04:05Z',
      warnings: 3,
      errors: 1,
    })
  })

  it('does not call complete what somebody cancelled', () => {
    assert.equal(finalized(backup('Finalizing'), { cancelled: true, now })?.status?.phase, 'PartiallyFailed')
  })

  it('leaves other phases alone', () => {
    for (const phase of backupPhases.filter(phase => !phase.startsWith('Finalizing'))) {
      assert.equal(finalized(backup(phase), { now }), undefined, phase)
    }
  })
})
