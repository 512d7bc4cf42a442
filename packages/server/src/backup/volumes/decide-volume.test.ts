import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decidePodVolume, decideSnapshot, type PodVolume, type VolumeSettings } from './decide-volume.ts'

const settings: VolumeSettings = {
  defaultVolumesToFsBackup: false,
  snapshotVolumes: undefined,
  claimsExcluded: false,
}
const optOut = { ...settings, defaultVolumesToFsBackup: true }
const claimed: PodVolume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } }

function takes(
  facts: {
    volume?: PodVolume
    annotations?: Record<string, string>
    policy?: 'skip' | 'fs-backup' | 'snapshot'
  },
  by: VolumeSettings,
): boolean {
  const { volume = claimed, annotations, policy } = facts
  return decidePodVolume({ volume, annotations, policy }, by).take
}

describe('the decision about a volume of a pod', () => {
  it('is yes only for volumes that an annotation names, where that is how it is done', () => {
    const annotations = { 'backup.velero.io/backup-volumes': 'logs,data' }
    assert.equal(takes({}, settings), false)
    assert.equal(takes({ annotations }, settings), true)
    assert.equal(takes({ annotations, volume: { name: 'dat', emptyDir: {} } }, settings), false)
  })

  it('is yes unless an annotation names the volume, where volumes are taken by default', () => {
    assert.equal(takes({}, optOut), true)
    assert.equal(
      takes({ annotations: { 'backup.velero.io/backup-volumes-excludes': 'data' } }, optOut),
      false,
    )
  })

  it('is no for volumes that cannot be read or hold only what the API has', () => {
    for (const source of ['hostPath', 'secret', 'configMap', 'projected', 'downwardAPI']) {
      const volume = { name: 'v', [source]: {} }
      assert.equal(takes({ volume, policy: 'fs-backup' }, optOut), false, source)
    }
    assert.equal(takes({ volume: { name: 'default-token-x', emptyDir: {} } }, optOut), false)
  })

  it('is no for the volume in which a restored pod remembers that it has waited', () => {
    const volume = { name: 'restore-wait-state', emptyDir: {} }
    const annotations = { 'backup.velero.io/backup-volumes': volume.name }
    assert.equal(takes({ volume, annotations }, settings), false)
    assert.equal(takes({ volume }, optOut), false)
    assert.equal(takes({ volume, policy: 'fs-backup' }, settings), false)
    assert.equal(takes({ volume: { ...claimed, name: volume.name } }, optOut), true)
  })

  it('is no for claims when the backup has none', () => {
    const without = { ...optOut, claimsExcluded: true }
    assert.equal(takes({}, without), false)
    assert.equal(takes({ volume: { name: 'v', emptyDir: {} } }, without), true)
  })

  it('is the policy, whatever annotations say', () => {
    const annotations = { 'backup.velero.io/backup-volumes': 'data' }
    assert.equal(takes({ annotations, policy: 'snapshot' }, settings), false)
    assert.equal(takes({ annotations, policy: 'skip' }, settings), false)
    assert.equal(takes({ policy: 'fs-backup' }, settings), true)
  })
})

describe('the decision about a snapshot', () => {
  const decide = (facts: Partial<Parameters<typeof decideSnapshot>[0]>, snapshotVolumes?: boolean) =>
    decideSnapshot({ policy: undefined, takenThroughPod: undefined, ...facts }, { snapshotVolumes }).take

  it('is yes unless snapshots are switched off or the data are taken otherwise', () => {
    assert.equal(decide({}), true)
    assert.equal(decide({}, true), true)
    assert.equal(decide({}, false), false)
    assert.equal(decide({ takenThroughPod: 'web' }), false)
  })

  it('is the policy, even where snapshots are switched off', () => {
    assert.equal(decide({ policy: 'snapshot', takenThroughPod: 'web' }, false), true)
    for (const policy of ['skip', 'fs-backup', 'custom'] as const)
      assert.equal(decide({ policy }, true), false)
  })
})
