import { QuickstartError } from './quickstart-error.ts'

export interface StepTellerOptions {
  /** Takes one line at a time. */
  print(line: string): void
  /** Milliseconds from whenever on. */
  now(): number
  signal: AbortSignal
}

/** What a step says while it runs. */
export type Tell = (text: string) => void

/** Tells what happens, step by step, with the time that each took. */
export class StepTeller {
  readonly #options: StepTellerOptions
  #count = 0

  constructor(options: StepTellerOptions) {
    this.#options = options
  }

  /** Lines between the steps. */
  say(text: string): void {
    for (const line of text.split('\n')) this.#options.print(line)
  }

  /**
   * Runs a step and tells of it. Throws a QuickstartError that names the step for what it throws, and the signal's reason as soon as it is
   * aborted: the step itself may then still run, but says nothing any more.
   */
  async step<T>(title: string, work: (tell: Tell) => Promise<T>): Promise<T> {
    const { now, print, signal } = this.#options
    signal.throwIfAborted()
    this.#count += 1
    print('')
    print(`${this.#count}. ${title}`)
    const started = now()
    const tell: Tell = text => {
      if (signal.aborted) return
      for (const line of text.trimEnd().split('\n')) print(`   ${line}`)
    }
    const result = await until(signal, work(tell)).catch(cause => {
      signal.throwIfAborted()
      throw failedStep(title, cause)
    })
    print(`   [${seconds(now() - started)}]`)
    return result
  }
}

function failedStep(title: string, cause: unknown): QuickstartError {
  const { message = String(cause), hint = '' } = cause as { message?: string; hint?: string }
  const reason = message.trim().replace(/\s*\n\s*/g, ' ')
  return new QuickstartError(`The step "${title}" failed: ${reason.replace(/\.$/, '')}`, {
    hint: reason.includes(hint) ? 'Nothing after it was tried' : hint,
    cause,
  })
}

/** What the work resolves to, unless the signal is aborted first. */
async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** A time as people read it. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
