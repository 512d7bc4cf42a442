import { type Logger, silentLogger } from '@lateen/kube'
import type { ObjectStore, PluginKind, Registered } from '@lateen/plugin'
import type { ObjectStoreRegistry } from '../object-store/registry.ts'
import type { BuiltInPlugins } from './built-in-plugins.ts'
import type { DiscoveredProgram } from './discover-programs.ts'
import { type KnownPlugin, mergePlugins } from './merge-plugins.ts'
import { openSession, storeNames } from './open-session.ts'
import type { PluginSessions } from './plugin-session.ts'
import type { ProgramLauncher } from './program-launcher.ts'
import { SessionPrograms } from './session-programs.ts'

/** All plugins of a server. */
export interface PluginRegistry extends PluginSessions {
  readonly plugins: readonly KnownPlugin[]
  /** Stores of locations. One of a program has a session of its own, which ends when the store is disposed of. */
  readonly objectStores: ObjectStoreRegistry
}

export interface PluginRegistryOptions {
  /** Made anew for each session, because what they read is kept as long as they are. */
  builtIns(): BuiltInPlugins
  /** Those of the plugins folder. Default: none. */
  external?: ExternalPlugins
  /** Such as `EnableCSI`. */
  features?: readonly string[]
  /** Hears what is not used, and what plugins of stores say. */
  log?: Logger
}

export interface ExternalPlugins {
  programs: readonly DiscoveredProgram[]
  launcher: Pick<ProgramLauncher, 'start'>
  /** Whether a plugin of a program takes the place of the server's of the same name. */
  prefer: boolean
}

/** A registry of the plugins that run inside of this server and of those in programs. */
export function createPluginRegistry(options: PluginRegistryOptions): PluginRegistry {
  const { builtIns, external = noPrograms, features = [], log = silentLogger } = options
  const { plugins, problems } = mergePlugins({
    builtIns: pluginsOf(builtIns()),
    programs: external.programs,
    preferExternal: external.prefer,
  })
  for (const problem of problems) log.warn({ ...problem }, 'a plugin of a program is not used')
  for (const { kind, name, program } of plugins) {
    if (program !== undefined) log.info({ kind, name, command: program }, 'registering plugin')
  }
  const open: PluginRegistry['open'] = session => {
    const programs = new SessionPrograms({ launcher: external.launcher, ...session })
    return openSession({ plugins, builtIns: builtIns(), programs, features })
  }
  return { plugins, open, objectStores: objectStoresOf({ plugins, open, log }) }
}

const noPrograms: ExternalPlugins = {
  programs: [],
  launcher: { start: file => Promise.reject(new Error(`${file} was not discovered`)) },
  prefer: false,
}

function pluginsOf(all: BuiltInPlugins): KnownPlugin[] {
  const named = (kind: PluginKind, names: readonly string[]) => names.map(name => ({ kind, name }))
  const registered = (kind: PluginKind, actions: readonly Registered<unknown>[]) =>
    named(
      kind,
      actions.map(({ name }) => name),
    )
  return [
    ...registered('BackupItemAction', all.backupItemActions),
    ...named('VolumeSnapshotter', Object.keys(all.volumeSnapshotters)),
    ...named('ObjectStore', Object.keys(all.objectStores)),
    ...registered('RestoreItemAction', all.restoreItemActions),
    ...registered('DeleteItemAction', all.deleteItemActions),
    ...registered('ItemBlockAction', all.itemBlockActions),
  ]
}

interface StoreOptions extends Pick<PluginRegistry, 'plugins' | 'open'> {
  log: Logger
}

function objectStoresOf({ plugins, open, log }: StoreOptions): ObjectStoreRegistry {
  return {
    names: storeNames(plugins),
    create(provider) {
      const session = open({ log })
      const store = session.objectStore(provider)
      return withEnd(store, () => session[Symbol.asyncDispose]())
    },
  }
}

/** The store, whose end is followed by another. Its methods are called on itself: they may use what is private to it. */
function withEnd(store: ObjectStore, end: () => PromiseLike<void>): ObjectStore {
  return {
    init: options => store.init(options),
    putObject: options => store.putObject(options),
    objectExists: options => store.objectExists(options),
    ...(store.objectSize && { objectSize: store.objectSize.bind(store) }),
    getObject: options => store.getObject(options),
    listCommonPrefixes: options => store.listCommonPrefixes(options),
    listObjects: options => store.listObjects(options),
    deleteObject: options => store.deleteObject(options),
    createSignedUrl: options => store.createSignedUrl(options),
    async [Symbol.asyncDispose]() {
      try {
        await store[Symbol.asyncDispose]()
      } finally {
        await end()
      }
    },
  }
}
