import { cpSync } from 'node:fs'
import path from 'node:path'
import { blobId, openFilesystemStorage } from '@lateen/repo'
import { runCommand } from '../../tools/binaries/run-command.ts'
import type { Goal } from '../report.ts'
import { type KopiaFormatContender, kopiaFormatContenders } from './contenders.ts'
import type { DataSet } from './make-data.ts'
import type { Contest, Step } from './steps.ts'

const noMoreThanKopia: Goal = { of: 'ratio', atMost: 1 }
const within256MiB: Goal = { of: 'ours', atMost: 256 }

/** Both programs on copies of one repository with a million contents: look at all of it, add a little, read a little, compact. */
export function openingContest(given: {
  /** The repository that is copied. */
  full: DataSet
  small: DataSet
  scratch: string
}): Contest<KopiaFormatContender> {
  const { full, small, scratch } = given
  const step = (what: string, command: Step<KopiaFormatContender>['command'], memory = within256MiB) => ({
    what: `${full.name}: ${what}`,
    command,
    time: 'without a goal' as const,
    memory,
  })
  return {
    scratch,
    enter: folder => enterWithCopies(folder, full),
    steps: [
      step('count them', contender => contender.countContents),
      step('add a snapshot of 100 files', contender => contender.snapshot(small.folder)),
      step('list a folder of it', contender => contender.listFolder(small.folder)),
      step('restore it', (contender, place) =>
        contender.restore(small.folder, path.join(place.scratch, 'restored', contender.name)),
      ),
      step('compact the index', contender => contender.maintainQuickly, noMoreThanKopia),
    ],
  }
}

async function enterWithCopies(scratch: string, full: DataSet): Promise<KopiaFormatContender[]> {
  const entered = await kopiaFormatContenders(scratch)
  for (const { name, connect, env } of entered) {
    const copy = path.join(scratch, name)
    cpSync(full.folder, copy, { recursive: true })
    await endEpoch(copy)
    const [program, ...args] = connect ?? []
    if (program !== undefined) await runCommand(program, args, { env })
  }
  return entered
}

/** Begins two epochs, so that the one with the indexes has settled and its compaction is due. */
async function endEpoch(folder: string): Promise<void> {
  await using storage = await openFilesystemStorage({ path: folder })
  for (const marker of ['xe1', 'xe2']) await storage.put(blobId(marker), Buffer.from('epoch-marker'))
}
