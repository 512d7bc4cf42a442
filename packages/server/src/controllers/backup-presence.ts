import { type Backup, BackupKind } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { isGone } from './perform-unless-cancelled.ts'

/** What has become of a backup that was in progress. */
export type BackupPresence = 'gone' | 'in progress' | 'failed' | 'moved on'

/**
 * Asks the API server, not what is remembered of it: a move whose answer was lost has succeeded, and others have moved the backup on since. They
 * need what it has stored and begun. Throws KubeErrors.
 */
export async function presenceOf(
  backup: Backup,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupPresence> {
  const { name = '', namespace } = backup.metadata
  const now = await client.resource(BackupKind, namespace).get(name, { signal }).catch(unlessNotFound)
  if (isGone(now, backup)) return 'gone'
  const phase = now?.status?.phase
  return phase === 'Failed' ? 'failed' : phase === 'InProgress' ? 'in progress' : 'moved on'
}
