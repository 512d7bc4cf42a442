import type { CommandContext } from './command.ts'
import { noProgress, type Progress, progressDisplay } from './progress.ts'

/** Shows progress on stderr while `work` runs, unless told to be quiet. */
export async function withProgress<T>(
  { output, surroundings }: CommandContext,
  work: (show: (progress: Progress) => void) => Promise<T>,
): Promise<T> {
  const { stderr, clock } = surroundings
  const display = output.quiet
    ? noProgress
    : progressDisplay({
        write: text => stderr.write(text),
        now: () => clock.now(),
        terminal: stderr.isTTY === true,
        columns: stderr.columns,
      })
  try {
    return await work(progress => display.update(progress))
  } finally {
    display.end()
  }
}
