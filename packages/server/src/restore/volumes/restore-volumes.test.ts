import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PodVolumeBackup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { RestoreVolumes, type RestoreVolumesOptions } from './restore-volumes.ts'

/** Of the claim `data`, through the pod `web-a`. */
const podVolumeBackup = {
  metadata: { annotations: { 'velero.io/pvc-name': 'data' } },
  spec: { pod: { namespace: 'shop', name: 'web-a' }, volume: 'files' },
  status: { phase: 'Completed', snapshotID: 's' },
} as unknown as PodVolumeBackup

const pod = (name: string, claim: string): ActionItem => {
  const volumes = [
    { name: 'other', emptyDir: {} },
    { name: 'files', persistentVolumeClaim: { claimName: claim } },
  ]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'copy', name },
    spec: { volumes },
  } as ActionItem
}

function given({
  podVolumes = {},
  found = podVolumeBackup,
}: {
  podVolumes?: object
  found?: PodVolumeBackup
} = {}) {
  const backedUp = { volumeInfo: [], snapshots: [], csiSnapshots: [], podVolumeBackups: [found] }
  return new RestoreVolumes({ backedUp, volumes: { podVolumes } } as unknown as RestoreVolumesOptions)
}

describe('A claim that several pods use', () => {
  it('was filled under the eyes of all but one of them, and nobody was told', () => {
    const warning = given().sharedClaims(pod('web-b', 'data'), 'shop')
    assert.equal(warning?.code, 'VOLUME_SHARED')
    assert.match(warning?.message ?? '', /^pods\/copy\/web-b may start before .* data \(pod web-a\)/)
  })

  it('is nothing to tell of to the pod that waits for it, or of other claims, or where nothing is restored', () => {
    assert.equal(given().sharedClaims(pod('web-a', 'data'), 'shop'), undefined)
    assert.equal(given().sharedClaims(pod('web-b', 'own'), 'shop'), undefined)
    assert.equal(given().sharedClaims(pod('web-b', 'data'), 'elsewhere'), undefined)
    const failed = { ...podVolumeBackup, status: { phase: 'Failed' } } as PodVolumeBackup
    assert.equal(given({ found: failed }).sharedClaims(pod('web-b', 'data'), 'shop'), undefined)
    const nobody = given({ podVolumes: { unavailable: 'there is no node agent' } })
    assert.equal(nobody.sharedClaims(pod('web-b', 'data'), 'shop'), undefined)
  })
})
