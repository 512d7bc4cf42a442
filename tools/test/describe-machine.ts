import os from 'node:os'

/** The machine a measurement was made on, as its report names it. */
export interface Machine {
  cpu: string
  cores: number
  memoryGiB: number
  system: string
  node: string
}

/** Asks the operating system what the measurements of this process run on. */
export function describeMachine(): Machine {
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown processor',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
  }
}

/** One line for the head of a report. */
export function printMachine({ cpu, cores, memoryGiB, system, node }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}`
}
