import type { Logger } from '@lateen/kube'

export interface CollectedEntry {
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** A log that keeps everything. */
export interface CollectedLog extends Logger {
  readonly entries: readonly CollectedEntry[]
}

export function collectLog(): CollectedLog {
  const entries: CollectedEntry[] = []
  const logger = (more: object): Logger => {
    const entry = (level: CollectedEntry['level']) => (fields: object, message: string) =>
      void entries.push({ level, message, fields: { ...more, ...fields } })
    return {
      debug: entry('debug'),
      info: entry('info'),
      warn: entry('warn'),
      error: entry('error'),
      child: fields => logger({ ...more, ...fields }),
    }
  }
  return { ...logger({}), entries }
}
