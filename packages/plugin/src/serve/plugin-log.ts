import { isAbsolute, relative } from 'node:path'

/** From much to little. A level lets those after it through as well. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

/** Fields of a log entry. Errors become their text, with the place they come from beside it. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Writes to the log of the backup or restore that the host works on. Entries of `warn` and `error` are counted in a backup's
 * status, and one of `error` makes it PartiallyFailed.
 */
export interface PluginLog {
  trace(fields: LogFields, message: string): void
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** A log that adds these fields to every entry. */
  child(fields: LogFields): PluginLog
}

export interface PluginLogOptions {
  level: LogLevel
  /** Takes one line, with its line break. */
  write(line: string): void
}

/** Makes a log whose lines a host of go-plugin understands. */
export function createPluginLog({ level, write }: PluginLogOptions, fields: LogFields = {}): PluginLog {
  const entry = (wanted: LogLevel) => {
    const enabled = logLevels.indexOf(wanted) >= logLevels.indexOf(level)
    return function logEntry(more: LogFields, message: string): void {
      if (!enabled) return
      write(
        serializeLogEntry({
          level: wanted,
          message,
          fields: { ...fields, ...more },
          source: callerOf(logEntry),
        }),
      )
    }
  }
  return {
    trace: entry('trace'),
    debug: entry('debug'),
    info: entry('info'),
    warn: entry('warn'),
    error: entry('error'),
    child: more => createPluginLog({ level, write }, { ...fields, ...more }),
  }
}

export interface LogEntry {
  level: LogLevel
  message: string
  fields: LogFields
  /** `file:line` of the code that logs. */
  source: string
}

// Hosts read lines of up to 64 KiB.
const MAX_LINE_BYTES = 60_000
const MAX_TEXT = 8000
/** Velero dies of these when they are no strings. */
const stringFields = new Set(['name', 'namespace', 'resource', 'error'])
/** What the protocol itself says. */
const reservedFields = new Set([
  '@message',
  '@level',
  '@timestamp',
  '@module',
  '@logSourceSetBy',
  'logSource',
])

/** One entry as a line of JSON in the manner of hclog. An entry that is too long for a host is cut. */
export function serializeLogEntry({ level, message, fields, source }: LogEntry): string {
  const fixed = {
    '@message': String(message).slice(0, MAX_TEXT).toWellFormed(),
    '@level': level,
    logSource: source,
    '@logSourceSetBy': 'plugin',
  }
  const line = stringify({ ...fixed, ...plainFields(fields) })
  if (line !== undefined && Buffer.byteLength(line) < MAX_LINE_BYTES) return `${line}\n`
  return `${JSON.stringify({ ...fixed, cut: 'fields that are too long or cannot be written were left out' })}\n`
}

function plainFields(fields: LogFields): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (reservedFields.has(name) || value === undefined) continue
    if (value instanceof Error) Object.assign(plain, errorFields(name, value))
    else plain[name] = stringFields.has(name) && typeof value !== 'string' ? asText(value) : value
  }
  return plain
}

function errorFields(name: string, error: Error): Record<string, string> {
  const field = name === 'err' ? 'error' : name
  const [place = ''] = (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line))
  const [, called = '', file = ''] = /^\s+at (?:(.+?) \()?(.+?)\)?$/.exec(place) ?? []
  return { [field]: error.message, [`${field}.file`]: file, [`${field}.function`]: called }
}

function asText(value: unknown): string {
  return typeof value === 'object' && value !== null ? (stringify(value) ?? '') : String(value)
}

function stringify(value: object): string | undefined {
  try {
    return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part))
  } catch {
    return undefined
  }
}

/** `file:line` of what called a function. */
function callerOf(callee: (...args: never[]) => unknown): string {
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, callee)
  const line = holder.stack?.split('\n')[1] ?? ''
  const [, file = 'plugin', number = '0'] = /(?:file:\/\/)?([^()\s]+):(\d+):\d+\)?$/.exec(line) ?? []
  return `${isAbsolute(file) ? relative(process.cwd(), file) : file}:${number}`
}
