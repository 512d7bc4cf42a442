import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupResource } from '../../item/item.ts'
import { isCompleted, isMirrorPod, isSnapshotOfBackup } from './never-restored.ts'

const pods = groupResource({ group: '', plural: 'pods' })
const jobs = groupResource({ group: 'batch', plural: 'jobs' })
const object = (status: object, annotations: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x', annotations },
  status,
})

describe('What is never restored', () => {
  it('has completed: pods by phase, jobs by time', () => {
    for (const phase of ['Succeeded', 'Failed']) assert.ok(isCompleted(pods, object({ phase })), phase)
    assert.ok(!isCompleted(pods, object({ phase: 'Running' })))
    assert.ok(isCompleted(jobs, object({ completionTime: '2024-01-01T00:00:00Z' })))
    assert.ok(!isCompleted(jobs, object({ failed: 1 })))
    assert.ok(!isCompleted(groupResource({ group: 'apps', plural: 'x' }), object({ phase: 'Failed' })))
  })

  it('is a mirror of a file on a node', () => {
    const mirror = object({}, { 'kubernetes.io/config.mirror': 'hash' })
    assert.ok(isMirrorPod(pods, mirror))
    assert.ok(!isMirrorPod(jobs, mirror))
    assert.ok(!isMirrorPod(pods, object({})))
  })

  it('stands for a snapshot of the backup, where nobody restores from those', () => {
    const group = 'snapshot.storage.k8s.io'
    const snapshots = groupResource({ group, plural: 'volumesnapshots' })
    const contents = groupResource({ group, plural: 'volumesnapshotcontents' })
    const restore = {
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: {},
      spec: { backupName: 'nightly' },
    }
    const labelled = (backup: string) => ({
      ...object({}),
      metadata: { name: 'x', labels: { 'velero.io/backup-name': backup } },
    })
    assert.ok(isSnapshotOfBackup(snapshots, labelled('nightly'), restore))
    assert.ok(!isSnapshotOfBackup(snapshots, labelled('other'), restore))
    assert.ok(!isSnapshotOfBackup(snapshots, object({}), restore), 'one of a user')
    assert.ok(isSnapshotOfBackup(contents, object({}), restore))
    assert.ok(!isSnapshotOfBackup(pods, labelled('nightly'), restore))
  })
})
