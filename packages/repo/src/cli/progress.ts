import { printBytes, printDuration } from './printable.ts'

/** How far a long command has come. */
export interface Progress {
  readonly what: string
  readonly bytes: number
  readonly totalBytes?: number | undefined
  readonly files?: number | undefined
  /** Files that needed no reading. */
  readonly cachedFiles?: number | undefined
}

/** Shows progress while a command runs. */
export interface ProgressDisplay {
  update(progress: Progress): void
  /** Removes what stands on a terminal; nothing may be shown after it. */
  end(): void
}

/** Where progress goes. */
export interface ProgressOptions {
  readonly write: (text: string) => void
  readonly now: () => number
  readonly terminal: boolean
  readonly columns?: number | undefined
}

const TERMINAL_INTERVAL = 100
const LINE_INTERVAL = 30_000
const BAR_WIDTH = 20

/** A line that is drawn again and again on a terminal; elsewhere a plain line every half minute. */
export function progressDisplay({ write, now, terminal, columns = 80 }: ProgressOptions): ProgressDisplay {
  const start = now()
  let last = terminal ? Number.NEGATIVE_INFINITY : start
  return {
    update(progress) {
      const time = now()
      if (time - last < (terminal ? TERMINAL_INTERVAL : LINE_INTERVAL)) return
      last = time
      const text = progressText(progress, time - start)
      if (terminal) write(`\r\x1b[K${`${progressBar(progress)}${text}`.slice(0, columns - 1)}`)
      else write(`${text}\n`)
    },
    end() {
      if (terminal && last > Number.NEGATIVE_INFINITY) write('\r\x1b[K')
    },
  }
}

/** A display that shows nothing. */
export const noProgress: ProgressDisplay = { update() {}, end() {} }

/** `[#####...............] `, or nothing while the total is unknown. */
export function progressBar({ bytes, totalBytes }: Pick<Progress, 'bytes' | 'totalBytes'>): string {
  if (totalBytes === undefined || totalBytes === 0) return ''
  const filled = Math.min(BAR_WIDTH, Math.floor((bytes / totalBytes) * BAR_WIDTH))
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] `
}

/** What has been done of what, how fast, and how long the rest takes at that rate. */
export function progressText(progress: Progress, elapsedMs: number): string {
  const { what, bytes, totalBytes, files, cachedFiles } = progress
  const rate = elapsedMs > 0 ? (bytes * 1000) / elapsedMs : 0
  const parts = [
    `${what} ${printBytes(bytes)}${totalBytes === undefined ? '' : ` of ${printBytes(totalBytes)}`}`,
  ]
  if (files !== undefined) parts.push(`${files} files`)
  if (cachedFiles) parts.push(`${cachedFiles} unchanged`)
  if (rate > 0) parts.push(`${printBytes(Math.round(rate))}/s`)
  if (rate > 0 && totalBytes !== undefined && totalBytes > bytes) {
    parts.push(`${printDuration(((totalBytes - bytes) * 1000) / rate)} left`)
  }
  return parts.join(', ')
}
