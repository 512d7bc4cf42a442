import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { VolumeSnapshotClass } from '../../csi/snapshot-kinds.ts'
import { mergeClasses } from './store-classes.ts'

function named(name: string, driver: string): VolumeSnapshotClass {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name },
    driver,
    deletionPolicy: 'Delete',
  }
}

describe('the file of the classes of a backup', () => {
  it('keeps those of an earlier attempt, and has each once', () => {
    assert.deepEqual(
      mergeClasses([named('b', 'old'), named('c', 'x')], [named('a', 'x'), named('b', 'new')]),
      [named('a', 'x'), named('b', 'new'), named('c', 'x')],
    )
  })
})
