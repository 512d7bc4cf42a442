import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PodVolumeBackup, PodVolumeRestore } from '@lateen/api'
import {
  observePodVolumeBackups,
  observePodVolumeRestores,
  registerVolumeMoveMetrics,
} from './observe-pod-volumes.ts'
import { registerPodVolumeMetrics } from './pod-volume-metrics.ts'
import { createMetricsRegistry } from './registry.ts'

const node = 'worker'

function observed() {
  const registry = createMetricsRegistry()
  const options = {
    velero: registerPodVolumeMetrics(registry),
    own: registerVolumeMoveMetrics(registry),
    node,
  }
  return {
    backups: observePodVolumeBackups(options),
    restores: observePodVolumeRestores(options),
    /** Samples of families, without buckets. */
    samples: () =>
      registry
        .render()
        .split('\n')
        .filter(line => /^(podVolume|lateen_pod)/.test(line) && !line.includes('_bucket')),
  }
}

function backup(status: NonNullable<PodVolumeBackup['status']>, on = node): PodVolumeBackup {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'PodVolumeBackup',
    metadata: {
      name: 'nightly-x',
      namespace: 'velero',
      ownerReferences: [{ apiVersion: 'velero.io/v1', kind: 'Backup', name: 'nightly', uid: 'u' }],
    },
    spec: {
      node: on,
      pod: { namespace: 'shop', name: 'db' },
      volume: 'data',
      backupStorageLocation: 'default',
      repoIdentifier: '',
      uploaderType: 'kopia',
    },
    status,
  }
}

const started = '2026-01-01T00:00:00Z'
const completed = {
  phase: 'Completed',
  startTimestamp: started,
  completionTimestamp: '2026-01-01T00:00:07Z',
  progress: { totalBytes: 4096, bytesDone: 4096 },
} as const

describe('backups of volumes on a node', () => {
  it('are counted when they begin and when they are done, with the time they took', () => {
    const { backups, samples } = observed()
    const moving = backup({ phase: 'InProgress', startTimestamp: started })
    backups({ type: 'updated', previous: backup({ phase: 'Prepared' }), object: moving })
    backups({ type: 'updated', previous: moving, object: moving })
    backups({ type: 'updated', previous: moving, object: backup(completed) })
    const labels =
      '{node="worker",operation="nightly-x-default-shop-kopia-backup",backupName="velero/nightly",pod_volume_backup="nightly-x"}'
    assert.deepEqual(
      new Set(samples()),
      new Set([
        'podVolume_pod_volume_backup_enqueue_count{node="worker"} 1',
        'podVolume_pod_volume_backup_dequeue_count{node="worker"} 1',
        `podVolume_pod_volume_operation_latency_seconds_sum${labels} 7`,
        `podVolume_pod_volume_operation_latency_seconds_count${labels} 1`,
        `podVolume_pod_volume_operation_latency_seconds_gauge${labels} 7`,
        'lateen_pod_volume_moves_total{node="worker",work="backup",result="Completed"} 1',
        'lateen_pod_volume_moved_bytes_total{node="worker",work="backup"} 4096',
      ]),
    )
  })

  it('have no series of their own after they are deleted', () => {
    const { backups, samples } = observed()
    backups({ type: 'updated', previous: backup({ phase: 'Prepared' }), object: backup(completed) })
    backups({ type: 'deleted', object: backup(completed) })
    assert.equal(samples().filter(line => line.includes('nightly')).length, 0)
    assert.equal(samples().filter(line => line.includes('enqueue_count')).length, 1)
  })

  it('that fail are told apart', () => {
    const { backups, samples } = observed()
    backups({
      type: 'updated',
      previous: backup({ phase: 'InProgress' }),
      object: backup({ ...completed, phase: 'Failed' }),
    })
    assert.deepEqual(samples(), [
      'lateen_pod_volume_moves_total{node="worker",work="backup",result="Failed"} 1',
    ])
  })

  it('on other nodes, and what was there before, are not counted', () => {
    const { backups, samples } = observed()
    backups({
      type: 'updated',
      previous: backup({ phase: 'Prepared' }, 'other'),
      object: backup(completed, 'other'),
    })
    backups({ type: 'added', object: backup(completed) })
    assert.deepEqual(samples(), [])
  })
})

describe('restores of volumes on a node', () => {
  it('are counted when they end', () => {
    const { restores, samples } = observed()
    const restore = (status: NonNullable<PodVolumeRestore['status']>): PodVolumeRestore => ({
      apiVersion: 'velero.io/v1',
      kind: 'PodVolumeRestore',
      metadata: { name: 'r', namespace: 'velero' },
      spec: {
        pod: { namespace: 'shop', name: 'db' },
        volume: 'data',
        backupStorageLocation: 'default',
        repoIdentifier: '',
        snapshotID: 's',
        sourceNamespace: 'shop',
      },
      status,
    })
    restores({
      type: 'updated',
      previous: restore({ phase: 'InProgress', node }),
      object: restore({ ...completed, node }),
    })
    assert.deepEqual(samples(), [
      'lateen_pod_volume_moves_total{node="worker",work="restore",result="Completed"} 1',
      'lateen_pod_volume_moved_bytes_total{node="worker",work="restore"} 4096',
    ])
  })
})
