import { rm } from 'node:fs/promises'
import { loadavg } from 'node:os'
import path from 'node:path'
import { cacheFolder } from '../../tools/binaries/cache-folder.ts'
import type { BenchContext } from '../run.ts'
import { type Contender, contenders, password } from './contenders.ts'
import { type DataSet, makeDataSets, makeMillionFiles, makeWideFolder, warmUp } from './make-data.ts'
import { makeFullRepository } from './make-full-repository.ts'
import { openingContest } from './open-full-repository.ts'
import { measureStages } from './stages.ts'
import { type Contest, runContest, type Step } from './steps.ts'

/** `--million`: also a million files, and one folder of 200,000, which takes some ten minutes more. */
export const flags = ['--million']

/** Uploads, restores and opening beside kopia and restic: whole processes, the same folders, each on a repository of its own. */
export async function bench(context: BenchContext): Promise<void> {
  const root = path.join(cacheFolder(), 'bench')
  const scratch = path.join(root, 'scratch')
  const data = path.join(root, 'data')
  await rm(scratch, { recursive: true, force: true })
  const [busy = 0] = loadavg()
  context.progress('making the data')
  const { large, tree, small } = makeDataSets(data)
  await benchFolder(context, { set: large, scratch, goals: { first: 1, again: 0.5, restore: 1 } })
  await benchFolder(context, { set: tree, scratch, goals: { first: 0.5, again: 0.5, restore: 1 } })
  const full = await makeFullRepository(data, password)
  await runContest(context, openingContest({ full, small, scratch }))
  if (context.flags.has('--million')) {
    for (const set of [makeMillionFiles(data), makeWideFolder(data)]) {
      warmUp(set)
      await runContest(context, millionContest(set, scratch))
    }
  }
  context.note(
    'whole processes, best of two runs, contenders by turns; data and repositories on one disk, page cache warm',
  )
  context.note('kopia 0.22.3 and restic as Debian has it; kopia does not fsync, lateen-repo does')
  context.note(`the machine's load average was ${busy.toFixed(1)} before the first run`)
  await rm(scratch, { recursive: true, force: true })
}

interface FolderPlan {
  set: DataSet
  scratch: string
  /** The share of the peer's time that we want to take. */
  goals: { first: number; again: number; restore: number }
}

async function benchFolder(context: BenchContext, { set, scratch, goals }: FolderPlan): Promise<void> {
  warmUp(set)
  const what = { first: `first upload, ${set.name}`, again: `again, unchanged, ${set.name}` }
  const restored = (contender: Contender, root: string) => path.join(root, 'restored', contender.name)
  const best = await runContest(context, {
    scratch,
    enter: contenders,
    steps: [
      create,
      {
        what: what.first,
        command: contender => contender.snapshot(set.folder),
        time: ratio(goals.first),
        memory: ratio(1),
      },
      { what: what.again, command: contender => contender.snapshot(set.folder), time: ratio(goals.again) },
      {
        what: `restore, ${set.name}`,
        command: (contender, place) => contender.restore(set.folder, restored(contender, place.scratch)),
        time: ratio(goals.restore),
        memory: ratio(1),
      },
    ],
  })
  await measureStages(context, { set, scratch, uploadMs: best.get(what.first)?.wallMs })
}

function millionContest(set: DataSet, scratch: string): Contest<Contender> {
  const upload: Step<Contender> = {
    what: `first upload, ${set.name}`,
    command: contender => contender.snapshot(set.folder),
    time: ratio(1),
    memory: { of: 'ours', atMost: 512 },
  }
  return { scratch, enter: contenders, steps: [create, upload] }
}

const create: Step<Contender> = { what: 'create a repository', command: contender => contender.create }

function ratio(atMost: number) {
  return { of: 'ratio', atMost } as const
}
