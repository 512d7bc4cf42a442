import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PodVolumeBackup, Restore } from '@lateen/api'
import { type KubeClient, silentLogger, systemClock } from '@lateen/kube'
import { hasData, PodVolumeRestoresOf } from './pod-volume-restores.ts'

const { signal } = new AbortController()

const podVolumeBackup: PodVolumeBackup = {
  apiVersion: 'velero.io/v1',
  kind: 'PodVolumeBackup',
  metadata: { name: 'first-data' },
  spec: {
    ...{ backupStorageLocation: 'default', node: 'n', repoIdentifier: '', uploaderType: 'kopia' },
    ...{ pod: { kind: 'Pod', namespace: 'shop', name: 'web' }, volume: 'data' },
  },
  status: { phase: 'Completed', snapshotID: 's' },
}

describe('The restores of pod volumes', () => {
  it('fail at once for a pod that does not wait for them, and not after hours', async () => {
    const restores = new PodVolumeRestoresOf({
      // Nothing may be asked of the cluster.
      ...{ client: {} as KubeClient, clock: systemClock, log: silentLogger, namespace: 'velero' },
      restore: { metadata: { name: 'again', uid: 'u' }, spec: {} } as unknown as Restore,
      ...{ timeoutMs: 14_400_000, resourceTimeoutMs: 600_000 },
    })
    const spec = { volumes: [{ name: 'data' }], initContainers: [{ name: 'own' }] }
    const metadata = { namespace: 'shop', name: 'web', uid: 'p' }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec }
    const request = { pod, sourceNamespace: 'shop', location: 'default' }
    await assert.rejects(
      restores.begin({ ...request, podVolumeBackups: [podVolumeBackup] }, signal),
      /pods\/shop\/web are not restored: .*restore-wait/,
    )
    await restores.begin({ ...request, podVolumeBackups: [] }, signal)
    assert.deepEqual(await restores.finish(signal), { errors: [], volumeInfo: [] })
  })

  it('are none for the volume in which a pod remembers an earlier one, which no pod waits for', () => {
    const name = 'restore-wait-state'
    const spec = { volumes: [{ name: 'data' }, { name, emptyDir: {} }] }
    const has = hasData({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec })
    assert.equal(has(podVolumeBackup), true)
    assert.equal(has({ ...podVolumeBackup, spec: { ...podVolumeBackup.spec, volume: name } }), false)
  })
})
