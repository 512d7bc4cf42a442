import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SkippedVolumes } from './skipped-volumes.ts'
import { skippedVolumeInfos, storedVolumeOf } from './volume-info.ts'

describe('skipped volumes', () => {
  it('have one reason for each way, the last one given', () => {
    const skipped = new SkippedVolumes()
    skipped.skip('b', 'volumeSnapshot', 'first')
    skipped.skip('b', 'volumeSnapshot', 'second')
    skipped.skip('b', 'podvolume', 'third')
    skipped.skip('a', 'any', 'label')
    skipped.skip('', 'any', 'a claim without a volume')
    assert.deepEqual(skipped.list(), [
      { name: 'a', reasons: [{ approach: 'any', reason: 'label' }] },
      {
        name: 'b',
        reasons: [
          { approach: 'podvolume', reason: 'third' },
          { approach: 'volumeSnapshot', reason: 'second' },
        ],
      },
    ])
  })

  it('are none once one way has taken them, also for reasons that come later', () => {
    const skipped = new SkippedVolumes()
    skipped.skip('a', 'podvolume', 'no')
    skipped.take('a')
    skipped.skip('a', 'volumeSnapshot', 'no')
    assert.deepEqual(skipped.list(), [])
  })

  it("are written as Velero's volume info has them", () => {
    const skipped = new SkippedVolumes()
    skipped.skip('pv-1', 'podvolume', 'x')
    skipped.skip('pv-1', 'volumeSnapshot', 'y')
    skipped.skip('not-stored', 'any', 'z')
    const volume = storedVolumeOf({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv-1', labels: { a: 'b' } },
      spec: { claimRef: { namespace: 'shop', name: 'data' }, persistentVolumeReclaimPolicy: 'Retain' },
    })
    assert.deepEqual(skippedVolumeInfos(skipped.list(), new Map([['pv-1', volume]])), [
      {
        pvcName: 'data',
        pvcNamespace: 'shop',
        pvName: 'pv-1',
        snapshotDataMoved: false,
        preserveLocalSnapshot: false,
        skipped: true,
        skippedReason: 'podvolume: x;volumeSnapshot: y;',
        pvInfo: { reclaimPolicy: 'Retain', labels: { a: 'b' } },
      },
    ])
  })
})
