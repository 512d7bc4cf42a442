import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import { type Clock, type Logger, silentLogger } from '@lateen/kube'
import {
  type BackupItemAction,
  invalidOperationId,
  type OperationProgress,
  PluginError,
  type VolumeSnapshotter,
} from '@lateen/plugin'
import type { Answer } from './after-asking.ts'
import { newOperation } from './backup-operation.ts'
import { backupOperationPorts } from './plugin-answers.ts'

const { signal } = new AbortController()
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const item = { group: '', resource: 'pods', namespace: 'shop', name: 'web' }
const going: OperationProgress = {
  completed: false,
  error: '',
  nCompleted: 1,
  nTotal: 2,
  operationUnits: 'bytes',
  description: '',
}
const patientClock: Clock = { now: () => 0, sleep: () => new Promise(() => undefined) }

interface Some {
  action?: Partial<BackupItemAction>
  snapshotter?: Partial<VolumeSnapshotter>
  location?: string
  clock?: Clock
  log?: Logger
}

function portsWith({ action, snapshotter, location, clock = patientClock, log = silentLogger }: Some) {
  const noSuch = new PluginError('NO_SUCH_PLUGIN', { reason: 'no BackupItemAction is named "x.io/slow"' })
  const plugins = {
    backupItemAction() {
      if (action === undefined) throw noSuch
      return action as BackupItemAction
    },
    restoreItemAction() {
      throw noSuch
    },
  }
  const ports = backupOperationPorts(backup, {
    plugins,
    clock,
    log,
    openSnapshotter: async () => snapshotter as VolumeSnapshotter,
  })
  const operation = newOperation({
    backup,
    action: 'x.io/slow',
    item,
    operationId: 'op-1',
    volumeSnapshotLocation: location,
    now: 0,
  })
  return {
    ask: () => ports.ask(operation, signal),
    cancel: () => ports.cancel(operation, signal),
    reportUntold: () => ports.reportUntold(),
  }
}

function failing(error: unknown): Some {
  return {
    action: {
      progress: async () => {
        throw error
      },
    },
  }
}

/** An action that never answers its first call, and all others at once; `cut` lets the patience with the first end. */
function oneAtATime(method: 'progress' | 'cancel', answer: OperationProgress | undefined) {
  const patience = Promise.withResolvers<void>()
  let [waits, calls] = [0, 0]
  const clock: Clock = {
    now: () => 0,
    sleep: () => {
      waits += 1
      return waits === 1 ? patience.promise : new Promise(() => undefined)
    },
  }
  const respond = () => {
    calls += 1
    return calls === 1 ? new Promise<never>(() => undefined) : Promise.resolve(answer)
  }
  const action = { [method]: respond } as Partial<BackupItemAction>
  return { ...portsWith({ action, clock }), cut: patience.resolve }
}

async function typeOf(answer: Promise<Answer>): Promise<string> {
  const { type, ...rest } = await answer
  return 'reason' in rest ? `${type}: ${rest.reason}` : type
}

describe('asking the action of an operation', () => {
  it('gives what the action says', async () => {
    const { ask } = portsWith({ action: { progress: async () => going } })
    assert.deepEqual(await ask(), { type: 'progress', progress: going })
  })

  it('is refused by what the plugin says, by an action without operations and by a plugin that is gone', async () => {
    assert.equal(
      await typeOf(portsWith(failing(invalidOperationId('op-1'))).ask()),
      'refused: operation ID op-1 is invalid',
    )
    assert.match(await typeOf(portsWith({ action: {} }).ask()), /^refused: .*asynchronous operations/)
    assert.match(await typeOf(portsWith({}).ask()), /^refused: .*x\.io\/slow/)
  })

  it('is unreachable when the question got lost', async () => {
    const lost = new PluginError('UNAVAILABLE', { reason: 'the program has ended' })
    assert.equal(await typeOf(portsWith(failing(lost)).ask()), 'unreachable: the program has ended')
  })

  it('is unreachable when nobody answers in time', async () => {
    const clock: Clock = { now: () => 0, sleep: async () => undefined }
    const action = { progress: () => new Promise<never>(() => undefined) }
    assert.match(await typeOf(portsWith({ action, clock }).ask()), /^unreachable: there was no answer/)
  })

  it('asks one that did not answer in time about nothing else', async () => {
    let asked = 0
    const progress = async () => {
      asked += 1
      throw new PluginError('TIMEOUT', { reason: 'no answer within 60 s' })
    }
    const { ask } = portsWith({ action: { progress } })
    assert.deepEqual(
      [await typeOf(ask()), await typeOf(ask()), asked],
      ['unreachable: no answer within 60 s', 'unreachable: no answer within 60 s', 1],
    )
  })

  it('goes on to ask one that answered others while one question was waited for in vain', async () => {
    const { ask, cut } = oneAtATime('progress', going)
    const [slow, quick] = [ask(), ask()]
    assert.equal(await typeOf(quick), 'progress')
    cut()
    assert.match(await typeOf(slow), /^unreachable: there was no answer/)
    assert.equal(await typeOf(ask()), 'progress')
  })

  it('took a minute each for all operations of which one half hung, and heard no cancelling: 32 are enough', async () => {
    let asked = 0
    const progress = async () => {
      asked += 1
      if (asked % 2 === 0) return going
      await setImmediate()
      throw new PluginError('TIMEOUT', { reason: 'no answer within 60 s' })
    }
    const { ask } = portsWith({ action: { progress } })
    // Each of those that hang is overtaken by one that answers.
    const pair = () => Promise.all([ask(), ask()])
    for (let at = 0; at < 40; at++) await pair()
    assert.equal(asked, 64)
  })

  it('asks the snapshotter about a snapshot', async () => {
    const asked: string[] = []
    const snapshotter: Partial<VolumeSnapshotter> = {
      async progress({ snapshotId }) {
        asked.push(snapshotId)
        return going
      },
    }
    assert.equal((await portsWith({ snapshotter, location: 'l' }).ask()).type, 'progress')
    assert.deepEqual(asked, ['op-1'])
  })

  it('takes a snapshot for complete whose snapshotter cannot be asked', async () => {
    const old: Partial<VolumeSnapshotter> = {
      progress: async () => {
        throw new PluginError('UNIMPLEMENTED', { reason: 'unknown method Progress' })
      },
    }
    for (const snapshotter of [old, {}]) {
      const answer = await portsWith({ snapshotter, location: 'l' }).ask()
      assert.equal(answer.type === 'progress' && answer.progress.completed, true)
    }
  })
})

describe('telling the action of an operation to stop', () => {
  it('does not mind when it cannot be cancelled', async () => {
    assert.equal(await portsWith({}).cancel(), 'refused')
    assert.equal(await portsWith({ action: {} }).cancel(), 'told')
  })

  it('waits once for one that never answers, and says in one line how many it was not told of', async () => {
    const warnings: object[] = []
    const log: Logger = { ...silentLogger, warn: fields => void warnings.push(fields) }
    let told = 0
    const cancel = () => {
      told += 1
      return new Promise<never>(() => undefined)
    }
    const clock: Clock = { now: () => 0, sleep: async () => undefined }
    const ports = portsWith({ action: { cancel }, clock, log })
    for (let operation = 0; operation < 10_000; operation += 1) {
      assert.equal(await ports.cancel(), 'unreachable')
    }
    assert.equal(told, 1)
    ports.reportUntold()
    ports.reportUntold()
    assert.deepEqual(
      warnings.map(({ action, operations }: { action?: unknown; operations?: unknown }) => [
        action,
        operations,
      ]),
      [['x.io/slow', 10_000]],
    )
  })

  it('goes on with one that answered others while one call was waited for in vain', async () => {
    const { cancel, cut } = oneAtATime('cancel', undefined)
    const [slow, quick] = [cancel(), cancel()]
    assert.equal(await quick, 'told')
    cut()
    assert.equal(await slow, 'unreachable')
    assert.equal(await cancel(), 'told')
  })

  it('tries one that did not say how far it is', async () => {
    let told = 0
    const { ask, cancel } = portsWith({
      action: {
        ...failing(new PluginError('TIMEOUT', { reason: 'no answer within 60 s' })).action,
        async cancel() {
          told += 1
        },
      },
    })
    await ask()
    assert.deepEqual([await cancel(), told], ['told', 1])
  })

  it('tries again with the next operation when the program has ended', async () => {
    let told = 0
    const cancel = async () => {
      told += 1
      throw new PluginError('UNAVAILABLE', { reason: 'the program has ended' })
    }
    const ports = portsWith({ action: { cancel } })
    assert.deepEqual([await ports.cancel(), await ports.cancel(), told], ['unreachable', 'unreachable', 2])
  })
})
