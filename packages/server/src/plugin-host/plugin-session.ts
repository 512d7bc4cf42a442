import type { Logger } from '@lateen/kube'
import type {
  BackupItemAction,
  DeleteItemAction,
  ItemBlockAction,
  ObjectStore,
  Registered,
  RestoreItemAction,
  VolumeSnapshotter,
} from '@lateen/plugin'

/**
 * The plugins as one backup, restore, poll or deletion uses them: those of the server and those of programs, alike. Programs are
 * started when something is first asked of one of their plugins, and ended when the session is disposed of, so that nothing of one
 * piece of work is left for the next.
 *
 * What is asked of a program throws PluginError; an ObjectStore of one throws ObjectStoreError.
 */
export interface PluginSession extends AsyncDisposable {
  /** In the order in which they run: the server's, then those of programs. Version 1 and 2 look like version 3. */
  backupItemActions(): readonly Registered<BackupItemAction>[]
  /** With those backup item actions that name additional items, under the same names. */
  itemBlockActions(): readonly Registered<ItemBlockAction>[]
  restoreItemActions(): readonly Registered<RestoreItemAction>[]
  deleteItemActions(): readonly Registered<DeleteItemAction>[]
  /** The action of that name. Throws NO_SUCH_PLUGIN. */
  backupItemAction(name: string): BackupItemAction
  restoreItemAction(name: string): RestoreItemAction
  /** One that is not initialised, by a location's provider. Throws NO_SUCH_PLUGIN. */
  volumeSnapshotter(provider: string): VolumeSnapshotter
  /** One that is not initialised, by a location's provider. Throws ObjectStoreError INVALID_CONFIG for an unknown one. */
  objectStore(provider: string): ObjectStore
  /**
   * Resolves when the lines that programs logged before their last answers are in the log of the session: answers come another way, and
   * may overtake them. Never rejects.
   */
  heard(): Promise<void>
}

export interface PluginSessionOptions {
  /** Where lines go that plugins log; those of a backup belong in its own log. */
  log: Logger
  /** Of the work: calls that take no signal of their own, such as `appliesTo`, end with it. */
  signal?: AbortSignal | undefined
}

/** Opens sessions. */
export interface PluginSessions {
  open(options: PluginSessionOptions): PluginSession
}
