import { opendir } from 'node:fs/promises'
import {
  annotationNames,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
} from '@lateen/api'
import { markRestored } from './completion-mark.ts'
import { requireLivePod } from './live-pod.ts'
import { type BackupWords, type RestoreWords, serializeWords } from './mover-message.ts'
import {
  type MoverEnding,
  type MoverOptions,
  type MoverPorts,
  type MoveScope,
  runMover,
  uploaderConfig,
} from './run-mover.ts'

/** Under which snapshots of pod volumes are filed. */
const requester = 'snapshot-pod-volume'

/** Moves the data of one volume into its repository once its PodVolumeBackup is InProgress, and stops when that is to be cancelled. */
export function runVolumeBackup(options: MoverOptions, ports: MoverPorts): Promise<MoverEnding> {
  return runMover<PodVolumeBackup>(options, ports, {
    kind: PodVolumeBackupKind,
    requester,
    place: ({ spec }) => ({
      location: spec.backupStorageLocation,
      volumeNamespace: spec.pod.namespace ?? '',
    }),
    confirm: liveIn(ports),
    move: async (object, scope) =>
      serializeWords(await backUp(object, options.volumePath, { ...scope, ports })),
  })
}

/** Moves a snapshot into one volume once its PodVolumeRestore is InProgress, and marks the volume as restored. */
export function runVolumeRestore(options: MoverOptions, ports: MoverPorts): Promise<MoverEnding> {
  return runMover<PodVolumeRestore>(options, ports, {
    kind: PodVolumeRestoreKind,
    requester,
    place: ({ spec }) => ({ location: spec.backupStorageLocation, volumeNamespace: spec.sourceNamespace }),
    confirm: liveIn(ports),
    move: async (object, scope) =>
      serializeWords(await restore(object, options.volumePath, { ...scope, ports })),
  })
}

type PodVolumeMove = PodVolumeBackup | PodVolumeRestore

interface PodVolumeScope extends MoveScope {
  ports: MoverPorts
}

/** The volume was mounted before: it is the right one if its pod is still there. */
function liveIn({ client }: MoverPorts) {
  return ({ spec }: PodVolumeMove, signal: AbortSignal) => requireLivePod(spec.pod, { client, signal })
}

/** Throws where the volume is no longer what it was. What is behind a claim stays when its pod goes. */
async function confirm(object: PodVolumeMove, { ports, signal }: PodVolumeScope): Promise<void> {
  if (!object.metadata.labels?.[labelNames.pvcUid]) await liveIn(ports)(object, signal)
}

async function backUp(object: PodVolumeBackup, volume: string, scope: PodVolumeScope): Promise<BackupWords> {
  const { metadata, spec } = object
  const { uploader, reports, signal } = scope
  const source = { byPath: volume, volumeMode: 'Filesystem' } as const
  // Nobody would ever delete a snapshot of nothing: no object names it.
  if (await isEmpty(volume)) {
    await confirm(object, scope)
    return { snapshotID: '', emptySnapshot: true, source }
  }
  const claim = metadata.annotations?.[annotationNames.pvcName]
  const { namespace, name } = spec.pod
  const outcome = await uploader.runBackup(
    {
      path: volume,
      realSource: `${namespace}/${name}/${claim || spec.volume}`,
      ...(spec.tags && { tags: spec.tags }),
      uploaderConfig: uploaderConfig(spec.uploaderSettings),
    },
    {
      signal,
      confirm: () => confirm(object, scope),
      onProgress: progress => reports.progress(progress),
    },
  )
  const { snapshotId, totalBytes, incrementalBytes } = outcome
  return { snapshotID: snapshotId, emptySnapshot: false, source, totalBytes, incrementalBytes }
}

/** Without reading the rest of a folder that may have millions of names. */
async function isEmpty(folder: string): Promise<boolean> {
  await using opened = await opendir(folder)
  return (await opened.read()) === null
}

async function restore(
  object: PodVolumeRestore,
  volume: string,
  scope: PodVolumeScope,
): Promise<RestoreWords> {
  const { metadata, spec } = object
  const { uploader, reports, signal } = scope
  const { bytes } = await uploader.runRestore(
    { snapshotId: spec.snapshotID, path: volume, uploaderConfig: uploaderConfig(spec.uploaderSettings) },
    { signal, onProgress: progress => reports.progress(progress) },
  )
  await confirm(object, scope)
  const [owner] = metadata.ownerReferences ?? []
  if (owner?.uid) await markRestored(volume, owner.uid)
  return { target: { byPath: volume, volumeMode: 'Filesystem' }, totalBytes: bytes }
}
