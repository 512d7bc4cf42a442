import type { SplitLine } from './line-splitter.ts'

export type PluginLogLevel = 'debug' | 'info' | 'warn' | 'error'

/** What a line on a program's standard error says. */
export interface PluginLogEntry {
  level: PluginLogLevel
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** Reads the lines of one program. A line that is no entry of go-hclog is told as it is, at debug or as its beginning says. */
export class PluginLogReader {
  /** Once a program in Go panics, what follows is its stack, line by line. */
  #panicking: boolean = false

  read({ text, cut }: SplitLine): PluginLogEntry {
    const entry = cut ? beginningOfEntry(text) : entryOf(text)
    if (entry !== undefined) return entry
    return { level: this.#levelOf(text), message: text, fields: cut ? { cut } : {} }
  }

  #levelOf(text: string): PluginLogLevel {
    const prefix = /^\[(TRACE|DEBUG|INFO|WARN|ERROR)\]/.exec(text)?.[1]
    if (prefix !== undefined) return levels[prefix.toLowerCase()] ?? 'debug'
    if (/^(panic|fatal error): /.test(text)) this.#panicking = true
    return this.#panicking ? 'error' : 'debug'
  }
}

/** Of go-hclog, and those that logrus has beyond it. */
const levels: Readonly<Record<string, PluginLogLevel>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'error',
  panic: 'error',
}

/** Said by the host itself, or of no use to it. */
const dropped = new Set(['@message', '@level', '@timestamp', '@logSourceSetBy', 'time', 'timestamp', 'level'])
/** By these the reports of backups tell where a line belongs. */
const names = new Set(['name', 'namespace', 'resource'])

function entryOf(text: string): PluginLogEntry | undefined {
  const parsed = parseObject(text)
  if (parsed === undefined) return undefined
  const level = levels[String(parsed['@level']).toLowerCase()]
  if (level === undefined) return undefined
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(parsed)) {
    if (!dropped.has(key)) fields[key === 'msg' ? 'fields.msg' : key] = names.has(key) ? asText(value) : value
  }
  return { level, message: asText(parsed['@message'] ?? ''), fields }
}

/** Of an entry that is too long to be read whole: what it says first. */
function beginningOfEntry(text: string): PluginLogEntry | undefined {
  if (!text.startsWith('{')) return undefined
  const level = levels[/"@level":"(\w+)"/.exec(text)?.[1]?.toLowerCase() ?? '']
  const written = /"@message":"((?:[^"\\]|\\.)*)/.exec(text)?.[1]
  if (level === undefined || written === undefined) return undefined
  return { level, message: unescaped(written), fields: { cut: true } }
}

function unescaped(written: string): string {
  try {
    return String(JSON.parse(`"${written}"`))
  } catch {
    return written
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
