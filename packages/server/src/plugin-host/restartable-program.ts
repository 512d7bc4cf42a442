import type { Logger } from '@lateen/kube'
import { PluginError, type PluginKind, type PluginOfKind } from '@lateen/plugin'
import { MOST_FAILED_STARTS } from './host-limits.ts'
import type { LaunchedProgram, ProgramLauncher } from './program-launcher.ts'
import type { CallKind, ProgramProcess } from './program-process.ts'

/** A plugin in a program. */
export interface PluginKey<Kind extends PluginKind = PluginKind> {
  kind: Kind
  name: string
}

/** Kinds that are told their settings before all else, once for each process. */
export type InitialisedKind = 'ObjectStore' | 'VolumeSnapshotter'

export type PluginConfig = Readonly<Record<string, string | undefined>>

export interface RestartableOptions {
  file: string
  log: Logger
  launcher: Pick<ProgramLauncher, 'start'>
  /** For calls that have none of their own. */
  signal?: AbortSignal | undefined
}

export interface RestartableCall extends CallKind {
  signal?: AbortSignal | undefined
}

/**
 * One process of a program for one session: it starts at the first call, is shared by all plugins of the program, and is started again,
 * with its plugins initialised as they were, when it has ended before a call. The call during which it ended is not repeated: nobody
 * knows what it did.
 */
export class RestartableProgram implements AsyncDisposable {
  readonly #options: RestartableOptions
  readonly #closed = new AbortController()
  /** Settings by kind and name: those that a process has been told, or is being told. */
  readonly #configs = new Map<string, string>()
  readonly #initialised = new Map<string, { key: PluginKey<InitialisedKind>; config: PluginConfig }>()
  #launched: LaunchedProgram | undefined
  #starting: Promise<ProgramProcess> | undefined
  #failedStarts = 0
  #lastFailure: unknown

  constructor(options: RestartableOptions) {
    this.#options = options
  }

  /** Whether a plugin with these settings can be in this process: a program keeps one set of settings by kind and name. */
  hasRoomFor(key: PluginKey<InitialisedKind>, config: PluginConfig): boolean {
    const known = this.#configs.get(idOf(key))
    return known === undefined || known === canonical(config)
  }

  /** Tells a plugin its settings, now and whenever the process is started again. Rejects as `call` does. */
  async initialise(
    key: PluginKey<InitialisedKind>,
    config: PluginConfig,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const id = idOf(key)
    this.#configs.set(id, canonical(config))
    try {
      await this.call(key, plugin => plugin.init({ config, ...(signal && { signal }) }), { signal })
      this.#initialised.set(id, { key, config })
    } catch (error) {
      if (!this.#initialised.has(id)) this.#configs.delete(id)
      throw error
    }
  }

  /**
   * Does work with a plugin. Rejects as the plugin does, with the signal's reason, and with UNAVAILABLE when the program cannot be
   * started or ends meanwhile.
   */
  async call<Kind extends PluginKind, Answer>(
    { kind, name }: PluginKey<Kind>,
    work: (plugin: PluginOfKind[Kind], process: ProgramProcess) => Promise<Answer>,
    { signal, long }: RestartableCall,
  ): Promise<Answer> {
    const patience = signal ?? this.#options.signal
    patience?.throwIfAborted()
    const process = await untilAbort(this.#running(), patience)
    const answer = process.call(() => work(process.plugin(kind, name), process), { ...(long && { long }) })
    // With a signal of its own, the plugin is told of it and ends the call.
    return signal === undefined ? untilAbort(answer, patience) : answer
  }

  /** Resolves when what its process has said until now was heard. */
  async heard(): Promise<void> {
    await this.#launched?.process.heard()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(this.#error('its session has ended'))
    await this.#starting?.catch(() => {})
    await this.#launched?.end()
  }

  async #running(): Promise<ProgramProcess> {
    this.#closed.signal.throwIfAborted()
    const process = this.#launched?.process
    if (process !== undefined && this.#starting === undefined && (await process.isUsable())) return process
    this.#closed.signal.throwIfAborted()
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #start(): Promise<ProgramProcess> {
    const { file, log, launcher } = this.#options
    const { signal } = this.#closed
    if (this.#failedStarts >= MOST_FAILED_STARTS) throw this.#givenUp()
    await this.#launched?.end()
    this.#launched = undefined
    try {
      const launched = await launcher.start(file, { log, signal })
      await this.#replay(launched)
      this.#launched = launched
      this.#failedStarts = 0
      return launched.process
    } catch (error) {
      signal.throwIfAborted()
      this.#failedStarts += 1
      this.#lastFailure = error
      throw this.#error(`it cannot be started: ${textOf(error)}`, error)
    }
  }

  async #replay(launched: LaunchedProgram): Promise<void> {
    const { process } = launched
    try {
      for (const { key, config } of this.#initialised.values()) {
        await process.call(() => process.plugin(key.kind, key.name).init({ config }))
      }
    } catch (error) {
      await launched.end()
      throw error
    }
  }

  #givenUp(): PluginError {
    const reason = `it could not be started ${MOST_FAILED_STARTS} times in a row, the last time because of: ${textOf(this.#lastFailure)}`
    return this.#error(reason, this.#lastFailure)
  }

  #error(reason: string, cause?: unknown): PluginError {
    return new PluginError('UNAVAILABLE', {
      reason: `plugin program ${this.#options.file}: ${reason}`,
      cause,
    })
  }
}

function idOf({ kind, name }: PluginKey): string {
  return `${kind} ${name}`
}

function canonical(config: PluginConfig): string {
  const settings = Object.entries(config).filter(([, value]) => value !== undefined)
  return JSON.stringify(settings.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Whoever waits may give up; what is waited for goes on for the others. */
export function untilAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
