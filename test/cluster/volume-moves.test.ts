import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { labelNames, type PodVolumeBackup, PodVolumeBackupKind } from '@lateen/api'
import {
  createKubeClient,
  type KubeClient,
  loadKubeConfig,
  silentLogger,
  systemClock,
  watchUntil,
} from '@lateen/kube'
import { MovesOf } from '../../packages/server/src/volumes/moves-of.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type ConfigMap, ConfigMapKind } from './core-kinds.ts'
import { prepareCluster } from './storage-location-harness.ts'

const given = await givenCluster()
const namespace = 'volume-moves'

describe('what is waited for in a cluster', { skip: given.skip, concurrency: false }, () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  let client: KubeClient
  const ports = () => ({ client, clock: systemClock, log: silentLogger, namespace })

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await prepareCluster(given.cluster, namespace)
  })
  after(async () => {
    await client[Symbol.asyncDispose]()
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  const never = new AbortController().signal
  const configMap = (name: string): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { waited: 'for' } },
  })

  it('is there at once, or comes while a watch looks on', async () => {
    const configMaps = client.resource(ConfigMapKind, namespace)
    const options = { ...ports(), labelSelector: 'waited=for', signal: never }
    const names = (count: number) => (objects: readonly ConfigMap[]) =>
      objects.length === count ? objects.map(({ metadata }) => metadata.name) : undefined
    assert.deepEqual(await watchUntil(ConfigMapKind, options, names(0)), [])
    const two = watchUntil(ConfigMapKind, options, names(2))
    await configMaps.create(configMap('one'))
    await configMaps.create(configMap('two'))
    assert.deepEqual(new Set(await two), new Set(['one', 'two']))
    const gone = watchUntil(ConfigMapKind, options, names(1))
    await configMaps.delete('one')
    assert.deepEqual(await gone, ['two'])
  })

  it('is waited for until somebody gives up, or a decision fails', async () => {
    const givenUp = new AbortController()
    const waiting = watchUntil(ConfigMapKind, { ...ports(), signal: givenUp.signal }, () => undefined)
    givenUp.abort(new Error('enough'))
    await assert.rejects(waiting, { message: 'enough' })
    const deciding = watchUntil(ConfigMapKind, { ...ports(), signal: never }, () => {
      throw new Error('no such thing')
    })
    await assert.rejects(deciding, { message: 'no such thing' })
  })

  const move = (name: string, uid: string): PodVolumeBackup => ({
    apiVersion: 'velero.io/v1',
    kind: 'PodVolumeBackup',
    metadata: { name, namespace, labels: { [labelNames.backupUid]: uid } },
    spec: {
      node: 'n',
      pod: { namespace: 'p', name },
      volume: 'v',
      backupStorageLocation: 'default',
      repoIdentifier: '',
      uploaderType: 'kopia',
    },
  })
  const movesOf = (uid: string) =>
    new MovesOf<PodVolumeBackup>(PodVolumeBackupKind, { label: 'backupUid', uid }, ports())
  const finish = (name: string) =>
    client
      .resource(PodVolumeBackupKind, namespace)
      .patch(name, { type: 'merge', body: { status: { phase: 'Completed' } } })
  const later = () => systemClock.now() + 60_000

  it('are moves of volumes: they end, and one that is begun meanwhile is not taken for a deleted one', async () => {
    const moves = movesOf('u-1')
    await moves.begin(move('first', 'u-1'), never)
    const waiting = moves.ended({ deadline: later() }, never)
    await moves.begin(move('second', 'u-1'), never)
    await finish('first')
    await finish('second')
    assert.equal(await waiting, true)
    assert.deepEqual(
      moves.list().map(({ status }) => status?.phase),
      ['Completed', 'Completed'],
    )
  })

  it('are moves of volumes: one that is deleted has failed', async () => {
    const moves = movesOf('u-2')
    await moves.begin(move('third', 'u-2'), never)
    await moves.begin(move('fourth', 'u-2'), never)
    // Before anyone waits, and while somebody does.
    await client.resource(PodVolumeBackupKind, namespace).delete('third')
    const waiting = moves.ended({ deadline: later() }, never)
    await client.resource(PodVolumeBackupKind, namespace).delete('fourth')
    assert.equal(await waiting, true)
    assert.deepEqual(
      moves.list().map(({ status }) => status?.phase),
      ['Failed', 'Failed'],
    )
  })

  it('are moves of volumes, and no longer than until the deadline', async () => {
    const moves = movesOf('u-3')
    await moves.begin(move('fifth', 'u-3'), never)
    assert.equal(await moves.ended({ deadline: systemClock.now() + 200 }, never), false)
    const chosen = ({ spec }: PodVolumeBackup) => spec.pod.name !== 'fifth'
    assert.equal(await moves.ended({ deadline: later(), chosen }, never), true)
  })
})
