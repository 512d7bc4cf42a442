import { PluginError } from '../plugin-error.ts'

/** A plugin that is told its settings before it is used. */
interface Initialisable {
  init(options: { config: Record<string, string>; signal: AbortSignal }): Promise<void>
  [Symbol.asyncDispose]?(): PromiseLike<void>
}

interface Initialised<Plugin> {
  plugin: Plugin
  calls: number
  /** Another instance has taken its place. */
  replaced: boolean
}

/**
 * The stores or snapshotters of a program that have been initialised, by name. Hosts initialise a name again whenever they like, while
 * calls are under way: each time there is a new instance, and the one before is disposed of after its last call.
 */
export class InitialisedPlugins<Plugin extends Initialisable> {
  readonly #create: (name: string) => Promise<Plugin>
  readonly #current = new Map<string, Initialised<Plugin>>()

  constructor(create: (name: string) => Promise<Plugin>) {
    this.#create = create
  }

  /** Rejects with what the plugin's `init` rejects with; the instance before stays in place then. */
  async init(name: string, options: { config: Record<string, string>; signal: AbortSignal }): Promise<void> {
    const plugin = await this.#create(name)
    try {
      await plugin.init(options)
    } catch (error) {
      await plugin[Symbol.asyncDispose]?.()
      throw error
    }
    const before = this.#current.get(name)
    this.#current.set(name, { plugin, calls: 0, replaced: false })
    if (before) await retire(before)
  }

  /** Calls the plugin. Rejects where it has not been initialised. */
  async use<Result>(name: string, call: (plugin: Plugin) => Promise<Result>): Promise<Result> {
    const current = this.#current.get(name)
    if (current === undefined) {
      // An unknown name is told apart from one that is merely not ready.
      await (await this.#create(name))[Symbol.asyncDispose]?.()
      throw new PluginError('FAILED', { reason: `${name} was used before it was initialised` })
    }
    current.calls += 1
    try {
      return await call(current.plugin)
    } finally {
      current.calls -= 1
      if (current.replaced) await disposeIfIdle(current)
    }
  }

  /** Disposes of all of them, whatever they are doing. */
  async [Symbol.asyncDispose](): Promise<void> {
    const plugins = [...this.#current.values()].map(({ plugin }) => plugin[Symbol.asyncDispose]?.())
    this.#current.clear()
    await Promise.allSettled(plugins)
  }
}

async function retire<Plugin extends Initialisable>(initialised: Initialised<Plugin>): Promise<void> {
  initialised.replaced = true
  await disposeIfIdle(initialised)
}

async function disposeIfIdle<Plugin extends Initialisable>({
  plugin,
  calls,
}: Initialised<Plugin>): Promise<void> {
  if (calls === 0) await plugin[Symbol.asyncDispose]?.()
}
