import { humanDuration } from './human-duration.ts'

/** How far something has come. */
export interface Progress {
  readonly phase: string
  readonly queuePosition?: number | undefined
  readonly done: number
  readonly total: number
  /** Undefined until it can be told. */
  readonly perSecond?: number | undefined
  /** Likewise. */
  readonly leftMs?: number | undefined
  readonly elapsedMs: number
  /** What is being worked on. */
  readonly current?: string | undefined
}

const BAR_WIDTH = 24
const NARROWEST = 40

/** One line for a log: phase, items, rate and the time left, as far as they are known. */
export function progressLine(progress: Progress): string {
  return [headOf(progress), countsOf(progress), ...ratesOf(progress)].filter(Boolean).join(', ')
}

/** The same for a terminal of this many columns, with a bar, never longer than one line. */
export function progressBar(progress: Progress, columns: number): string {
  const { done, total, current } = progress
  const share = total > 0 ? Math.min(1, done / total) : 0
  const filled = Math.round(share * BAR_WIDTH)
  const bar = total > 0 ? `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]` : ''
  const percent = total > 0 ? `${Math.floor(share * 100)}%` : ''
  const parts = [headOf(progress), bar, percent, countsOf(progress), ...ratesOf(progress), current ?? '']
  return parts
    .filter(Boolean)
    .join(' ')
    .slice(0, Math.max(NARROWEST, columns) - 1)
}

function headOf({ phase, queuePosition, elapsedMs }: Progress): string {
  const place = phase === 'Queued' && queuePosition ? ` (position ${queuePosition})` : ''
  return `${phase}${place} ${humanDuration(elapsedMs)}`
}

function countsOf({ done, total }: Progress): string {
  return total > 0 ? `${done}/${total} items` : ''
}

function ratesOf({ done, total, perSecond, leftMs }: Progress): string[] {
  if (perSecond === undefined || done >= total) return []
  const rate = perSecond >= 10 ? Math.round(perSecond) : perSecond.toFixed(1)
  return [`${rate}/s`, leftMs === undefined ? '' : `${humanDuration(leftMs)} left`]
}
