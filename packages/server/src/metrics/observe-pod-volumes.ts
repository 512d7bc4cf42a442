import { isTerminal, type PodVolumeBackup, PodVolumeBackupKind, type PodVolumeRestore } from '@lateen/api'
import type { ObjectHandler } from '@lateen/kube'
import { counter } from './family.ts'
import { secondsTaken } from './observe-backups.ts'
import type { PodVolumeMetrics } from './pod-volume-metrics.ts'
import type { MetricsRegistry } from './registry.ts'

type VolumeMove = PodVolumeBackup | PodVolumeRestore

/** What Velero does not count: restores, failures, bytes. */
export type VolumeMoveMetrics = ReturnType<typeof registerVolumeMoveMetrics>

/** Throws when one of the names is taken. */
export function registerVolumeMoveMetrics(registry: MetricsRegistry) {
  return {
    ended: registry.counter(
      counter(
        'lateen_pod_volume_moves_total',
        'Backups and restores of pod volumes that have ended on the node',
        ['node', 'work', 'result'],
      ),
    ),
    bytes: registry.counter(
      counter('lateen_pod_volume_moved_bytes_total', 'Size of the pod volumes that were moved', [
        'node',
        'work',
      ]),
    ),
  }
}

export interface ObserveMovesOptions {
  velero: PodVolumeMetrics
  own: VolumeMoveMetrics
  node: string
}

/** Counts what happens to the backups of volumes on a node, when and as Velero does. */
export function observePodVolumeBackups(options: ObserveMovesOptions): ObjectHandler<PodVolumeBackup> {
  const { velero, node } = options
  return event => {
    const { object } = event
    if (object.spec.node !== node) return
    if (event.type === 'deleted') return forget(object, options)
    if (event.type !== 'updated') return
    if (!hasBegun(event.previous) && hasBegun(object)) velero.enqueued.add({ node })
    const ended = endedNow(event.previous, object)
    if (ended === undefined) return
    countEnd('backup', object, options)
    if (ended !== 'Completed') return
    velero.dequeued.add({ node })
    const seconds = secondsTaken(object.status)
    if (seconds === undefined) return
    velero.operationSeconds.observe(operationOf(object, node), seconds)
    velero.lastOperationSeconds.set(operationOf(object, node), seconds)
  }
}

/** Counts restores of volumes on a node. */
export function observePodVolumeRestores(options: ObserveMovesOptions): ObjectHandler<PodVolumeRestore> {
  return event => {
    if (event.type !== 'updated' || event.object.status?.node !== options.node) return
    if (endedNow(event.previous, event.object) !== undefined) countEnd('restore', event.object, options)
  }
}

function countEnd(
  work: 'backup' | 'restore',
  { status }: VolumeMove,
  { own, node }: ObserveMovesOptions,
): void {
  own.ended.add({ node, work, result: status?.phase ?? '' })
  if (status?.phase === 'Completed') own.bytes.add({ node, work }, status.progress?.totalBytes ?? 0)
}

function hasBegun({ status }: VolumeMove): boolean {
  return ['InProgress', 'Canceling', 'Completed'].includes(status?.phase ?? '')
}

/** The phase with which it has ended just now. */
function endedNow(before: VolumeMove, { status }: VolumeMove): string | undefined {
  const isOver = ({ status: seen }: Pick<VolumeMove, 'status'>) =>
    isTerminal(PodVolumeBackupKind, seen?.phase)
  return !isOver(before) && status !== undefined && isOver({ status }) ? status.phase : undefined
}

/** The labels that Velero gives each backup of a volume. */
function operationOf({ metadata, spec }: PodVolumeBackup, node: string) {
  const { name = '', namespace = '', ownerReferences = [] } = metadata
  const parts = [name, spec.backupStorageLocation, spec.pod.namespace ?? '', spec.uploaderType, 'backup']
  return {
    node,
    operation: parts.join('-'),
    backupName: `${namespace}/${ownerReferences[0]?.name ?? ''}`,
    pod_volume_backup: name,
  }
}

/** Every backup of a volume has series of its own; they go with it. */
function forget(object: PodVolumeBackup, { velero, node }: ObserveMovesOptions): void {
  velero.operationSeconds.remove(operationOf(object, node))
  velero.lastOperationSeconds.remove(operationOf(object, node))
}
