import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseGroupSnapshotClass } from './choose-group-snapshot-class.ts'
import { CsiError } from './csi-error.ts'
import type { VolumeGroupSnapshotClass } from './group-snapshot-kinds.ts'

const driver = 'disk.example.com'

function groupClass(
  name: string,
  options: { driver?: string; marked?: string } = {},
): VolumeGroupSnapshotClass {
  const { driver: of = driver, marked } = options
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name, ...(marked && { labels: { 'velero.io/csi-volumegroupsnapshot-class': marked } }) },
    driver: of,
    deletionPolicy: 'Delete',
  }
}

const marked = groupClass('marked', { marked: 'true' })
const none = { claim: undefined, backup: undefined }

describe('the class of a group snapshot', () => {
  it('is that which the claim names, before that of the backup, before the one with the label', () => {
    const claim = { 'velero.io/csi-volume-group-snapshot-class': 'of-claim' }
    const backup = { [`velero.io/csi-volumegroupsnapshot-class_${driver}`]: 'of-backup' }
    const classes = [marked]
    assert.equal(chooseGroupSnapshotClass({ driver, classes, claim, backup }), 'of-claim')
    assert.equal(chooseGroupSnapshotClass({ driver, classes, claim: {}, backup }), 'of-backup')
    assert.equal(chooseGroupSnapshotClass({ driver, classes, claim: {}, backup: {} }), 'marked')
  })

  it('is not that of another driver, nor one whose label says something else', () => {
    const classes = [
      groupClass('other', { driver: 'other.example.com', marked: 'true' }),
      groupClass('unmarked'),
      groupClass('refused', { marked: 'false' }),
    ]
    assert.throws(
      () => chooseGroupSnapshotClass({ driver, classes, ...none }),
      (error: unknown) => error instanceof CsiError && error.code === 'NO_SNAPSHOT_CLASS',
    )
  })

  it('is not guessed among several', () => {
    const classes = [marked, groupClass('second', { marked: 'true' })]
    assert.throws(
      () => chooseGroupSnapshotClass({ driver, classes, ...none }),
      (error: unknown) =>
        error instanceof CsiError &&
        error.code === 'SEVERAL_SNAPSHOT_CLASSES' &&
        error.message.includes('marked, second'),
    )
  })
})
