import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ServerOptions } from '@lateen/server'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { createConfigMaps } from './backup-server-scene.ts'
import { Deletions } from './deletions.ts'
import {
  type Candidate,
  endlessLease,
  type LeaderScene,
  openLeaderScene,
  quickLease,
} from './leader-scene.ts'
import { Schedules } from './schedules.ts'

const given = await givenCluster({ s3: true })

async function read(server: Candidate, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(server.url + path)
  return { status: response.status, text: await response.text() }
}

async function leaderGauge(server: Candidate): Promise<string | undefined> {
  const { text } = await read(server, '/metrics')
  return /^lateen_leader (\d)$/m.exec(text)?.[1]
}

describe('a server that stands by', { skip: given.skip, concurrency: false }, () => {
  let servers: LeaderScene
  const made: string[] = []

  before(async () => {
    servers = await openLeaderScene(given.cluster, 'leader-takeover')
    await createConfigMaps(servers.scene, { count: 150, bytes: 2_000 })
  })
  after(async () => {
    await servers?.[Symbol.asyncDispose]()
    const gone = ['delete', 'namespace', '--wait=false', '--ignore-not-found', 'none', ...made]
    await given.cluster.kubectl(gone)
  })

  interface Ending {
    name: string
    says: string
    lease: ServerOptions['lease']
    end(leader: Candidate): Promise<void>
    /** What the backup says that was running. */
    reason: RegExp
  }

  const endings: Ending[] = [
    {
      name: 'killed',
      says: 'takes over from one that is killed, when its lease has run out',
      lease: quickLease,
      end: leader => leader.kill(),
      reason: /found a backup with status "InProgress"/,
    },
    {
      name: 'stopped',
      says: 'takes over at once from one that is told to stop',
      lease: endlessLease,
      end: async leader => assert.equal(await leader.stop(), 0),
      reason: /found a backup with status "InProgress"|server was stopped/,
    },
  ]

  for (const { name, says, lease, end, reason } of endings) {
    it(`${says}, and goes on with everything`, async () => {
      await using first = await servers.lead(`first-${name}`, { lease })
      await using second = await servers.standBy(`second-${name}`, { lease })
      assert.equal((await read(second, '/healthz')).status, 200)
      const ready = await read(second, '/readyz')
      assert.equal(ready.status, 200, ready.text)
      const { spec } = await servers.lease()
      assert.equal(ready.text, `ok, standby: ${spec?.holderIdentity} leads\n`)
      assert.deepEqual([await leaderGauge(first), await leaderGauge(second)], ['1', '0'])

      const work = await giveWork(name)
      await end(first)
      await second.said('controllers started')
      await work.goesOn(reason)
      assert.equal((await read(second, '/readyz')).text, 'ok\n')
      assert.equal(await leaderGauge(second), '1')
      assert.notEqual((await servers.lease()).spec?.holderIdentity, spec?.holderIdentity)
      await second.stop()
    })
  }

  /** A backup that runs and one that waits, a restore, a deletion, and a schedule. */
  async function giveWork(name: string) {
    const { scene } = servers
    const [source, doomed, running, waiting] = ['source', 'doomed', 'running', 'waiting'].map(
      each => `${each}-${name}`,
    ) as [string, string, string, string]
    const includedNamespaces = [scene.data]
    for (const each of [source, doomed]) {
      assert.equal((await scene.backups.take(each, { includedNamespaces })).status?.phase, 'Completed')
    }
    const target = `${scene.data}-${name}`
    made.push(target)
    const restore = { backupName: source, includedNamespaces, namespaceMapping: { [scene.data]: target } }
    const deletions = new Deletions(scene)
    const schedules = new Schedules(scene.client, scene.namespace)
    await schedules.create(`often-${name}`, {
      schedule: '@every 1s',
      template: { includedNamespaces: ['none'] },
    })
    await waitUntil(async () => (await schedules.get(`often-${name}`)).status?.lastBackup, {
      timeoutMs: 60_000,
      failure: () => new Error('the schedule makes no backup'),
    })
    await scene.backups.create(running, { includedNamespaces })
    await scene.backups.create(waiting, { includedNamespaces })
    await scene.restores.create(`restore-${name}`, restore)
    await deletions.request(doomed)
    await scene.backups.begun(running)

    return {
      async goesOn(reason: RegExp) {
        const before = await schedules.get(`often-${name}`)
        const both = [await scene.backups.ended(running), await scene.backups.ended(waiting)]
        // One runs at a time, and only that one is interrupted.
        const interrupted = both.filter(({ status }) => status?.phase !== 'Completed')
        assert.ok(interrupted.length <= 1)
        for (const { status } of interrupted) assert.match(status?.failureReason ?? '', reason)
        const after = await scene.backups.take(`after-${name}`, { includedNamespaces })
        assert.equal(after.status?.phase, 'Completed')
        await scene.restores.ended(`restore-${name}`)
        await deletions.done(doomed)
        await waitUntil(
          async () => (await schedules.get(`often-${name}`)).status?.lastBackup !== before.status?.lastBackup,
          { timeoutMs: 60_000, failure: () => new Error('the schedule does not go on') },
        )
        await schedules.delete(`often-${name}`)
        const keys = await scene.bucket.keys()
        assert.deepEqual(
          keys.filter(key => key.startsWith(`backups/${doomed}/`)),
          [],
        )
        for (const { metadata, status } of interrupted) {
          const left = keys.filter(key => key.startsWith(`backups/${metadata.name}/`))
          if (status?.phase === 'Failed') assert.deepEqual(left, [])
        }
      },
    }
  }
})
