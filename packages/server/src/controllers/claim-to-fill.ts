import { type Backup, type Restore, RestoreKind } from '@lateen/api'
import type { KubeClient, Logger } from '@lateen/kube'
import { dividePairs, listRestoredPairs } from '../csi/restored-pairs.ts'

/**
 * A claim, as `<namespace>/<name>`, that a restore made which has ended, and that is still to be filled from a snapshot of the backup: it waits for a pod.
 * Undefined when there is none. Throws KubeErrors.
 */
export async function claimToFillFrom(
  { metadata }: Backup,
  ports: { client: KubeClient; log: Logger; signal: AbortSignal },
): Promise<string | undefined> {
  const pairs = await listRestoredPairs(ports)
  if (pairs.length === 0) return undefined
  const { client, signal } = ports
  const own = new Set<string>()
  for await (const restore of client.resource<Restore>(RestoreKind, metadata.namespace).list({ signal })) {
    if (restore.spec.backupName === metadata.name) own.add(restore.metadata.uid ?? '')
  }
  const { waiting } = await dividePairs(
    pairs.filter(({ restoreUid }) => own.has(restoreUid)),
    ports,
  )
  const [first] = waiting
  return first && `${first.pair.namespace}/${first.claim.metadata.name}`
}
