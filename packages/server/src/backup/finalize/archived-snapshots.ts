import type { Backup } from '@lateen/api'
import type { ResourceIdentifier } from '@lateen/plugin'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import { snapshotGroup } from '../../csi/snapshot-kinds.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import { fileOf } from './add-to-report.ts'

/** Which VolumeSnapshots are in the archive of a backup. */
export interface ArchivedSnapshots {
  has(id: Pick<ResourceIdentifier, 'group' | 'resource' | 'namespace' | 'name'>): boolean
}

/**
 * What the list of the archive's contents says about VolumeSnapshots. It is written after the archive, and snapshots that a backup takes are
 * not collected: those that stand there were stored when they were ready, with their contents. Undefined where there is no list, as in another bucket than that of the
 * backup. Throws ObjectStoreError.
 */
export async function archivedSnapshots(scope: {
  backup: Backup
  store: BackupStore
  signal: AbortSignal
}): Promise<ArchivedSnapshots | undefined> {
  const { store, signal } = scope
  const list = (await store.getJson(fileOf(scope, 'resourceList'), signal)) as ResourceList | undefined
  if (list === undefined) return undefined
  const names = new Set(list[`${snapshotGroup}/v1/VolumeSnapshot`] ?? [])
  return {
    has: ({ group, resource, namespace, name }) =>
      group === snapshotGroup && resource === 'volumesnapshots' && names.has(`${namespace}/${name}`),
  }
}
