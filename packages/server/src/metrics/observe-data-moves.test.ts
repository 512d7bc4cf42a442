import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataDownload, DataUpload } from '@lateen/api'
import { observeDataDownloads, observeDataUploads, registerDataMoveMetrics } from './observe-data-moves.ts'
import { registerPodVolumeMetrics } from './pod-volume-metrics.ts'
import { createMetricsRegistry } from './registry.ts'

const node = 'worker'

function observed() {
  const registry = createMetricsRegistry()
  const options = { velero: registerPodVolumeMetrics(registry), own: registerDataMoveMetrics(registry), node }
  return {
    uploads: observeDataUploads(options),
    downloads: observeDataDownloads(options),
    samples: () =>
      registry
        .render()
        .split('\n')
        .filter(line => /^(podVolume_data|lateen_data)/.test(line)),
  }
}

function upload(status: NonNullable<DataUpload['status']>): DataUpload {
  return {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name: 'nightly-x', namespace: 'velero' },
    spec: {
      snapshotType: 'CSI',
      sourcePVC: 'data',
      sourceNamespace: 'shop',
      backupStorageLocation: 'default',
      operationTimeout: '10m0s',
    },
    status,
  }
}

function download(status: NonNullable<DataDownload['status']>): DataDownload {
  return {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataDownload',
    metadata: { name: 'back-x', namespace: 'velero' },
    spec: {
      targetVolume: { namespace: 'shop', pvc: 'data', pv: '' },
      backupStorageLocation: 'default',
      snapshotID: 's',
      sourceNamespace: 'shop',
      operationTimeout: '10m0s',
    },
    status,
  }
}

const progress = { totalBytes: 4096, bytesDone: 4096 }

describe('snapshots that are moved on a node', () => {
  it('are counted once each, by how they end, with their bytes', () => {
    const { uploads, downloads, samples } = observed()
    const done = upload({ phase: 'Completed', node, progress })
    uploads({ type: 'updated', previous: upload({ phase: 'InProgress', node }), object: done })
    uploads({ type: 'updated', previous: done, object: done })
    downloads({
      type: 'updated',
      previous: download({ phase: 'InProgress', node }),
      object: download({ phase: 'Failed', node }),
    })
    assert.deepEqual(
      new Set(samples()),
      new Set([
        'podVolume_data_upload_success_total{node="worker"} 1',
        'podVolume_data_download_failure_total{node="worker"} 1',
        'lateen_data_moved_bytes_total{node="worker",work="upload"} 4096',
      ]),
    )
  })

  it('are counted where they were accepted when they end before they have begun', () => {
    const { uploads, samples } = observed()
    uploads({
      type: 'updated',
      previous: upload({ phase: 'Accepted', acceptedByNode: node }),
      object: upload({ phase: 'Canceled', acceptedByNode: node }),
    })
    assert.deepEqual(samples(), ['podVolume_data_upload_cancel_total{node="worker"} 1'])
  })

  it('on other nodes, and what was there before, are not counted', () => {
    const { uploads, samples } = observed()
    const elsewhere = upload({ phase: 'Completed', node: 'other', acceptedByNode: node, progress })
    uploads({ type: 'updated', previous: upload({ phase: 'InProgress', node: 'other' }), object: elsewhere })
    uploads({ type: 'added', object: upload({ phase: 'Completed', node, progress }) })
    assert.deepEqual(samples(), [])
  })
})
