import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ClassFacts, chooseSnapshotClass } from './choose-snapshot-class.ts'
import type { VolumeSnapshotClass } from './snapshot-kinds.ts'

const driver = 'disk.example'
const isDefault = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' }
const labelled = { 'velero.io/csi-volumesnapshot-class': '' }

function snapshotClass(
  name: string,
  more: { driver?: string; labels?: Record<string, string>; annotations?: Record<string, string> } = {},
): VolumeSnapshotClass {
  const { labels = {}, annotations = {} } = more
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name, labels, annotations },
    driver: more.driver ?? driver,
    deletionPolicy: 'Delete',
  }
}

function choose(classes: VolumeSnapshotClass[], more: Partial<ClassFacts> = {}): string | undefined {
  return chooseSnapshotClass({ driver, classes, claim: undefined, backup: undefined, ...more }).metadata.name
}

describe('the class of a snapshot', () => {
  const foreign = snapshotClass('foreign', { driver: 'other.example', labels: labelled })
  const plain = snapshotClass('plain')
  const standard = snapshotClass('standard', { annotations: isDefault })
  const marked = snapshotClass('marked', { labels: labelled })
  const all = [foreign, plain, standard, marked]
  const claim = { 'velero.io/csi-volumesnapshot-class': 'plain' }
  const backup = { 'velero.io/csi-volumesnapshot-class_disk.example': 'standard' }

  it('is the one that the claim names, else that of the backup, else the marked one, the default, the only one', () => {
    assert.equal(choose(all, { claim, backup }), 'plain')
    assert.equal(choose(all, { backup }), 'standard')
    assert.equal(choose(all), 'marked')
    assert.equal(choose([foreign, plain, standard]), 'standard')
    assert.equal(choose([foreign, plain]), 'plain')
  })

  it('is named without regard to capitals, and not by a name that stands for no class of the driver', () => {
    assert.equal(choose(all, { claim: { 'velero.io/csi-volumesnapshot-class': 'PLAIN' } }), 'plain')
    assert.equal(
      choose(all, { claim: { 'velero.io/csi-volumesnapshot-class': 'foreign' }, backup }),
      'standard',
    )
    assert.equal(choose(all, { claim: { 'velero.io/csi-volumesnapshot-class': 'absent' } }), 'marked')
    assert.equal(choose(all, { driver: 'Disk.example', backup }), 'standard')
  })

  it('is the first by name of several that are marked', () => {
    assert.equal(
      choose([snapshotClass('b', { labels: labelled }), snapshotClass('a', { labels: labelled })]),
      'a',
    )
  })

  it('is not decided by two defaults, which are named', () => {
    const two = [
      snapshotClass('pollux', { annotations: isDefault }),
      snapshotClass('castor', { annotations: isDefault }),
    ]
    assert.throws(() => choose(two), {
      code: 'SEVERAL_SNAPSHOT_CLASSES',
      message: /disk\.example .*: castor, pollux\. Leave the annotation/,
    })
    assert.equal(choose([...two, marked]), 'marked')
    assert.equal(choose([...two, plain], { claim }), 'plain')
  })

  it('is missed with the driver, the classes there are and a remedy', () => {
    assert.throws(() => choose([foreign]), {
      code: 'NO_SNAPSHOT_CLASS',
      message:
        /no VolumeSnapshotClass for the CSI driver disk\.example; there are: foreign \(other\.example\)\. Create/,
    })
    assert.throws(() => choose([]), { message: /there are: none at all/ })
    assert.throws(() => choose([plain, snapshotClass('second')]), {
      code: 'NO_SNAPSHOT_CLASS',
      message: /several VolumeSnapshotClasses, of which none is marked: plain, second\. Give/,
    })
  })
})
