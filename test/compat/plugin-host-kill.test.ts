import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import { type ActionItem, isObjectStoreError, isPluginError, type ObjectStore } from '@lateen/plugin'
import type { PluginSession } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { collectLog } from './collected-log.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost, untilGone } from './plugin-host-scene.ts'

const item: ActionItem = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } }
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const where = { bucket: 'bucket' }
const rounds = 4

describe('a plugin program that is killed at any moment', { concurrency: false }, () => {
  let folder: PluginFolder
  let host: PluginHost
  const scene = new AsyncDisposableStack()

  before(async () => {
    folder = scene.use(await makePluginFolder())
    await folder.script('faulty', 'faulty-plugin.ts')
    host = scene.use(await openPluginHost({ folder: folder.path }))
  })
  after(() => scene.disposeAsync())

  for (const seed of rotatingSeeds({ name: 'killed-plugin', count: 2, soakCount: 100 })) {
    it(`fails the calls that are under way, and none that begins when it is gone (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const session = host.registry.open({ log: collectLog() })
      const store = session.objectStore('example.com/store')
      await store.init({ config: where })
      for (let round = 0; round < rounds; round += 1) {
        const calls = Array.from({ length: 1 + random.integer(0, 12) }, () =>
          anyCall({ session, store, random }),
        )
        const settled = Promise.allSettled(calls)
        await sleep(random.integer(0, 60))
        await killProgram()
        for (const each of await settled) if (each.status === 'rejected') assertTransport(each.reason)
        const { unchanged } = await session.backupItemAction('example.com/fine').execute({ item, backup })
        assert.equal(unchanged, true)
      }
      await session[Symbol.asyncDispose]()
      assert.deepEqual(await host.processes(), [])
    })
  }

  async function killProgram(): Promise<void> {
    for (const pid of await host.processes()) {
      process.kill(pid, 'SIGKILL')
      await untilGone(pid)
    }
  }
})

/** A call of some kind, some of which end by themselves, and some only with the program. */
function anyCall(given: {
  session: PluginSession
  store: ObjectStore
  random: SeededRandom
}): Promise<unknown> {
  const { session, store, random } = given
  const execute = (name: string) => session.backupItemAction(`example.com/${name}`).execute({ item, backup })
  const calls = [
    () => execute('fine'),
    () => execute('hangs'),
    () => store.putObject({ ...where, key: 'k', body: endless() }),
    async () => buffer(await store.getObject({ ...where, key: 'k' })),
    () => store.objectExists({ ...where, key: 'k' }),
    () => Array.fromAsync(store.listObjects({ ...where, prefix: '' })),
  ]
  const call = calls[random.integer(0, calls.length)]
  assert.ok(call)
  return call()
}

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(20_000)
    await sleep(1)
  }
}

/** The call did not come through; the plugin said nothing about the matter. */
function assertTransport(error: unknown): void {
  const cause = isObjectStoreError(error) ? error.cause : error
  assert.ok(isPluginError(cause) && cause.transport, String(error))
}
