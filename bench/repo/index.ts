import { rm } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from '../../tools/binaries/cache-folder.ts'
import { type Measured, measureProcess } from '../measure-process.ts'
import type { Goal } from '../report.ts'
import type { BenchContext } from '../run.ts'
import { type Contender, contenders } from './contenders.ts'
import { type DataSet, makeDataSets, warmUp } from './make-data.ts'

type Name = Contender['name']
type Results = Record<Name, Measured>

/** Uploads and restores beside kopia and restic: whole processes, the same folders, each on a repository of its own. */
export async function bench(context: BenchContext): Promise<void> {
  const root = path.join(cacheFolder(), 'bench')
  context.progress('making the data')
  const { large, tree } = makeDataSets(path.join(root, 'data'))
  const scratch = path.join(root, 'scratch')
  await rm(scratch, { recursive: true, force: true })
  const all = await contenders(scratch)
  const measure = measureAll(context, { all, scratch })
  await measure('create a repository', contender => contender.create)
  for (const { set, goals } of [
    { set: large, goals: { first: 1, restore: 1 } },
    { set: tree, goals: { first: 0.5, restore: 1 } },
  ]) {
    await measureSet(context, { set, goals, measure, scratch })
  }
  context.note(
    'whole processes, repositories and data on one disk, page cache warm; contenders one after the other',
  )
  context.note('kopia 0.22.3 and restic as Debian has it; kopia does not fsync, lateen-repo does')
  await rm(scratch, { recursive: true, force: true })
}

type Measure = (
  what: string,
  command: (contender: Contender) => string[] | Promise<string[]>,
) => Promise<Results>

function measureAll(context: BenchContext, { all, scratch }: { all: Contender[]; scratch: string }): Measure {
  return async (what, command) => {
    const results: Partial<Results> = {}
    for (const contender of all) {
      context.progress(`${what}: ${contender.name}`)
      const outputFile = path.join(scratch, 'output')
      const { signal } = context
      results[contender.name] = await measureProcess(await command(contender), {
        signal,
        outputFile,
        env: contender.env,
      })
    }
    return results as Results
  }
}

interface SetPlan {
  set: DataSet
  goals: { first: number; restore: number }
  measure: Measure
  scratch: string
}

async function measureSet(context: BenchContext, { set, goals, measure, scratch }: SetPlan): Promise<void> {
  warmUp(set)
  const first = await measure(`first upload, ${set.name}`, contender => contender.snapshot(set.folder))
  reportTimes(context, `first upload, ${set.name}`, {
    results: first,
    goal: { of: 'ratio', atMost: goals.first },
  })
  reportMemory(context, `first upload, ${set.name}`, first)
  const again = await measure(`again, unchanged, ${set.name}`, contender => contender.snapshot(set.folder))
  reportTimes(context, `again, unchanged, ${set.name}`, {
    results: again,
    goal: { of: 'ratio', atMost: 0.5 },
  })
  const restored = await measure(`restore, ${set.name}`, contender =>
    contender.restore(set.folder, path.join(scratch, 'restored', contender.name)),
  )
  reportTimes(context, `restore, ${set.name}`, {
    results: restored,
    goal: { of: 'ratio', atMost: goals.restore },
  })
  reportMemory(context, `restore, ${set.name}`, restored)
  await rm(path.join(scratch, 'restored'), { recursive: true, force: true })
}

function reportTimes(
  context: BenchContext,
  what: string,
  { results, goal }: { results: Results; goal: Goal },
): void {
  const ours = { value: results['lateen-repo'].wallMs, unit: 'ms' }
  for (const name of ['kopia', 'restic'] as const) {
    context.report({ what, ours, peer: { name, value: results[name].wallMs, unit: 'ms' }, goal })
  }
}

function reportMemory(context: BenchContext, what: string, results: Results): void {
  const ours = { value: results['lateen-repo'].peakMiB, unit: 'MiB' }
  const peer = { name: 'kopia', value: results.kopia.peakMiB, unit: 'MiB' }
  context.report({ what: `${what}, peak memory`, ours, peer, goal: { of: 'ratio', atMost: 1 } })
}
