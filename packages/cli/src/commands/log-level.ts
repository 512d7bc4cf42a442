import type { LogLevel } from '@lateen/server'

/** Levels of Velero's log, and ours that come nearest. */
const levels: Readonly<Record<string, LogLevel>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  fatal: 'fatal',
  panic: 'fatal',
}

/** Our level for a word of Velero's. */
export function logLevelOf(word: string): LogLevel {
  return levels[word] ?? 'info'
}
