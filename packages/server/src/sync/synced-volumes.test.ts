import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { syncedVolume, volumesIn } from './synced-volumes.ts'

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'one', namespace: 'velero', uid: 'uid-here' },
  spec: {},
}

const owner = { apiVersion: 'velero.io/v1', kind: 'Backup', name: 'one', uid: 'uid-there', controller: true }

function volume(name: string, phase: string, metadata: object = {}) {
  return {
    metadata: { name, namespace: 'elsewhere', ...metadata },
    spec: {
      node: 'n',
      pod: { kind: 'Pod', namespace: 'a', name: 'p' },
      volume: 'v',
      backupStorageLocation: 'their-name',
      repoIdentifier: 'r',
    },
    status: { phase, snapshotID: 's' },
  }
}

describe('the PodVolumeBackups of a backup that is found in a bucket', () => {
  it('may be missing', () => {
    assert.deepEqual(volumesIn(undefined), { volumes: [], problems: [] })
    assert.deepEqual(volumesIn(null), { volumes: [], problems: [] })
  })

  it('are read as Velero writes them, without kind and version', () => {
    const { volumes, problems } = volumesIn([volume('a', 'Completed')])
    assert.deepEqual(problems, [])
    assert.deepEqual(
      volumes.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name]),
      [['velero.io/v1', 'PodVolumeBackup', 'a']],
    )
  })

  it('are left out when they have not ended, because a node agent would begin with them', () => {
    const phases = [
      'New',
      'Accepted',
      'Prepared',
      'InProgress',
      'Canceling',
      'Completed',
      'Failed',
      'Canceled',
    ]
    const { volumes } = volumesIn(phases.map(phase => volume(phase.toLowerCase(), phase)))
    assert.deepEqual(
      volumes.map(({ status }) => status?.phase),
      ['Completed', 'Failed', 'Canceled'],
    )
  })

  it('come without those that are damaged, which are named', () => {
    const { volumes, problems } = volumesIn([
      volume('a', 'Completed'),
      { metadata: {}, spec: { node: 7 } },
      'b',
    ])
    assert.equal(volumes.length, 1)
    assert.equal(problems.length, 2)
    assert.match(problems[0] ?? '', /number 2 .*spec\.node/)
    assert.equal(volumesIn({ not: 'a list' }).problems.length, 1)
  })

  it('belong to the backup of this cluster', () => {
    const labels = { 'velero.io/backup-name': 'one', 'velero.io/backup-uid': 'uid-there' }
    const other = { ...owner, kind: 'ConfigMap' }
    const [read] = volumesIn([
      volume('a', 'Completed', {
        labels,
        ownerReferences: [owner, other],
        uid: 'u',
        resourceVersion: '9',
        finalizers: ['velero.io/pod-volume-finalizer'],
      }),
    ]).volumes
    assert.ok(read)
    const { metadata, spec, status } = syncedVolume(read, backup, 'our-name')
    assert.deepEqual(metadata, {
      name: 'a',
      namespace: 'velero',
      labels: { 'velero.io/backup-name': 'one', 'velero.io/backup-uid': 'uid-here' },
      ownerReferences: [{ ...owner, uid: 'uid-here' }],
    })
    assert.equal(spec.backupStorageLocation, 'our-name')
    assert.equal(status?.snapshotID, 's')
  })

  it('get no label that they did not have', () => {
    const [read] = volumesIn([volume('a', 'Completed')]).volumes
    assert.ok(read)
    assert.deepEqual(syncedVolume(read, backup, 'our-name').metadata.labels, {})
  })
})
