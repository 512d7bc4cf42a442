import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataMovePhase, PodVolumeBackup, Restore } from '@lateen/api'
import { type KubeClient, KubeError } from '@lateen/kube'
import { podVolumeRestoreAction } from './pod-volume-restore-action.ts'

const podVolumeBackup = (volume: string, phase: DataMovePhase): PodVolumeBackup => ({
  apiVersion: 'velero.io/v1',
  kind: 'PodVolumeBackup',
  metadata: { name: `first-${volume}` },
  spec: {
    ...{ backupStorageLocation: 'default', node: 'n', repoIdentifier: '', uploaderType: 'kopia', volume },
    pod: { kind: 'Pod', namespace: 'shop', name: 'web' },
  },
  status: { phase, ...(phase === 'Completed' && { snapshotID: 's' }) },
})

/** A cluster without a Deployment, and without PodVolumeBackups: asked for those, it would answer that there are none. */
const client = {
  resource: () => ({
    get: async () => {
      throw new KubeError('NotFound', { message: 'not found', retryable: false })
    },
    list: () => ({ toArray: async () => [] }),
  }),
} as unknown as KubeClient

interface RestoredSpec {
  volumes: { name: string }[]
  initContainers?: { name: string; args?: string[]; volumeMounts: { name: string; mountPath: string }[] }[]
}

const ownSpec = {
  volumes: ['data', 'cache', 'config'].map(name => ({ name })),
  containers: [{ name: 'main' }],
}

async function restored(
  podVolumeBackups: readonly PodVolumeBackup[] | undefined,
  { spec = ownSpec, uid = 'u' }: { spec?: object; uid?: string } = {},
): Promise<RestoredSpec> {
  const item = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name: 'web' } },
    spec,
  }
  const restore = { metadata: { uid }, spec: { backupName: 'first' } } as unknown as Restore
  const config = async () => new Map([['image', 'example.org/lateen:v1']])
  const action = podVolumeRestoreAction({ client, namespace: 'velero', config })
  const result = await action.execute({ item, itemFromBackup: item, restore, podVolumeBackups })
  return (result.item as unknown as { spec: RestoredSpec }).spec
}

async function waitedFor(podVolumeBackups: readonly PodVolumeBackup[] | undefined): Promise<string[]> {
  const { initContainers = [] } = await restored(podVolumeBackups)
  return initContainers
    .flatMap(({ volumeMounts }) => volumeMounts)
    .filter(({ mountPath }) => mountPath.startsWith('/restores/'))
    .map(({ name }) => name)
}

describe('A pod whose volumes are restored from files', () => {
  it('waits for them also when the PodVolumeBackups of its backup are gone from the cluster', async () => {
    const stored = [podVolumeBackup('data', 'Completed'), podVolumeBackup('cache', 'Completed')]
    assert.deepEqual(await waitedFor(stored), ['data', 'cache'])
  })

  it('has one container that waits, and one volume for it to remember that, however often it was backed up and restored', async () => {
    const first = await restored([podVolumeBackup('data', 'Completed')])
    const names = ['data', 'cache', 'config', 'restore-wait-state']
    assert.deepEqual(
      first.volumes.map(({ name }) => name),
      names,
    )
    // As a backup by Velero may have it.
    const backups = ['data', 'restore-wait-state'].map(volume => podVolumeBackup(volume, 'Completed'))
    const again = await restored(backups, { spec: first, uid: 'other' })
    assert.deepEqual(
      again.volumes.map(({ name }) => name),
      names,
    )
    const [wait, ...more] = again.initContainers ?? []
    assert.deepEqual([wait?.args, more], [['other'], []])
    assert.deepEqual(wait?.volumeMounts, first.initContainers?.[0]?.volumeMounts)
    assert.equal('initContainers' in (await restored([], { spec: first })), false)
  })

  it('does not wait for what the restore does not begin', async () => {
    assert.deepEqual(await waitedFor([podVolumeBackup('data', 'InProgress')]), [])
    assert.deepEqual(await waitedFor([podVolumeBackup('gone', 'Completed')]), [])
    assert.deepEqual(await waitedFor(undefined), [])
  })
})
