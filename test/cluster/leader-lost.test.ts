import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LeaseKind } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { createConfigMaps } from './backup-server-scene.ts'
import { type Candidate, describeWrites, type LeaderScene, openLeaderScene } from './leader-scene.ts'

const given = await givenCluster({ s3: true })

describe('a leader that loses its lease', { skip: given.skip, concurrency: false }, () => {
  let servers: LeaderScene

  before(async () => {
    servers = await openLeaderScene(given.cluster, 'leader-lost')
    await createConfigMaps(servers.scene, { count: 100, bytes: 2_000 })
  })
  after(() => servers?.[Symbol.asyncDispose]())

  const losses: { name: string; says: string; lose(leader: Candidate): Promise<void> }[] = [
    {
      name: 'taken',
      says: 'because somebody took it away by hand',
      lose: () => patchLease({ holderIdentity: null }),
    },
    {
      name: 'cut',
      says: 'because it does not reach the API server, though it does reach the bucket',
      lose: async leader => leader.api.cut(),
    },
  ]

  async function patchLease(spec: object): Promise<void> {
    const leases = servers.scene.client.resource(LeaseKind, servers.scene.namespace)
    await leases.patch('lateen-server', { type: 'merge', body: { spec } })
  }

  for (const { name, says, lose } of losses) {
    it(`${says}, ends, and writes nothing once another leads`, async test => {
      const { scene } = servers
      await using first = await servers.lead(`first-${name}`)
      await using second = await servers.standBy(`second-${name}`)
      const includedNamespaces = [scene.data]
      const names = ['a', 'b', 'c'].map(each => `${each}-${name}`)
      for (const each of names) await scene.backups.create(each, { includedNamespaces })
      await scene.backups.begun(names[0] ?? '')
      await sleep(200)
      await lose(first)

      assert.notEqual(await first.exited, 0, 'a server that lost its lease ends')
      await second.said('controllers started')
      const takenOver = takeOverOf(second)
      const late = first.writesSince(takenOver)
      assert.equal(describeWrites(late), '')
      const ends = await Promise.all(names.map(each => scene.backups.ended(each)))
      // One runs at a time, and only that one is interrupted.
      const interrupted = ends.filter(({ status }) => status?.phase !== 'Completed')
      assert.ok(interrupted.length <= 1)
      for (const { status } of interrupted) {
        assert.match(status?.failureReason ?? '', /found a backup with status "InProgress"/)
      }
      test.diagnostic(`the backups are ${ends.map(({ status }) => status?.phase).join(', ')}`)
      const after = await scene.backups.take(`d-${name}`, { includedNamespaces })
      assert.equal(after.status?.phase, 'Completed')
      await second.stop()
    })
  }

  /** When it first wrote itself into the lease. */
  function takeOverOf({ api }: Candidate): number {
    const taken = api.requests.find(({ method, url }) => method === 'PUT' && url.includes('/leases/'))
    assert.ok(taken, 'it has taken the lease')
    return taken.at
  }
})
