import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { type Measured, measureProcess } from '../measure-process.ts'
import type { Goal } from '../report.ts'
import type { BenchContext } from '../run.ts'
import type { CommandLine, Contender } from './contenders.ts'

/** One thing that every contender does. */
export interface Step<C extends Contender> {
  what: string
  command(contender: C, place: Place): CommandLine | Promise<CommandLine>
  /** What our time is held against; not reported when absent. */
  time?: Goal | 'without a goal'
  /** What our memory is held against; not reported when absent. */
  memory?: Goal | 'without a goal'
}

/** Where one contender works in one round. */
export interface Place {
  /** A folder for this round alone. */
  scratch: string
}

/** Contenders and what they do, from an empty folder on. */
export interface Contest<C extends Contender> {
  enter(scratch: string): Promise<C[]>
  steps: readonly Step<C>[]
  scratch: string
}

const rounds = 2

type BestOf = Map<Contender['name'], Measured>

/**
 * Lets all contenders do all steps, twice from the beginning and the second time in the other order, and reports the
 * best of both: what is left of noise then is the machine's, not one contender's. Returns our best times by step.
 */
export async function runContest<C extends Contender>(
  context: BenchContext,
  contest: Contest<C>,
): Promise<Map<string, Measured>> {
  const best = new Map(contest.steps.map(step => [step, new Map() as BestOf]))
  for (let round = 1; round <= rounds; round += 1) {
    const scratch = path.join(contest.scratch, `round-${round}`)
    await rm(scratch, { recursive: true, force: true })
    await mkdir(scratch, { recursive: true })
    const entered = await contest.enter(scratch)
    if (round % 2 === 0) entered.reverse()
    for (const [step, results] of best) {
      for (const contender of entered) {
        context.progress(`${round}/${rounds} ${step.what}: ${contender.name}`)
        const measured = await measure(context, { step, contender, scratch })
        results.set(contender.name, better(results.get(contender.name), measured))
      }
    }
    await rm(scratch, { recursive: true, force: true })
  }
  for (const [step, results] of best) reportStep(context, step, results)
  return new Map([...best].flatMap(([{ what }, results]) => entryOf(what, results.get('lateen-repo'))))
}

async function measure<C extends Contender>(
  { signal }: BenchContext,
  { step, contender, scratch }: { step: Step<C>; contender: C; scratch: string },
): Promise<Measured> {
  const command = await step.command(contender, { scratch })
  return measureProcess(command, { signal, env: contender.env, outputFile: path.join(scratch, 'output') })
}

function better(known: Measured | undefined, { wallMs, peakMiB }: Measured): Measured {
  if (known === undefined) return { wallMs, peakMiB }
  return { wallMs: Math.min(known.wallMs, wallMs), peakMiB: Math.min(known.peakMiB, peakMiB) }
}

function reportStep<C extends Contender>(context: BenchContext, step: Step<C>, results: BestOf): void {
  const ours = results.get('lateen-repo')
  if (ours === undefined) return
  const peers = [...results].filter(([name]) => name !== 'lateen-repo')
  for (const [name, peer] of step.time ? peers : []) {
    context.report({
      what: step.what,
      ours: { value: ours.wallMs, unit: 'ms' },
      peer: { name, value: peer.wallMs, unit: 'ms' },
      ...goalOf(step.time),
    })
  }
  for (const [name, peer] of step.memory ? peers.filter(([name]) => name === 'kopia') : []) {
    context.report({
      what: `${step.what}, peak memory`,
      ours: { value: ours.peakMiB, unit: 'MiB' },
      peer: { name, value: peer.peakMiB, unit: 'MiB' },
      ...goalOf(step.memory),
    })
  }
}

function goalOf(wanted: Goal | 'without a goal' | undefined): { goal?: Goal } {
  return wanted === undefined || wanted === 'without a goal' ? {} : { goal: wanted }
}

function entryOf(what: string, measured: Measured | undefined): [string, Measured][] {
  return measured === undefined ? [] : [[what, measured]]
}
