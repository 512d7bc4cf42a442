import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { status } from '@grpc/grpc-js'
import { type CsiCode, CsiError } from './csi-error.ts'

/** What goes wrong with calls of a method. */
export interface CallFault {
  /** Such as `CreateSnapshot`. */
  method: string
  /** The first call that is struck, counted from 1 since the faults were set; the first one of all when absent. */
  at?: number
  /** How many calls are struck; all from then on when absent. */
  times?: number
  delayMs?: number
  error?: {
    code: CsiCode
    message: string
    /** Whether the work is done before, so that only its answer is lost. */
    afterwards?: boolean
  }
}

/** What goes wrong in the driver. */
export interface Faults {
  calls?: readonly CallFault[]
  /** How long after its creation a snapshot may be used; at once when absent. */
  snapshotsReady?: { afterMs: number } | 'never'
  /** Whether a snapshot of a group can only be deleted with its group. */
  groupMembersStay?: boolean
}

const file = (stateFolder: string) => path.join(stateFolder, 'faults.json')

/** Sets what goes wrong in the driver that keeps its state in a folder, from its next call on; `{}` ends all faults. */
export async function setFaults(stateFolder: string, faults: Faults): Promise<void> {
  const target = file(stateFolder)
  await writeFile(`${target}.new`, JSON.stringify(faults))
  await rename(`${target}.new`, target)
}

/** The faults of a driver, as they are set while it runs. */
export class FaultControl {
  readonly #file: string
  #text = '{}'
  #faults: Faults = {}
  #calls = new Map<string, number>()
  /** One call reads after the other: what was read before the faults were set must not take their place again. */
  #lastRead: Promise<unknown> = Promise.resolve()

  constructor(stateFolder: string) {
    this.#file = file(stateFolder)
  }

  /** The faults that hold now. Throws INTERNAL for a file that says none. */
  current(): Promise<Faults> {
    const read = this.#lastRead.then(() => this.#read())
    this.#lastRead = read.catch(() => undefined)
    return read
  }

  async #read(): Promise<Faults> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}')
    if (text !== this.#text) {
      this.#faults = parseFaults(text)
      this.#text = text
      this.#calls = new Map()
    }
    return this.#faults
  }

  /** Counts a call and returns the faults that strike it. */
  async strike(method: string): Promise<CallFault[]> {
    const { calls = [] } = await this.current()
    const number = (this.#calls.get(method) ?? 0) + 1
    this.#calls.set(method, number)
    return calls.filter(fault => fault.method === method && isStruck(fault, number))
  }
}

/** Whether a fault strikes the call of its method with a number. */
export function isStruck({ at = 1, times = Number.POSITIVE_INFINITY }: CallFault, number: number): boolean {
  return number >= at && number < at + times
}

/** Throws INTERNAL for text that is not the JSON of faults. */
export function parseFaults(text: string): Faults {
  try {
    const faults: Faults = JSON.parse(text)
    for (const { method, error } of faults.calls ?? []) {
      if (typeof method !== 'string') throw new Error('a fault has no method')
      if (error && !(error.code in status)) throw new Error(`there is no code ${error.code}`)
    }
    return faults
  } catch (cause) {
    throw new CsiError('INTERNAL', `faults.json cannot be used: ${(cause as Error).message}`, { cause })
  }
}
