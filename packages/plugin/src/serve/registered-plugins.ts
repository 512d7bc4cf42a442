import type { ItemBlockAction } from '../item-actions.ts'
import { PluginError } from '../plugin-error.ts'
import { checkPluginName, type PluginKind, type PluginOfKind, pluginKinds } from '../plugin-kinds.ts'
import type { PluginLog } from './plugin-log.ts'

/** What a plugin is made with. */
export interface PluginContext {
  /** The name it is registered with. */
  name: string
  log: PluginLog
  /** The feature flags of the host, such as EnableCSI. */
  features: ReadonlySet<string>
}

/** Makes a plugin, when it is first needed. */
export type PluginFactory<Plugin> = (context: PluginContext) => Plugin | Promise<Plugin>

/** The plugins of a program: for each kind, factories by full name, such as `example.com/my-action`. */
export type PluginFactories = {
  readonly [Kind in PluginKind]?: Readonly<Record<string, PluginFactory<PluginOfKind[Kind]>>>
}

/** A name with a kind under which the host may ask for it. */
export interface PluginListing {
  kind: PluginKind
  name: string
}

/** Kinds of which a host that sees one name in two of them runs the action twice. */
const rivals: readonly (readonly PluginKind[])[] = [
  ['BackupItemAction', 'BackupItemActionV2', 'BackupItemActionV3'],
  ['RestoreItemAction', 'RestoreItemActionV2'],
]

/** Throws BAD_NAME for names that Velero refuses and for versions of an action that share a name. */
export function checkPlugins(plugins: PluginFactories): void {
  for (const kind of pluginKinds) for (const name of namesOf(plugins, kind)) checkPluginName(kind, name)
  for (const kinds of rivals) {
    const names = kinds.flatMap(kind => namesOf(plugins, kind))
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice === undefined) continue
    throw new PluginError('BAD_NAME', {
      reason: `${twice} is registered for more than one of ${kinds.join(', ')}`,
      hint: 'Register its newest version alone; hosts that know older ones only are served too',
    })
  }
}

/**
 * What a program tells its host that it has. To a host without BackupItemActionV3, an action of that kind is one of version 2 and, for
 * the objects that belong to an item, an ItemBlockAction of the same name.
 */
export function listPlugins(plugins: PluginFactories, known: ReadonlySet<PluginKind>): PluginListing[] {
  const newest = namesOf(plugins, 'BackupItemActionV3')
  const split = !known.has('BackupItemActionV3')
  return pluginKinds
    .filter(kind => known.has(kind))
    .flatMap(kind => {
      const standIns = split && (kind === 'BackupItemActionV2' || kind === 'ItemBlockAction') ? newest : []
      const names = new Set([...namesOf(plugins, kind), ...standIns])
      return [...names].sort().map(name => ({ kind, name }))
    })
}

function namesOf(plugins: PluginFactories, kind: PluginKind): string[] {
  return Object.keys(plugins[kind] ?? {})
}

/** The plugins of a program, each made when it is first asked for, and again if that failed. */
export class PluginInstances {
  readonly #plugins: PluginFactories
  readonly #context: Omit<PluginContext, 'name'>
  readonly #made = new Map<string, Promise<unknown>>()

  constructor(plugins: PluginFactories, context: Omit<PluginContext, 'name'>) {
    this.#plugins = plugins
    this.#context = context
  }

  /** The one instance of a plugin. Rejects with NO_SUCH_PLUGIN, in Velero's words, or with what its factory throws. */
  get<Kind extends PluginKind>(kind: Kind, name: string): Promise<PluginOfKind[Kind]> {
    const id = `${kind} ${name}`
    let made = this.#made.get(id)
    if (made === undefined) {
      made = this.create(kind, name)
      this.#made.set(id, made)
      made.catch(() => this.#made.delete(id))
    }
    return made as Promise<PluginOfKind[Kind]>
  }

  /** A new instance of a plugin. */
  async create<Kind extends PluginKind>(kind: Kind, name: string): Promise<PluginOfKind[Kind]> {
    const factory = factoryOf<PluginOfKind[Kind]>(this.#plugins[kind], name)
    if (factory) return factory({ ...this.#context, log: this.#context.log.child({ plugin: name }), name })
    const newest = factoryOf<unknown>(this.#plugins.BackupItemActionV3, name)
    if (newest && kind === 'BackupItemActionV2') return this.get('BackupItemActionV3', name) as never
    if (newest && kind === 'ItemBlockAction') return this.#asItemBlockAction(name) as never
    const reason = `${kind} plugin: ${name} was not found or has an invalid name format`
    throw new PluginError('NO_SUCH_PLUGIN', { reason })
  }

  async #asItemBlockAction(name: string): Promise<ItemBlockAction> {
    const action = await this.get('BackupItemActionV3', name)
    return {
      appliesTo: () => action.appliesTo(),
      getRelatedItems: async input => (await action.getAdditionalItems?.(input)) ?? [],
    }
  }
}

function factoryOf<Plugin>(factories: object | undefined, name: string): PluginFactory<Plugin> | undefined {
  return factories !== undefined && Object.hasOwn(factories, name)
    ? (factories as Record<string, PluginFactory<Plugin>>)[name]
    : undefined
}
