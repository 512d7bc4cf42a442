import type { Logger } from '@lateen/kube'
import type { ProgramLauncher } from './program-launcher.ts'
import {
  type InitialisedKind,
  type PluginConfig,
  type PluginKey,
  RestartableProgram,
} from './restartable-program.ts'

export interface SessionProgramsOptions {
  launcher: Pick<ProgramLauncher, 'start'>
  log: Logger
  signal?: AbortSignal | undefined
}

/**
 * The programs of one session: one process for each program. Only where two plugins of the same kind and name want different settings,
 * such as two locations of one provider, is there another process, because a program keeps one set of them.
 */
export class SessionPrograms implements AsyncDisposable {
  readonly #options: SessionProgramsOptions
  readonly #byFile = new Map<string, [RestartableProgram, ...RestartableProgram[]]>()

  constructor(options: SessionProgramsOptions) {
    this.#options = options
  }

  program(file: string): RestartableProgram {
    return this.#of(file)[0]
  }

  programFor(file: string, key: PluginKey<InitialisedKind>, config: PluginConfig): RestartableProgram {
    const all = this.#of(file)
    const fitting = all.find(program => program.hasRoomFor(key, config))
    if (fitting !== undefined) return fitting
    const another = new RestartableProgram({ file, ...this.#options })
    all.push(another)
    return another
  }

  async heard(): Promise<void> {
    await Promise.all(this.#all.map(program => program.heard()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map(program => program[Symbol.asyncDispose]()))
  }

  get #all(): RestartableProgram[] {
    return [...this.#byFile.values()].flat()
  }

  #of(file: string): [RestartableProgram, ...RestartableProgram[]] {
    const known = this.#byFile.get(file)
    if (known !== undefined) return known
    const first: [RestartableProgram] = [new RestartableProgram({ file, ...this.#options })]
    this.#byFile.set(file, first)
    return first
  }
}
