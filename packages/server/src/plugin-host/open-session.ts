import {
  type BackupItemAction,
  type DeleteItemAction,
  fullPluginName,
  type ItemBlockAction,
  ObjectStoreError,
  PluginError,
  type PluginKind,
  type PluginOfKind,
  type Registered,
  type RestoreItemAction,
} from '@lateen/plugin'
import type { BuiltInPlugins } from './built-in-plugins.ts'
import { familyKey, type KnownPlugin } from './merge-plugins.ts'
import type { PluginSession } from './plugin-session.ts'
import { type ActionKind, programAction, programSnapshotter } from './program-actions.ts'
import { programObjectStore } from './program-object-store.ts'
import type { SessionPrograms } from './session-programs.ts'

export interface SessionParts {
  /** All that there are, in the order in which they run. */
  plugins: readonly KnownPlugin[]
  /** Those of the server, also such that a program's has taken the place of. */
  builtIns: BuiltInPlugins
  programs: SessionPrograms
  features: readonly string[]
}

/** Makes a session of the plugins of a server. Disposing ends its programs. */
export function openSession(parts: SessionParts): PluginSession {
  const { plugins, programs } = parts
  const builtIns = withoutReplaced(parts.builtIns, plugins)
  const all = actionsOf(parts, builtIns)
  const fileOf = (kind: PluginKind, name: string) =>
    plugins.find(plugin => plugin.kind === kind && plugin.name === name)?.program
  return {
    backupItemActions: () => wanted(all.backup, parts),
    itemBlockActions: () => [...all.block, ...wanted(all.backup, parts).flatMap(asBlockAction)],
    restoreItemActions: () => wanted(all.restore, parts),
    deleteItemActions: () => all.delete,
    backupItemAction: name => actionNamed('BackupItemAction', name, all.backup),
    restoreItemAction: name => actionNamed('RestoreItemAction', name, all.restore),
    volumeSnapshotter(provider) {
      const name = fullPluginName(provider)
      const file = fileOf('VolumeSnapshotter', name)
      if (file !== undefined) return programSnapshotter(programs, file, name)
      const create = builtIns.volumeSnapshotters[name]
      if (create === undefined) throw noSuchPlugin('VolumeSnapshotter', provider)
      return create()
    },
    objectStore(provider) {
      const name = fullPluginName(provider)
      const file = fileOf('ObjectStore', name)
      if (file !== undefined) return programObjectStore(programs, file, name)
      const create = builtIns.objectStores[name]
      if (create === undefined) throw noSuchStore(provider, plugins)
      return create()
    },
    heard: () => programs.heard(),
    [Symbol.asyncDispose]: () => programs[Symbol.asyncDispose](),
  }
}

/** The names of the object stores among plugins, sorted. */
export function storeNames(plugins: readonly KnownPlugin[]): string[] {
  const stores = plugins.filter(({ kind }) => kind === 'ObjectStore')
  return stores.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1))
}

interface SessionActions {
  backup: readonly Registered<BackupItemAction>[]
  block: readonly Registered<ItemBlockAction>[]
  restore: readonly Registered<RestoreItemAction>[]
  delete: readonly Registered<DeleteItemAction>[]
}

function actionsOf({ plugins, programs }: SessionParts, builtIns: BuiltInPlugins): SessionActions {
  const inPrograms = <Kind extends ActionKind>(...kinds: readonly Kind[]): Registered<PluginOfKind[Kind]>[] =>
    plugins.flatMap(({ kind, name, program }) => {
      const known = kinds.find(each => each === kind)
      if (program === undefined || known === undefined) return []
      return [{ name, action: programAction(programs.program(program), known, name) }]
    })
  return {
    backup: [
      ...builtIns.backupItemActions,
      ...inPrograms('BackupItemAction', 'BackupItemActionV2', 'BackupItemActionV3'),
    ],
    block: [...builtIns.itemBlockActions, ...inPrograms('ItemBlockAction')],
    restore: [...builtIns.restoreItemActions, ...inPrograms('RestoreItemAction', 'RestoreItemActionV2')],
    delete: [...builtIns.deleteItemActions, ...inPrograms('DeleteItemAction')],
  }
}

/** Velero's rule: actions for CSI are asked only where that feature is on. Those that were asked earlier can be found by name. */
function wanted<Action>(
  actions: readonly Registered<Action>[],
  { features }: SessionParts,
): readonly Registered<Action>[] {
  if (features.includes('EnableCSI')) return actions
  return actions.filter(({ name }) => !name.includes('velero.io/csi-'))
}

/** Those of the server whose place no program has taken. */
function withoutReplaced(all: BuiltInPlugins, plugins: readonly KnownPlugin[]): BuiltInPlugins {
  const replaced = new Set(plugins.filter(({ program }) => program !== undefined).map(familyKey))
  const kept = <Action>(kind: PluginKind, actions: readonly Registered<Action>[]) =>
    actions.filter(({ name }) => !replaced.has(familyKey({ kind, name })))
  return {
    ...all,
    backupItemActions: kept('BackupItemAction', all.backupItemActions),
    itemBlockActions: kept('ItemBlockAction', all.itemBlockActions),
    restoreItemActions: kept('RestoreItemAction', all.restoreItemActions),
    deleteItemActions: kept('DeleteItemAction', all.deleteItemActions),
  }
}

/** A backup item action that names items to be stored with one also says which belong into one block. */
function asBlockAction({ name, action }: Registered<BackupItemAction>): Registered<ItemBlockAction>[] {
  if (action.getAdditionalItems === undefined) return []
  const getRelatedItems: ItemBlockAction['getRelatedItems'] = async input =>
    (await action.getAdditionalItems?.(input)) ?? []
  return [{ name, action: { appliesTo: () => action.appliesTo(), getRelatedItems } }]
}

function actionNamed<Action>(kind: PluginKind, name: string, all: readonly Registered<Action>[]): Action {
  const found = all.find(each => each.name === name)
  if (found === undefined) throw noSuchPlugin(kind, name)
  return found.action
}

function noSuchPlugin(kind: PluginKind, name: string): PluginError {
  return new PluginError('NO_SUCH_PLUGIN', {
    reason: `no ${kind} is named ${JSON.stringify(name)}`,
    hint: 'Install the plugin that brings it, and start the server again',
  })
}

function noSuchStore(provider: string, plugins: readonly KnownPlugin[]): ObjectStoreError {
  return new ObjectStoreError('INVALID_CONFIG', {
    reason: `no object store is named ${JSON.stringify(provider)}`,
    hint: `Set spec.provider to one of ${storeNames(plugins).join(', ')}, or install the plugin that brings it`,
  })
}
