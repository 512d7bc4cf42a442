import { type DataDownload, DataDownloadKind, finalizerNames, labelNames, parseTime } from '@lateen/api'
import { again, type ControllerOptions, done } from '@lateen/kube'
import {
  diagnoseRestoreVolume,
  type ExposeRestorePorts,
  exposeRestoreVolume,
} from '../data-path/expose-restore-volume.ts'
import { removeCopies } from '../data-path/needed-copies.ts'
import { discardVolume, rebindVolume } from '../data-path/rebind-volume.ts'
import { namesakeOf, targetClaimOf } from '../data-path/target-claim.ts'
import { isBuiltInMover } from '../volumes/new-data-upload.ts'
import { type AnyNode, takenByAnyNode } from './any-node.ts'
import type { MoveSort } from './move-sort.ts'
import { completedRestore } from './pod-volume-restore.ts'
import { type VolumeMoveOptions, volumeMoveController } from './volume-move.ts'

export interface DataDownloadOptions extends Omit<VolumeMoveOptions<DataDownload>, 'sort' | 'more'> {
  expose: Omit<ExposeRestorePorts, 'client' | 'signal'> & AnyNode
}

/** A restore creates the claim right after the download. */
const LOOK_FOR_TARGET_MS = 1_000

/** Another claim of its name, which is being deleted, may take so long to go; and creating its own, while the API server is away. */
const OTHERS_MS = 300_000

/** Has volumes filled by movers, and given to the claims that are restored. Those of other movers than ours are left alone. */
export function dataDownloadController(options: DataDownloadOptions): ControllerOptions {
  const { client, objects } = options
  /** Those whose claim was seen. */
  const ready = new Set<string>()
  const sort = downloadsOf(options, ({ metadata }) => ready.has(metadata.uid ?? ''))
  const controller = volumeMoveController({ ...options, sort })
  return {
    ...controller,
    async reconcile(key, context) {
      const object = objects.get(key)
      if (object === undefined) return controller.reconcile(key, context)
      if (!isBuiltInMover(object.spec.datamover)) return done()
      const { uid = '' } = object.metadata
      if (!isNew(object)) {
        ready.delete(uid)
        return controller.reconcile(key, context)
      }
      const ports = { client, signal: context.signal }
      const isOld = options.clock.now() > createdAt(object) + OTHERS_MS
      // What is wrong with it is said when it is exposed.
      const target = await (isOld ? namesakeOf : targetClaimOf)(object, ports)
      if (target !== undefined) ready.add(uid)
      const outcome = await controller.reconcile(key, context)
      return ready.has(uid) || outcome.type === 'again' ? outcome : again({ afterMs: LOOK_FOR_TARGET_MS })
    },
  }
}

function createdAt({ metadata }: DataDownload): number {
  return parseTime(metadata.creationTimestamp ?? '')
}

function isNew({ status }: DataDownload): boolean {
  return !status?.phase || status.phase === 'New'
}

function downloadsOf(
  { expose, clock, prepareTimeoutMs }: DataDownloadOptions,
  isReady: MoveSort<DataDownload>['isReady'],
): MoveSort<DataDownload> {
  const { isOurs, isHere, accepted, prepared } = takenByAnyNode<DataDownload>({
    ...{ ...expose, clock, prepareTimeoutMs },
  })
  return {
    name: 'data-download',
    kind: DataDownloadKind,
    label: labelNames.dataDownload,
    finalizer: finalizerNames.dataMove,
    isReady,
    isNobodys: () => false,
    ...{ isOurs, isHere, accepted, ...(prepared && { prepared }) },
    expose: (object, { client, signal }) => exposeRestoreVolume(object, { ...expose, client, signal }),
    diagnose: (object, { client, signal }) => diagnoseRestoreVolume(object, { ...expose, client, signal }),
    finish: rebindVolume,
    async cleanUp(object, scope) {
      const discarded = object.status?.phase === 'Completed' ? 'done' : await discardVolume(object, scope)
      // The driver may need them to delete a volume.
      if (discarded === 'done') await removeCopies(object, scope)
      return discarded
    },
    completed: completedRestore,
  }
}
