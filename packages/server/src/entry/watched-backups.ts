import { type Backup, BackupKind } from '@lateen/api'
import { type Informer, type Manager, withoutManagedFields } from '@lateen/kube'
import { BusyKeys } from '../controllers/busy-keys.ts'
import { LatestObjects } from '../controllers/latest-objects.ts'

/** The backups of a server, as all its controllers see them: what one writes, the others see at once. */
export interface WatchedBackups {
  readonly informer: Informer<Backup>
  readonly backups: LatestObjects<Backup>
  /** Those that a controller works on which writes files of theirs. */
  readonly busy: BusyKeys
}

/** Watches the backups of a namespace. */
export function watchBackups(manager: Manager, namespace: string): WatchedBackups {
  const informer = manager.informer(BackupKind, { namespace, transform: withoutManagedFields })
  return { informer, backups: new LatestObjects(informer), busy: new BusyKeys() }
}
