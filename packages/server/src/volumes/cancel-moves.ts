import {
  DataDownloadKind,
  DataUploadKind,
  isTerminal,
  labelNames,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
} from '@lateen/api'
import { type KubeClient, type Logger, type ResourceType, unlessNotFound } from '@lateen/kube'
import type { Moved } from './moves-of.ts'

export interface CancelMovesPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  log: Logger
  signal: AbortSignal
}

type Owner = { of: 'backup' | 'restore'; uid: string }

const kinds: Readonly<Record<Owner['of'], readonly ResourceType<Moved>[]>> = {
  backup: [PodVolumeBackupKind, DataUploadKind],
  restore: [PodVolumeRestoreKind, DataDownloadKind],
}

/** Has node agents stop what they do for a backup or restore that nobody waits for any more. Throws KubeErrors. */
export async function cancelMoves(owner: Owner, ports: CancelMovesPorts): Promise<void> {
  for (const kind of kinds[owner.of]) await cancelAll(kind, owner, ports)
}

async function cancelAll(
  kind: ResourceType<Moved>,
  owner: Owner,
  { client, namespace, log, signal }: CancelMovesPorts,
): Promise<void> {
  const label = owner.of === 'backup' ? labelNames.backupUid : labelNames.restoreUid
  const objects = client.resource(kind, namespace)
  for await (const { metadata, spec, status } of objects.list({
    labelSelector: `${label}=${owner.uid}`,
    signal,
  })) {
    if (spec.cancel || isTerminal(PodVolumeBackupKind, status?.phase)) continue
    const { name = '' } = metadata
    await objects
      .patch(name, { type: 'merge', body: { spec: { cancel: true } } }, { signal })
      .catch(unlessNotFound)
    log.info({ [owner.of]: owner.uid, object: name }, 'the move of volume data is cancelled')
  }
}

/** As `cancelMoves`, for one that fails anyway: what cannot be told now is logged. */
export async function cancelMovesIfPossible(owner: Owner, ports: CancelMovesPorts): Promise<void> {
  try {
    await cancelMoves(owner, ports)
  } catch (error) {
    ports.log.warn({ error, [owner.of]: owner.uid }, 'moves of volume data could not be cancelled')
  }
}
