import {
  finalizerNames,
  labelNames,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  restoreWaitNames,
} from '@lateen/api'
import { type ControllerOptions, done, type Informer, keyOf, watching } from '@lateen/kube'
import type { Exposure } from '../data-path/expose-volume.ts'
import { parseRestoreWords } from '../data-path/mover-message.ts'
import type { Pod } from '../data-path/mover-state.ts'
import type { MoveSort } from './move-sort.ts'
import { type ExposingPodVolumes, exposesPodVolumes } from './pod-volume-sort.ts'
import { type VolumeMoveOptions, volumeMoveController } from './volume-move.ts'

export interface PodVolumeRestoreOptions extends Omit<VolumeMoveOptions<PodVolumeRestore>, 'sort' | 'more'> {
  expose: ExposingPodVolumes
  /** Of this node. */
  pods: Informer<Pod>
}

/** Whether an object is about data in restic's format, which no mover restores. Those that say nothing are older than any other format. */
export function isLegacyRestore({ spec }: PodVolumeRestore): boolean {
  return spec.uploaderType !== 'kopia'
}

/** Has the volumes of this node's pods restored by movers, before the pods start. */
export function podVolumeRestoreController(options: PodVolumeRestoreOptions): ControllerOptions {
  const { pods, informer, objects } = options
  const ofPod = ({ metadata }: Pod) =>
    informer
      .list()
      .filter(({ spec }) => spec.pod.namespace === metadata.namespace && spec.pod.name === metadata.name)
      .map(keyOf)
  const more = [watching({ informer: pods, toKeys: ofPod })]
  const controller = volumeMoveController({ ...options, more, sort: restoresOf(options.expose, pods) })
  return {
    ...controller,
    async reconcile(key, context) {
      const object = objects.get(key)
      if (object !== undefined && isLegacyRestore(object)) return done()
      return controller.reconcile(key, context)
    },
  }
}

function restoresOf(expose: ExposingPodVolumes, pods: Informer<Pod>): MoveSort<PodVolumeRestore> {
  const { node } = expose
  const podOf = ({ spec }: PodVolumeRestore) =>
    pods.get({ namespace: spec.pod.namespace ?? '', name: spec.pod.name ?? '' })
  return {
    name: 'pod-volume-restore',
    kind: PodVolumeRestoreKind,
    label: labelNames.podVolumeRestore,
    finalizer: finalizerNames.podVolume,
    isOurs: object => (object.status?.node ? object.status.node === node : podOf(object) !== undefined),
    isReady: object => isWaiting(podOf(object)),
    isNobodys: ({ spec, status }) => spec.uploaderType === 'kopia' && !status?.node,
    ...exposesPodVolumes(exposureOf, expose),
    accepted: () => ({ node }),
    completed: completedRestore,
  }
}

function exposureOf(object: PodVolumeRestore): Exposure {
  const { pod, volume, snapshotSize, sourceNamespace, backupStorageLocation } = object.spec
  const { namespace = '', name = '', uid } = pod
  return {
    work: 'restore',
    owner: object,
    volume,
    pod: { namespace, name, uid },
    source: {
      bytes: snapshotSize,
      repository: { volumeNamespace: sourceNamespace, backupStorageLocation, repositoryType: 'kopia' },
    },
  }
}

/** Whether a pod has come to the container that waits for its volumes. */
export function isWaiting(pod: Pod | undefined): boolean {
  const at = pod?.spec?.initContainers?.findIndex(({ name }) => name === restoreWaitNames.container) ?? -1
  return at >= 0 && pod?.status?.initContainerStatuses?.[at]?.state?.running !== undefined
}

/** The status of a restore that is done, by the last words of its mover. */
export function completedRestore(lastWords: string): object | undefined {
  const words = parseRestoreWords(lastWords)
  if (words === undefined) return undefined
  const { totalBytes = 0 } = words
  return { progress: { totalBytes, bytesDone: totalBytes } }
}
