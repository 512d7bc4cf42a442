import type { BenchContext } from '../run.ts'
import type { Measured } from './measure-work.ts'

/** The phases of a move, in their order. */
const phases = ['created', 'Accepted', 'Prepared', 'InProgress', 'Completed']

/** Writes down how long each volume was in each phase. */
export function noteTimes(context: BenchContext, what: string, { seconds, volumes, bytes }: Measured): void {
  const each = volumes.map(times => {
    const known = phases.filter(phase => times[phase] !== undefined)
    const lasted = known.slice(1).map((phase, at) => {
      const since = times[known[at] ?? ''] ?? 0
      return `${phase} after ${(((times[phase] ?? 0) - since) / 1000).toFixed(2)}`
    })
    return lasted.join(', ')
  })
  const mib = (bytes / 2 ** 20).toFixed(0)
  context.note(`${what}: ${seconds.toFixed(2)} s, ${mib} MiB; ${each.join('; ')} s`)
}
