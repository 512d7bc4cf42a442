import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseSnapshotClass } from './choose-snapshot-class.ts'
import type { VolumeSnapshotClass } from './snapshot-kinds.ts'

function named(
  name: string,
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> } = {},
): VolumeSnapshotClass {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name, ...metadata },
    driver: 'd',
    deletionPolicy: 'Delete',
  }
}

describe('a class that came with a backup of another cluster', () => {
  const synced = named('a', {
    labels: { 'velero.io/csi-volumesnapshot-class': 'true' },
    annotations: { 'lateen.dev/synced': 'true' },
  })
  const chosen = (classes: VolumeSnapshotClass[], claim?: Record<string, string>) =>
    chooseSnapshotClass({ driver: 'd', classes, claim, backup: undefined }).metadata.name

  it('does not take the place of one that the cluster has', () => {
    assert.equal(chosen([synced, named('b')]), 'b')
  })

  it('is chosen where the driver has no other, or a claim names it', () => {
    assert.equal(chosen([synced]), 'a')
    assert.equal(chosen([synced, named('b')], { 'velero.io/csi-volumesnapshot-class': 'a' }), 'a')
  })
})
