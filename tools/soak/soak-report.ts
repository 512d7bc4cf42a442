import { type Machine, printMachine } from '../test/describe-machine.ts'
import type { SoakPlan } from './plan.ts'

/** What came of one soak. */
export interface SoakResult {
  plan: SoakPlan
  machine: Machine
  started: Date
  seconds: number
  firstSeed: number
  seeds: number
  exitCode: number
  /** What the tests printed, for the part that a report keeps. */
  output: string
}

const keptLines = 200

/** The report of a soak as Markdown: machine, seeds, verdict, the counts and, after a failure, the end of the output. */
export function printSoakReport(result: SoakResult): string {
  const { plan, machine, started, seconds, firstSeed, seeds, exitCode } = result
  const lines = result.output.trimEnd().split('\n')
  const counts = sums(lines)
  const head = [
    `# Soak ${plan.name}: ${exitCode === 0 ? 'passed' : 'FAILED'}`,
    '',
    `Shows that ${plan.shows}.`,
    '',
    `- started ${started.toISOString()}, took ${Math.round(seconds)} s`,
    `- ${printMachine(machine)}`,
    `- seeds ${firstSeed} to ${firstSeed + seeds - 1}`,
    `- files matching ${plan.files.map(file => `\`${file}\``).join(', ')}`,
    `- ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ') || `no summary, exit code ${exitCode}`}`,
    '',
  ]
  if (exitCode === 0) return head.join('\n')
  return [...head, '```text', ...lines.slice(-keptLines), '```', ''].join('\n')
}

/** The counts of one summary, or of several added up. */
function sums(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) {
    const [, name, count] = /^ℹ (tests|pass|fail|cancelled|skipped) (\d+)$/.exec(line) ?? []
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + Number(count))
  }
  return counts
}
