import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'

const given = await givenCluster({ s3: true, own: true })
const objects = 400

describe('a server whose API server goes away', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let proxy: MisbehavingProxy | undefined
  /** Called before a file is stored. */
  let beforePut: (url: string) => Promise<void> = async () => undefined

  before(async () => {
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, async ({ method, url = '' }) => {
      if (method === 'PUT') await beforePut(url)
      return undefined
    })
    scene = await openServerScene(given.cluster, 'restore-away', { s3Url: proxy.endpoint })
    await createConfigMaps(scene, { count: objects, bytes: 1_000 })
    await scene.start()
    const taken = await scene.backups.take('whole', { includedNamespaces: [scene.data] })
    assert.equal(taken.status?.phase, 'Completed')
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
  })

  async function leaveAndComeBack(): Promise<void> {
    await given.cluster.kill('kube-apiserver')
    await sleep(2_000)
    await given.cluster.start('kube-apiserver')
  }

  const into = (target: string) => ({ backupName: 'whole', namespaceMapping: { [scene.data]: target } })

  async function count(target: string): Promise<number> {
    const names = await given.cluster.kubectl(['get', 'configmaps', '-n', target, '-o', 'name'])
    return names.match(/plain-/g)?.length ?? 0
  }

  it('goes on when it is back, and brings back everything', async () => {
    await scene.restores.create('middle', into('middle'))
    await scene.restores.begun('middle')
    await leaveAndComeBack()
    const { status } = await scene.restores.ended('middle')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.equal(await count('middle'), objects)
  })

  it('says how a restore ended that it could not tell of for a while', async () => {
    const away = Promise.withResolvers<void>()
    beforePut = async url => {
      if (!url.includes('late-volumeinfo')) return
      await given.cluster.kill('kube-apiserver')
      away.resolve()
    }
    await scene.restores.create('late', into('late'))
    await away.promise
    await sleep(4_000)
    await given.cluster.start('kube-apiserver')
    const { status } = await scene.restores.ended('late')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.equal(await count('late'), objects)
  })
})
