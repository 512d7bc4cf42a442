import { type DataDownload, type DataUpload, DataUploadKind, isTerminal } from '@lateen/api'
import type { ObjectHandler } from '@lateen/kube'
import { counter } from './family.ts'
import type { PodVolumeMetrics } from './pod-volume-metrics.ts'
import type { MetricsRegistry } from './registry.ts'

type DataMove = DataUpload | DataDownload

/** What Velero does not count: bytes. */
export type DataMoveMetrics = ReturnType<typeof registerDataMoveMetrics>

/** Throws when the name is taken. */
export function registerDataMoveMetrics(registry: MetricsRegistry) {
  return {
    bytes: registry.counter(
      counter('lateen_data_moved_bytes_total', 'Size of the snapshots that were moved', ['node', 'work']),
    ),
  }
}

export interface ObserveDataMovesOptions {
  velero: PodVolumeMetrics
  own: DataMoveMetrics
  node: string
}

/** Counts snapshots whose contents were moved into repositories on a node, when they end. */
export function observeDataUploads(options: ObserveDataMovesOptions): ObjectHandler<DataUpload> {
  const { uploadSuccesses, uploadFailures, uploadCancels } = options.velero
  const counters = { Completed: uploadSuccesses, Failed: uploadFailures, Canceled: uploadCancels }
  return event => {
    if (event.type === 'updated') count('upload', [event.previous, event.object], { ...options, counters })
  }
}

/** Counts volumes that were filled from repositories on a node, when they end. */
export function observeDataDownloads(options: ObserveDataMovesOptions): ObjectHandler<DataDownload> {
  const { downloadSuccesses, downloadFailures, downloadCancels } = options.velero
  const counters = { Completed: downloadSuccesses, Failed: downloadFailures, Canceled: downloadCancels }
  return event => {
    if (event.type === 'updated') count('download', [event.previous, event.object], { ...options, counters })
  }
}

type Counter = PodVolumeMetrics['uploadSuccesses']

function count(
  work: 'upload' | 'download',
  [before, { status }]: [DataMove, DataMove],
  { own, node, counters }: ObserveDataMovesOptions & { counters: Record<string, Counter> },
): void {
  // One that ends before it has begun is where it was accepted.
  if ((status?.node || status?.acceptedByNode) !== node) return
  const { phase = '' } = status ?? {}
  if (isTerminal(DataUploadKind, before.status?.phase) || !isTerminal(DataUploadKind, phase)) return
  counters[phase]?.add({ node })
  if (phase === 'Completed') own.bytes.add({ node, work }, status?.progress?.totalBytes ?? 0)
}
