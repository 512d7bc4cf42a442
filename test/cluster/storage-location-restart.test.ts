import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServerStatusRequest, ServerStatusRequestKind } from '@lateen/api'
import { createKubeClient, isNotFound, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { ServerOptions } from '@lateen/server'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { Locations, prepareCluster, type RunningServer, startServer } from './storage-location-harness.ts'

const given = await givenCluster()
const namespace = `storage-location-restart-${process.pid}`

describe('a server that comes and goes', { skip: given.skip }, () => {
  let client: KubeClient
  let locations: Locations
  let server: RunningServer | undefined
  let folder = ''
  const onFolder = (bucket = 'bucket') => ({
    provider: 'filesystem',
    objectStorage: { bucket },
    config: { path: folder },
  })
  const start = (options: Partial<ServerOptions> = {}) =>
    startServer({
      namespace,
      kubeconfig: given.cluster.kubeconfigPath,
      storeValidationFrequency: 1_000,
      version: 'v9.9.9-test',
      ...options,
    })

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    locations = new Locations(client, namespace)
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-restart-'))
    await mkdir(path.join(folder, 'bucket'))
  })

  after(async () => {
    await server?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  it('makes the location named for it the default, unless a user has chosen another', async () => {
    await locations.create('default', onFolder())
    server = await start()
    await locations.until('default', (_, { spec }) => spec.default === true)
    assert.equal(await server.stop(), 0)

    await locations.patch('default', { default: false })
    await locations.create('chosen', { ...onFolder(), default: true })
    server = await start()
    await locations.available('chosen')
    assert.equal((await locations.get('default')).spec.default, false)
    assert.equal((await locations.get('chosen')).spec.default, true)
  })

  it('leaves the newest of several defaults', async () => {
    // Creation times have whole seconds.
    await sleep(1_100)
    await locations.create('newest', { ...onFolder(), default: true })
    await locations.until('chosen', (_, { spec }) => spec.default === false)
    await locations.available('newest')
    assert.equal((await locations.get('newest')).spec.default, true)
  })

  it('answers status requests with its version and plugins', async () => {
    const requests = client.resource(ServerStatusRequestKind, namespace)
    const made = await requests.create(request({ generateName: 'velero-cli-' }))
    const answered = await waitUntil(
      async () => {
        const seen = await requests.get(made.metadata.name ?? '')
        return seen.status?.phase === 'Processed' ? seen : undefined
      },
      { timeoutMs: 120_000, failure: () => new Error('no answer') },
    )
    assert.equal(answered.status?.serverVersion, 'v9.9.9-test')
    const stores = answered.status?.plugins?.filter(({ kind }) => kind === 'ObjectStore')
    assert.deepEqual(stores, [
      { name: 'velero.io/aws', kind: 'ObjectStore' },
      { name: 'velero.io/filesystem', kind: 'ObjectStore' },
    ])
    assert.ok(
      answered.status?.plugins?.some(
        ({ kind, name }) => kind === 'RestoreItemAction' && name === 'velero.io/pod',
      ),
    )
    assert.ok(Math.abs(Date.parse(answered.status?.processedTimestamp ?? '') - Date.now()) < 60_000)
  })

  it('deletes status requests a minute after the answer', async () => {
    const requests = client.resource(ServerStatusRequestKind, namespace)
    const processedTimestamp = new Date(Date.now() - 61_000).toISOString().replace(/\.\d+/, '')
    const status = { phase: 'Processed', processedTimestamp } as const
    await requests.create({ ...request({ name: 'old' }), status })
    const gone = () =>
      requests.get('old').then(
        () => false,
        error => isNotFound(error),
      )
    await waitUntil(gone, { timeoutMs: 120_000, failure: () => new Error('still there') })
  })

  for (const seed of rotatingSeeds({ name: 'killed-server', count: 2 })) {
    it(`sees after a kill what changed meanwhile (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const name = `kill-${seed}`
      await locations.create(name, { ...onFolder('missing'), validationFrequency: '1s' })
      await locations.unavailable(name, 'the bucket "missing"')
      await sleep(seededRandom(seed).integer(0, 1_500))
      await server?.kill()
      await locations.patch(name, { objectStorage: { bucket: 'bucket' }, validationFrequency: '0s' })
      server = await start()
      await locations.available(name)
    })
  }

  it('stops without waiting for a store that hangs', async () => {
    const hanging = createServer(() => undefined)
    after(() => {
      hanging.closeAllConnections()
      hanging.close()
    })
    await new Promise<void>(resolve => hanging.listen(0, '127.0.0.1', resolve))
    const asked = once(hanging, 'request')
    const s3Url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
    const config = { s3Url, region: 'us-east-1', s3ForcePathStyle: 'true' }
    const cloud = '[default]\naws_access_key_id = id\naws_secret_access_key = secret\n'
    const secret = [
      'create',
      'secret',
      'generic',
      'hanging',
      `--from-literal=cloud=${cloud}`,
      '-n',
      namespace,
    ]
    await given.cluster.kubectl(secret)
    const credential = { name: 'hanging', key: 'cloud' }
    await locations.create('hanging', {
      provider: 'aws',
      objectStorage: { bucket: 'bucket' },
      config,
      credential,
    })
    await asked
    assert.equal(await server?.stop(), 0)
    await locations.delete('hanging')
    server = await start()
  })

  it('takes turns through a lease', async () => {
    await server?.stop()
    const first = await start({ leaderElection: true })
    await first.stop()
    server = await start({ leaderElection: true })
    await locations.patch('newest', { objectStorage: { bucket: 'elsewhere' } })
    await locations.unavailable('newest', '"elsewhere"')
  })

  function request(metadata: { name?: string; generateName?: string }): ServerStatusRequest {
    return {
      apiVersion: 'velero.io/v1',
      kind: 'ServerStatusRequest',
      metadata: { ...metadata, namespace },
      spec: {},
    }
  }
})
