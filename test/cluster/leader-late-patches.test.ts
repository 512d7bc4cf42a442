import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Backup, BackupKind } from '@lateen/api'
import { createKubeClient, createManager, type KubeClient, loadKubeConfig, silentLogger } from '@lateen/kube'
import { LatestObjects } from '../../packages/server/src/controllers/latest-objects.ts'
import { patchInPhase } from '../../packages/server/src/controllers/patch-in-phase.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.ts'
import { prepareCluster } from './storage-location-harness.ts'

const given = await givenCluster()

describe('a patch for one phase only', { skip: given.skip, concurrency: false }, () => {
  const namespace = `late-patches-${process.pid}`
  const { signal } = new AbortController()
  let proxy: RecordingProxy
  let client: KubeClient
  let latest: LatestObjects<Backup>
  let lost = 0

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    const admin = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    const loses = ({ method }: { method: string }) => method === 'PATCH' && lost-- > 0
    proxy = await startRecordingProxy({ url: admin.server, tls: admin.tls, loses })
    const config = { ...admin, server: proxy.url, tls: {}, credentials: async () => ({ headers: {} }) }
    client = await createKubeClient({ config: { ...config, invalidate: () => undefined } })
    latest = new LatestObjects(
      createManager({ client, log: silentLogger }).informer(BackupKind, { namespace }),
    )
  })
  after(async () => {
    await client[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  const backups = () => client.resource(BackupKind, namespace)

  function running(name: string): Promise<Backup> {
    const metadata = { name, namespace }
    const status = { phase: 'InProgress' } as const
    return backups().create({ apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {}, status })
  }

  function finish(backup: Backup): Promise<Backup | undefined> {
    const body = { status: { phase: 'Finalizing' } }
    return patchInPhase(backup, { kind: BackupKind, body }, { client, latest, signal })
  }

  it('is written though the object has other news', async () => {
    const backup = await running('news')
    await backups().patch('news', { type: 'merge', body: { status: { progress: { itemsBackedUp: 3 } } } })
    const written = await finish(backup)
    assert.equal(written?.status?.phase, 'Finalizing')
    assert.equal((await backups().get('news')).status?.progress?.itemsBackedUp, 3)
  })

  it('does not bring a failed object to life again', async () => {
    const backup = await running('failed')
    const body = { status: { phase: 'Failed', failureReason: 'interrupted' } }
    const failed = await backups().patch('failed', { type: 'merge', body })
    assert.equal(await finish(backup), undefined)
    assert.deepEqual(await backups().get('failed'), failed)
  })

  it('does not reach another object of the same name', async () => {
    const backup = await running('again')
    await backups().delete('again')
    assert.equal(await finish(backup), undefined)
    const successor = await running('again')
    assert.equal(await finish(backup), undefined)
    assert.deepEqual(await backups().get('again'), successor)
  })

  it('is known to be written though the answer was lost', async () => {
    const backup = await running('unheard')
    lost = 1
    assert.equal((await finish(backup))?.status?.phase, 'Finalizing')
    assert.equal(lost, -1, 'it was sent twice')
  })
})
