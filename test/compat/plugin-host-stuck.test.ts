import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ActionItem, isPluginError } from '@lateen/plugin'
import type { PluginSession } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { ProgramChild } from '../../packages/server/src/plugin-host/program-child.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { veleroMissing } from './backup-pair.ts'
import { collectLog } from './collected-log.ts'
import { backup, failsWith, item, openFaultyScene, what } from './faulty-scene.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'

const missing = await veleroMissing()
const where = { bucket: 'bucket' }

describe('a plugin program that cannot be started again', () => {
  it('is given up after eleven times in a row; one that starts in between begins anew', async () => {
    await using scene = await openFaultyScene()
    const store = scene.session.objectStore('example.com/store')
    await store.init({ config: where })
    const refusal = path.join(scene.folder.notes, 'refuse-init')
    const fail = async (times: number) => {
      await assert.rejects(scene.execute('killed'), failsWith('UNAVAILABLE'))
      await writeFile(refusal, '')
      for (let round = 0; round < times; round += 1) {
        await assert.rejects(scene.execute('fine'), error => {
          assert.ok(isPluginError(error))
          assert.match(error.message, /it is told to refuse/)
          return true
        })
      }
      await rm(refusal)
    }
    await fail(3)
    await scene.execute('fine')
    await fail(11)
    await scene.news()
    await assert.rejects(
      scene.execute('fine'),
      /could not be started 11 times in a row.*it is told to refuse/,
    )
    assert.deepEqual(await scene.news(), [])
    await using fresh = scene.host.registry.open({ log: scene.log })
    await fresh.backupItemAction('example.com/fine').execute({ item, backup })
  })

  it('says why when it does not come to the line that tells where it listens', async () => {
    await using scene = await openFaultyScene()
    await assert.rejects(scene.execute('exits'), failsWith('UNAVAILABLE'))
    await writeFile(path.join(scene.folder.notes, 'refuse-start'), '')
    await assert.rejects(scene.execute('fine'), /faulty: it cannot be started: it ended with exit code 4/)
  })
})

describe('a plugin program that is stuck', () => {
  it('or slow in a call that has no reason to be: the answer that comes too late is of no use, and does no harm', async () => {
    await using scene = await openFaultyScene({ shortCallMs: 10_000 })
    const action = scene.session.backupItemAction('example.com/late')
    const { operationId = '' } = await action.execute({ item, backup })
    await assert.rejects(async () => action.progress?.({ operationId, backup }), failsWith('TIMEOUT'))
    for (let round = 0; !what(await scene.folder.noted()).includes('answering one'); round += 1) {
      assert.ok(round < 600, 'it does not answer at all')
      await sleep(50)
    }
    assert.equal((await scene.execute('fine')).unchanged, true)
    assert.equal(what(await scene.news()).filter(each => each === 'started').length, 1)
  })

  it('in the middle of a call is noticed, killed and started again', async () => {
    await using scene = await openFaultyScene({ healthEveryMs: 500, healthAnswerMs: 2000, healthMisses: 2 })
    await assert.rejects(scene.execute('blocks'), failsWith('UNAVAILABLE'))
    assert.equal((await scene.execute('fine')).unchanged, true)
    assert.deepEqual(
      what(await scene.news()).filter(each => each === 'started'),
      ['started', 'started'],
    )
  })

  it('when it is told to end is killed', async () => {
    await using scene = await openFaultyScene({ shutdownMs: 500, lastWordsMs: 30_000 })
    const blocked = assert.rejects(scene.execute('blocks'), failsWith('UNAVAILABLE'))
    for (
      let round = 0;
      !what(await scene.folder.noted()).includes('execute example.com/blocks');
      round += 1
    ) {
      assert.ok(round < 600, 'it is not called')
      await sleep(50)
    }
    await scene.session[Symbol.asyncDispose]()
    await blocked
    assert.deepEqual(await scene.host.processes(), [])
  })

  it('or does not care to end is killed, and waited for as long as a killed one may take', async t => {
    await using folder = await makePluginFolder()
    await folder.script('stays', 'faulty-handshake.ts', ['stays', 'example.com/stays'])
    const limits = { shutdownMs: 500, lastWordsMs: 30_000 }
    await using host = await openPluginHost({ folder: folder.path, limits })
    const log = collectLog()
    const session = host.registry.open({ log })
    await session.backupItemAction('example.com/stays').execute({ item, backup })
    const { mock } = t.mock.method(ProgramChild.prototype, 'gone')
    await session[Symbol.asyncDispose]()
    assert.deepEqual(
      mock.calls.map(call => call.arguments),
      [[500], [30_000]],
    )
    assert.deepEqual(await host.processes(), [])
    assert.ok(log.entries.some(({ level, message }) => level === 'warn' && /killed/.test(message)))
  })
})

describe("Velero's own plugin program under our host", { skip: missing }, () => {
  let folder: PluginFolder
  let host: PluginHost
  let session: PluginSession
  const log = collectLog()
  const scene = new AsyncDisposableStack()
  const pod: ActionItem = { ...item, kind: 'Pod', spec: {} }

  before(async () => {
    folder = scene.use(await makePluginFolder())
    await folder.launcher('velero', { command: [await tool('velero'), 'run-plugins'] })
    host = scene.use(await openPluginHost({ folder: folder.path }))
    session = scene.use(host.registry.open({ log }))
  })
  after(() => scene.disposeAsync())

  const execute = (given: ActionItem) =>
    session.backupItemAction('velero.io/pod').execute({ item: given, backup })

  it('refuses a request of more than 4 MiB; the error names the object, the plugin and what to do', async () => {
    const large = { ...pod, data: 'x'.repeat(5_000_000) }
    await assert.rejects(execute(large), error => {
      assert.ok(isPluginError(error, 'TOO_LARGE'))
      assert.match(error.message, /velero\.io\/pod.*Pod n\/a/)
      assert.notEqual(error.hint ?? '', '')
      return true
    })
    assert.deepEqual((await execute(pod)).item, pod)
  })

  it('fails one call alone with an error text of 60 KiB, 70 KiB and 1 MiB', async () => {
    for (const length of [60 << 10, 70 << 10, 1 << 20]) {
      const others = Array.from({ length: 20 }, () => execute(pod))
      const odd = { ...pod, kind: '', text: 'x'.repeat(length) }
      await assert.rejects(execute(odd), error => isPluginError(error))
      for (const answer of await Promise.all(others)) assert.deepEqual(answer.item, pod)
    }
    assert.equal((await host.processes()).length, 1)
  })

  it('ends with its session, and nothing of it is left', async () => {
    await session[Symbol.asyncDispose]()
    assert.deepEqual(await host.processes(), [])
    assert.deepEqual(
      log.entries.filter(({ level }) => level === 'error'),
      [],
    )
  })
})
