import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PodVolumeRestore } from '@lateen/api'
import { type LegacyRestorePorts, restoreVolume } from './restore-volume.ts'

const object: PodVolumeRestore = {
  apiVersion: 'velero.io/v1',
  kind: 'PodVolumeRestore',
  metadata: { name: 'one' },
  spec: {
    pod: { namespace: 'shop', name: 'web', uid: 'u-1' },
    volume: 'data',
    backupStorageLocation: 'default',
    repoIdentifier: '',
    snapshotID: '238d9bad',
    sourceNamespace: 'shop',
  },
}

describe("a volume in restic's format", () => {
  const run = { signal: new AbortController().signal, onProgress() {} }

  it('is not restored where there is no restic, and that is said', async () => {
    const ports = { restic: undefined } as LegacyRestorePorts
    await assert.rejects(restoreVolume(object, undefined, { ...ports, ...run }), {
      code: 'RESTIC_MISSING',
      message: /no restic program here\. Use an image of the node agent that has restic/,
    })
  })

  it('is not restored into a pod that has taken the place of its own', async () => {
    const ports = { restic: { binary: '/restic', env: {} }, podsFolder: '/nowhere' } as LegacyRestorePorts
    const other = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name: 'web', uid: 'u-2' } }
    for (const pod of [undefined, other]) {
      await assert.rejects(restoreVolume(object, pod, { ...ports, ...run }), {
        code: 'POD_NOT_FOUND',
        message: /the pod shop\/web is gone/,
      })
    }
  })
})
