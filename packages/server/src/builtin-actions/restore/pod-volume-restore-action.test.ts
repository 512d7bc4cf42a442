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

async function waitedFor(podVolumeBackups: readonly PodVolumeBackup[] | undefined): Promise<string[]> {
  const volumes = ['data', 'cache', 'config'].map(name => ({ name }))
  const item = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name: 'web' } },
    spec: { volumes, containers: [{ name: 'main' }] },
  }
  const restore = { metadata: { uid: 'u' }, spec: { backupName: 'first' } } as unknown as Restore
  const config = async () => new Map([['image', 'example.org/lateen:v1']])
  const action = podVolumeRestoreAction({ client, namespace: 'velero', config })
  const result = await action.execute({ item, itemFromBackup: item, restore, podVolumeBackups })
  interface Waiting {
    initContainers?: { name: string; volumeMounts: { name: string }[] }[]
  }
  const { initContainers = [] } = (result.item as unknown as { spec: Waiting }).spec
  return initContainers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name))
}

describe('A pod whose volumes are restored from files', () => {
  it('waits for them also when the PodVolumeBackups of its backup are gone from the cluster', async () => {
    const stored = [podVolumeBackup('data', 'Completed'), podVolumeBackup('cache', 'Completed')]
    assert.deepEqual(await waitedFor(stored), ['data', 'cache'])
  })

  it('does not wait for what the restore does not begin', async () => {
    assert.deepEqual(await waitedFor([podVolumeBackup('data', 'InProgress')]), [])
    assert.deepEqual(await waitedFor([podVolumeBackup('gone', 'Completed')]), [])
    assert.deepEqual(await waitedFor(undefined), [])
  })
})
