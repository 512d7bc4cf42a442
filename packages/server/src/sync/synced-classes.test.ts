import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { classesIn } from './synced-classes.ts'

const stored = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotClass',
  metadata: {
    name: 'fast',
    uid: 'elsewhere',
    resourceVersion: '7',
    labels: { 'velero.io/csi-volumesnapshot-class': 'true' },
    annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true', note: 'ours' },
  },
  driver: 'disks.example.com',
  deletionPolicy: 'Delete',
  parameters: { tier: 'cold' },
}

describe('the classes in the file of a backup', () => {
  it('come without what they were in another cluster, and are no defaults here', () => {
    assert.deepEqual(classesIn([stored]), {
      classes: [
        {
          apiVersion: 'snapshot.storage.k8s.io/v1',
          kind: 'VolumeSnapshotClass',
          metadata: {
            name: 'fast',
            labels: { 'velero.io/csi-volumesnapshot-class': 'true' },
            annotations: { note: 'ours', 'lateen.dev/synced': 'true' },
          },
          driver: 'disks.example.com',
          deletionPolicy: 'Delete',
          parameters: { tier: 'cold' },
        },
      ],
      problems: [],
    })
  })

  it('are none when there is no file', () => {
    assert.deepEqual(classesIn(undefined), { classes: [], problems: [] })
    assert.deepEqual(classesIn(null), { classes: [], problems: [] })
  })

  it('are named when they are no classes, beside those that are', () => {
    const found = classesIn([null, stored, { ...stored, driver: '' }, { ...stored, deletionPolicy: 'Maybe' }])
    assert.deepEqual(
      found.classes.map(({ metadata }) => metadata.name),
      ['fast'],
    )
    assert.deepEqual(
      found.problems.map(problem => /^number (\d+) of its VolumeSnapshotClasses is none$/.exec(problem)?.[1]),
      ['1', '3', '4'],
    )
    assert.equal(classesIn({}).problems.length, 1)
  })
})
