import { lstat, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { Logger } from '@lateen/kube'
import {
  type Handshake,
  isPluginError,
  PluginError,
  type PluginKind,
  type PluginOfKind,
} from '@lateen/plugin'
import { connectPlugin, type PluginConnection } from '@lateen/plugin/client'
import type { HostLimits } from './host-limits.ts'
import { LineSplitter } from './line-splitter.ts'
import { exitText, type ProgramChild } from './program-child.ts'

export interface ProcessOptions {
  child: ProgramChild
  /** The file, for messages. */
  program: string
  log: Logger
  limits: HostLimits
}

/** Work that a plugin of the process is asked for. */
export interface CallKind {
  /** It may take hours. While such work is under way, the program is asked now and then whether it works. */
  long?: boolean
}

interface Connected {
  handshake: Handshake
  connection: PluginConnection
  end: Readonly<{ isMeant: boolean }>
}

/** A plugin program that runs and answers. */
export class ProgramProcess {
  readonly #options: ProcessOptions
  readonly #connection: PluginConnection
  readonly #handshake: Handshake
  /** Whether it was killed for the sake of what it was storing. */
  readonly #meantEnd: Readonly<{ isMeant: boolean }>
  readonly #plugins = new Map<string, unknown>()
  readonly #waiting = new Set<(error: unknown) => void>()
  /** From the first long work on; aborts with the process. */
  #watch: AbortController | undefined
  #longCalls = 0
  #ending: Promise<void> | undefined
  #doubt: Promise<void> | undefined
  /** Why it is of no use any more. */
  #failure: PluginError | undefined

  private constructor(options: ProcessOptions, { handshake, connection, end }: Connected) {
    this.#options = options
    this.#handshake = handshake
    this.#connection = connection
    this.#meantEnd = end
    void options.child.exited.then(() => this.#exited())
  }

  /** Waits until a child answers. Rejects with a PluginError, or the signal's reason; the child is the caller's then. */
  static async connect(options: ProcessOptions, signal: AbortSignal): Promise<ProgramProcess> {
    const { child, program, log, limits } = options
    const { connectMs, shortCallMs } = limits
    const handshake = await child.handshake(limits.handshakeMs, signal)
    const died = new AbortController()
    void child.exited.then(exit => died.abort(endedWith(program, exitText(exit))))
    const waiting = AbortSignal.any([signal, died.signal])
    await requireListener(handshake, waiting)
    const onOutput = outputLog(log)
    const end = { isMeant: false }
    const breakOff = () => {
      log.debug({}, 'a plugin program is killed: what it was to store was broken off')
      end.isMeant = true
      child.kill()
    }
    const connection = await connectPlugin({
      ...{ handshake, program, connectMs, shortCallMs, onOutput, breakOff, signal: waiting },
    })
    return new ProgramProcess(options, { handshake, connection, end })
  }

  /** Whether something can be asked of it. It settles what a failed call left in doubt first. */
  async isUsable(): Promise<boolean> {
    await this.#doubt
    const isAlive = this.#options.child.exit === undefined && !this.#meantEnd.isMeant
    return this.#failure === undefined && isAlive
  }

  /** The plugin of that name, for work that `call` does. */
  plugin<Kind extends PluginKind>(kind: Kind, name: string): PluginOfKind[Kind] {
    const key = `${kind} ${name}`
    const known = this.#plugins.get(key) as PluginOfKind[Kind] | undefined
    if (known !== undefined) return known
    const plugin = this.#connection.plugin(kind, name)
    this.#plugins.set(key, plugin)
    return plugin
  }

  listPlugins(signal?: AbortSignal) {
    return this.call(() => this.#connection.listPlugins(signal))
  }

  /** Does work with its plugins. Rejects as they do, and with UNAVAILABLE when the process ends meanwhile or stops answering. */
  async call<Answer>(work: () => Promise<Answer>, { long = false }: CallKind = {}): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure
    const { promise, reject } = Promise.withResolvers<never>()
    this.#waiting.add(reject)
    using _ = long ? this.holdOpen() : undefined
    try {
      return await Promise.race([work(), promise])
    } catch (error) {
      this.noticeFailure(error)
      throw error
    } finally {
      this.#waiting.delete(reject)
    }
  }

  /** Tells of a failure that came after a call, such as one in the middle of a stream: the next call asks whether the program is there. */
  noticeFailure(error: unknown): void {
    if (connectionIsLost(error)) this.#doubt ??= this.#settleDoubt()
  }

  /** Tells that long work is under way until this is disposed of. */
  holdOpen(): Disposable {
    this.#longCalls += 1
    if (this.#watch === undefined) void this.#watchHealth()
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        this.#longCalls -= 1
      },
    }
  }

  /** Resolves when what it has logged until now was read, and when it is clear whether it has ended. */
  async heard(): Promise<void> {
    await this.#doubt
    await this.#options.child.heard()
  }

  /** Ends it: it is asked to, then killed. Takes a few seconds at most and never rejects. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    const { child, log, limits } = this.#options
    this.#stopWatching()
    if (child.exit === undefined) {
      await Promise.race([this.#connection.shutdown(limits.shutdownMs), child.exited])
    }
    this.#connection.close()
    if (!(await child.gone(limits.shutdownMs))) {
      log.warn({}, 'a plugin program did not end when it was asked to, and is killed')
      child.kill()
      await child.gone(limits.lastWordsMs)
    }
    this.#fail(endedWith(this.#options.program, 'its session'))
    await child.endOutput(limits.lastWordsMs)
    await removeSocket(this.#handshake)
  }

  #exited(): void {
    const { child, program, log } = this.#options
    if (child.exit === undefined) return
    const how = exitText(child.exit)
    this.#failure ??= endedWith(program, how)
    this.#stopWatching()
    if (this.#ending === undefined && !this.#meantEnd.isMeant) {
      const level = child.exit.code === 0 ? 'warn' : 'error'
      log[level]({ exit: how }, 'a plugin program has ended by itself')
    }
    this.#connection.close()
    // The connection tells its calls what they were about; this is for those that it does not tell.
    setTimeout(() => this.#fail(endedWith(program, how)), 500).unref()
  }

  /** It is of no use any more: whoever waits for it waits in vain. */
  #fail(error: PluginError): void {
    this.#failure ??= error
    for (const reject of this.#waiting) reject(this.#failure)
    this.#waiting.clear()
  }

  #stopWatching(): void {
    this.#watch?.abort()
  }

  async #watchHealth(): Promise<void> {
    const { healthEveryMs, healthAnswerMs, healthMisses } = this.#options.limits
    const watch = new AbortController()
    const { signal } = watch
    this.#watch = watch
    let misses = 0
    try {
      while (misses < healthMisses) {
        await after(healthEveryMs, undefined, { signal, ref: false })
        const answers = this.#longCalls === 0 || (await this.#answers(healthAnswerMs))
        misses = answers ? 0 : misses + 1
        signal.throwIfAborted()
      }
    } catch {
      return
    }
    const seconds = ((healthEveryMs + healthAnswerMs) * healthMisses) / 1000
    this.#abandon(`it has not answered for ${seconds} s while work was under way`)
  }

  /** A call found no connection: the program may be about to be gone, or only have said that something else is. */
  async #settleDoubt(): Promise<void> {
    const { child, limits } = this.#options
    const alive = await Promise.race([this.#answers(limits.connectMs), child.exited.then(() => false)])
    if (!alive && !(await child.gone(limits.lastWordsMs))) this.#abandon('its connection is lost')
    this.#doubt = undefined
  }

  /** Whether it answers that it works, or anything else. */
  async #answers(withinMs: number): Promise<boolean> {
    try {
      await this.#connection.checkHealth(AbortSignal.timeout(withinMs))
      return true
    } catch (error) {
      return isPluginError(error) && !error.transport
    }
  }

  #abandon(reason: string): void {
    const { child, program, log } = this.#options
    log.error({ reason }, 'a plugin program does not answer, and is killed')
    this.#fail(
      new PluginError('UNAVAILABLE', {
        reason: `program ${program} was ended: ${reason}`,
        hint: 'Look in the log for what it said before',
      }),
    )
    child.kill()
  }
}

function connectionIsLost(error: unknown): boolean {
  return (
    isPluginError(error, 'UNAVAILABLE') ||
    (error instanceof Error && isPluginError(error.cause, 'UNAVAILABLE'))
  )
}

function endedWith(program: string, how: string): PluginError {
  return new PluginError('UNAVAILABLE', {
    reason: `program ${program} has ended with ${how}`,
    hint: 'Look in the log for what it said last',
  })
}

/** gRPC would try again and again what cannot become better: the socket is there before the line is. */
async function requireListener({ network, address }: Handshake, signal: AbortSignal): Promise<void> {
  if (network !== 'unix') return
  const socket = connect({ path: address, signal })
  try {
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
  } catch (cause) {
    signal.throwIfAborted()
    const { code } = cause as NodeJS.ErrnoException
    const reason = `nothing listens at ${address}, where it said that it does (${code})`
    throw new PluginError('UNAVAILABLE', { reason, cause })
  } finally {
    socket.destroy()
  }
}

function outputLog(log: Logger) {
  const lines = (channel: 'stdout' | 'stderr') =>
    new LineSplitter(({ text, cut }) => log.debug({ channel, ...(cut && { cut }) }, text))
  const splitters = { stdout: lines('stdout'), stderr: lines('stderr') }
  return (channel: 'stdout' | 'stderr', data: Uint8Array) => splitters[channel].push(data)
}

/** Programs that do not know of the host's folder leave their sockets in the system's. */
async function removeSocket({ network, address }: Handshake): Promise<void> {
  if (network !== 'unix' || !path.basename(address).startsWith('plugin')) return
  const stats = await lstat(address).catch(() => undefined)
  if (stats?.isSocket()) await rm(address, { force: true }).catch(() => {})
}
