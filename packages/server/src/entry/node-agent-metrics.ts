import type { DataDownload, DataUpload, PodVolumeBackup, PodVolumeRestore } from '@lateen/api'
import type { Informer, Manager } from '@lateen/kube'
import {
  observeDataDownloads,
  observeDataUploads,
  registerDataMoveMetrics,
} from '../metrics/observe-data-moves.ts'
import {
  observePodVolumeBackups,
  observePodVolumeRestores,
  registerVolumeMoveMetrics,
} from '../metrics/observe-pod-volumes.ts'
import { beginNode, registerPodVolumeMetrics } from '../metrics/pod-volume-metrics.ts'
import { observeProcess } from '../metrics/process-metrics.ts'
import { createMetricsRegistry } from '../metrics/registry.ts'

export interface WatchMovesOptions {
  manager: Manager
  node: string
  backups: Informer<PodVolumeBackup>
  restores: Informer<PodVolumeRestore>
  uploads: Informer<DataUpload>
  downloads: Informer<DataDownload>
}

/** Looks on as volumes are moved on a node, and shows it at `/metrics`. Before the manager runs; disposing ends the measuring. */
export function watchMoves(options: WatchMovesOptions): Disposable {
  const { manager, node, backups, restores, uploads, downloads } = options
  const registry = createMetricsRegistry()
  const velero = registerPodVolumeMetrics(registry)
  const own = registerVolumeMoveMetrics(registry)
  beginNode(velero, node)
  backups.subscribe(observePodVolumeBackups({ velero, own, node }))
  restores.subscribe(observePodVolumeRestores({ velero, own, node }))
  const ofSnapshots = { velero, own: registerDataMoveMetrics(registry), node }
  uploads.subscribe(observeDataUploads(ofSnapshots))
  downloads.subscribe(observeDataDownloads(ofSnapshots))
  manager.addMetrics(() => registry.render())
  return observeProcess(registry)
}
