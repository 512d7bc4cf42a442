import type {
  BackupItemAction,
  DeleteItemAction,
  ItemBlockAction,
  ObjectStoreFactory,
  Registered,
  RestoreItemAction,
  VolumeSnapshotter,
} from '@lateen/plugin'

/** The plugins that come with the server and run inside of it, by kind, under full names and in the order in which they run. */
export interface BuiltInPlugins {
  backupItemActions: readonly Registered<BackupItemAction>[]
  itemBlockActions: readonly Registered<ItemBlockAction>[]
  restoreItemActions: readonly Registered<RestoreItemAction>[]
  deleteItemActions: readonly Registered<DeleteItemAction>[]
  objectStores: Readonly<Record<string, ObjectStoreFactory>>
  volumeSnapshotters: Readonly<Record<string, () => VolumeSnapshotter>>
}

export const noBuiltInPlugins: BuiltInPlugins = {
  backupItemActions: [],
  itemBlockActions: [],
  restoreItemActions: [],
  deleteItemActions: [],
  objectStores: {},
  volumeSnapshotters: {},
}
