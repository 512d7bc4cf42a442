import type { Clock } from '@lateen/kube'
import { isTerminal } from '../output/paint.ts'
import { progressBar } from '../output/progress.ts'
import { type Counts, ProgressTracker } from './progress-tracker.ts'

const EVERY_MS = 250
const USUAL_COLUMNS = 80
const CLEAR_LINE = '\r\u001b[K'

/** A bar for commands whose output is not for watching. Disposing removes it. */
export interface TerminalProgress extends Disposable {
  /** May be called any number of times. */
  seen(counts: Counts): void
}

/** Shows progress on a stream that is a terminal, and on others nothing. */
export function terminalProgress(out: NodeJS.WritableStream, clock: Clock): TerminalProgress {
  const tracker = new ProgressTracker(clock.now())
  let next = clock.now()
  let shown = false
  return {
    seen(counts) {
      const now = clock.now()
      if (now < next || !isTerminal(out)) return
      next = now + EVERY_MS
      shown = true
      const columns = 'columns' in out && typeof out.columns === 'number' ? out.columns : USUAL_COLUMNS
      out.write(CLEAR_LINE + progressBar(tracker.seen(counts, now), columns))
    },
    [Symbol.dispose]() {
      if (shown) out.write(CLEAR_LINE)
      shown = false
    },
  }
}
