import { finalizerNames, labelNames, type PodVolumeBackup, PodVolumeBackupKind } from '@lateen/api'
import type { ControllerOptions } from '@lateen/kube'
import type { Exposure } from '../data-path/expose-volume.ts'
import { parseBackupWords } from '../data-path/mover-message.ts'
import type { MoveSort } from './move-sort.ts'
import { type ExposingPodVolumes, exposesPodVolumes } from './pod-volume-sort.ts'
import { type VolumeMoveOptions, volumeMoveController } from './volume-move.ts'

export interface PodVolumeBackupOptions extends Omit<VolumeMoveOptions<PodVolumeBackup>, 'sort'> {
  expose: ExposingPodVolumes
}

/** Has the volumes of this node's pods backed up by movers. */
export function podVolumeBackupController(options: PodVolumeBackupOptions): ControllerOptions {
  return volumeMoveController({ ...options, sort: backupsOf(options.expose) })
}

function backupsOf(expose: ExposingPodVolumes): MoveSort<PodVolumeBackup> {
  return {
    name: 'pod-volume-backup',
    kind: PodVolumeBackupKind,
    label: labelNames.podVolumeBackup,
    finalizer: finalizerNames.podVolume,
    isOurs: ({ spec }) => spec.node === expose.node && spec.uploaderType === 'kopia',
    isReady: () => true,
    isNobodys: () => false,
    ...exposesPodVolumes(exposureOf, expose),
    accepted: () => ({}),
    completed: completedBackup,
  }
}

function exposureOf(object: PodVolumeBackup): Exposure {
  const { namespace = '', name = '', uid } = object.spec.pod
  return { work: 'backup', owner: object, volume: object.spec.volume, pod: { namespace, name, uid } }
}

/** The status of a backup that is done, by the last words of its mover; undefined when these tell nothing. */
export function completedBackup(lastWords: string): object | undefined {
  const words = parseBackupWords(lastWords)
  if (words === undefined) return undefined
  const { snapshotID, emptySnapshot, source, totalBytes = 0, incrementalBytes = 0 } = words
  return {
    path: source.byPath,
    snapshotID,
    incrementalBytes,
    progress: { totalBytes, bytesDone: totalBytes },
    ...(emptySnapshot && { message: 'volume was empty so no snapshot was taken' }),
  }
}
