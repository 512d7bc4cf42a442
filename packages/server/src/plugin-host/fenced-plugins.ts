import type { Fence } from '@lateen/kube'
import type { Registered, VolumeSnapshotter } from '@lateen/plugin'
import { fencedObjectStore } from '../object-store/fenced-object-store.ts'
import type { PluginRegistry } from './plugin-registry.ts'
import type { PluginSession } from './plugin-session.ts'

const snapshotterChanges: readonly (keyof VolumeSnapshotter)[] = [
  'createVolumeFromSnapshot',
  'createSnapshot',
  'deleteSnapshot',
  'cancel',
]

/**
 * The plugins of a server, whose programs are asked for nothing that changes something unless the fence lets it pass: stores,
 * snapshots, and whatever actions do. Actions of the server itself are left alone: what they change, they change by a client.
 */
export function fencedPlugins(registry: PluginRegistry, fence: Fence): PluginRegistry {
  const ofPrograms = new Set(registry.plugins.flatMap(({ name, program }) => (program ? [name] : [])))
  const fenced = <A extends object>(name: string, action: A, changes: readonly (keyof A)[]): A =>
    ofPrograms.has(name) ? guarded(action, changes, change => fence.check(`${change} of ${name}`)) : action
  const all = <A extends { execute: unknown }>(
    actions: readonly Registered<A>[],
    changes: readonly (keyof A)[],
  ): readonly Registered<A>[] =>
    actions.map(({ name, action }) => ({ name, action: fenced(name, action, changes) }))
  const fencedSession = (session: PluginSession): PluginSession => ({
    backupItemActions: () => all(session.backupItemActions(), ['execute', 'cancel']),
    itemBlockActions: () => session.itemBlockActions(),
    restoreItemActions: () => all(session.restoreItemActions(), ['execute', 'cancel']),
    deleteItemActions: () => all(session.deleteItemActions(), ['execute']),
    backupItemAction: name => fenced(name, session.backupItemAction(name), ['execute', 'cancel']),
    restoreItemAction: name => fenced(name, session.restoreItemAction(name), ['execute', 'cancel']),
    volumeSnapshotter: provider =>
      guarded(session.volumeSnapshotter(provider), snapshotterChanges, change =>
        fence.check(`${change} of ${provider}`),
      ),
    objectStore: provider => fencedObjectStore(session.objectStore(provider), fence),
    heard: () => session.heard(),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  })
  return {
    plugins: registry.plugins,
    open: options => fencedSession(registry.open(options)),
    objectStores: {
      names: registry.objectStores.names,
      create: provider => fencedObjectStore(registry.objectStores.create(provider), fence),
    },
  }
}

/** The same object, except that some of its methods, which return promises, reject when the check throws. */
function guarded<T extends object>(
  target: T,
  changes: readonly (keyof T)[],
  check: (change: string) => void,
): T {
  const isGuarded = new Set<unknown>(changes)
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!isGuarded.has(name)) return member.bind(target)
      return async (...args: unknown[]) => {
        check(String(name))
        return Reflect.apply(member, target, args)
      }
    },
  })
}
