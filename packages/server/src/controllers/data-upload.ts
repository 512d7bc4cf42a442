import { type DataUpload, DataUploadKind, finalizerNames, labelNames, parseTime } from '@lateen/api'
import { type Clock, type ControllerOptions, done } from '@lateen/kube'
import { diagnoseSnapshot, type ExposeSnapshotPorts, exposeSnapshot } from '../data-path/expose-snapshot.ts'
import { removeExposedSnapshot } from '../data-path/remove-exposed-snapshot.ts'
import { isBuiltInMover } from '../volumes/new-data-upload.ts'
import { type AnyNode, takenByAnyNode } from './any-node.ts'
import type { MoveSort } from './move-sort.ts'
import { completedBackup } from './pod-volume-backup.ts'
import { type VolumeMoveOptions, volumeMoveController } from './volume-move.ts'

/** What snapshots are exposed with. */
export type ExposingSnapshots = Omit<ExposeSnapshotPorts, 'client' | 'clock' | 'signal'> & AnyNode

export interface DataUploadOptions extends Omit<VolumeMoveOptions<DataUpload>, 'sort'> {
  expose: ExposingSnapshots
}

/** Has the contents of snapshots moved into the repository by movers. Those of other movers than ours are left alone. */
export function dataUploadController(options: DataUploadOptions): ControllerOptions {
  const controller = volumeMoveController({ ...options, sort: uploadsOf(options) })
  return {
    ...controller,
    async reconcile(key, context) {
      const object = options.objects.get(key)
      if (object !== undefined && !isBuiltInMover(object.spec.datamover)) return done()
      return controller.reconcile(key, context)
    },
  }
}

function uploadsOf({ expose, clock, prepareTimeoutMs }: DataUploadOptions): MoveSort<DataUpload> {
  return {
    name: 'data-upload',
    kind: DataUploadKind,
    label: labelNames.dataUpload,
    finalizer: finalizerNames.dataMove,
    isReady: () => true,
    isNobodys: () => false,
    ...takenByAnyNode<DataUpload>({ ...expose, clock, prepareTimeoutMs }),
    expose: (object, scope) => exposeSnapshot(object, { ...expose, ...scope }),
    diagnose: (object, scope) => diagnoseSnapshot(object, scope),
    async cleanUp(object, scope) {
      const isGone = await removeExposedSnapshot(object, scope)
      return isGone ? 'done' : { afterMs: nextLook(object, clock) }
    },
    completed: completedBackup,
  }
}

/** What a storage does not delete at once takes it long. */
function nextLook({ status }: DataUpload, clock: Clock): number {
  const over = status?.completionTimestamp
  return over && clock.now() - parseTime(over) < SOON_MS ? LOOK_SOON_MS : LOOK_LATER_MS
}

const SOON_MS = 30_000
const LOOK_SOON_MS = 300
const LOOK_LATER_MS = 10_000
