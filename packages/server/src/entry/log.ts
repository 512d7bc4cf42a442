import type { Writable } from 'node:stream'
import type { Logger } from '@lateen/kube'
import { pino } from 'pino'
import type { LogLevel } from './server-options.ts'

export interface LogOptions {
  level: LogLevel
  format: 'text' | 'json'
  out: Writable
}

/** A log of one line for each event: JSON, or `time level message key=value …` for people. */
export function createLog({ level, format, out }: LogOptions): Logger {
  const options = {
    level,
    // The name alone, not the number, and no process id and host on each line.
    formatters: { level: (label: string) => ({ level: label }) },
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Pino does this for `err` alone: the message of an error is none of its enumerable properties.
    serializers: { error: pino.stdSerializers.err },
  }
  const write = (line: string) => void out.write(format === 'json' ? line : `${formatTextLine(line)}\n`)
  return pino(options, { write })
}

/** Turns a JSON line of the log into a readable one. Never throws: what is not such a line stays as it is. */
export function formatTextLine(json: string): string {
  const event = parseEvent(json)
  if (event === undefined) return json.trimEnd()
  const { time, level, msg, ...fields } = event
  const pairs = Object.entries(fields).map(([key, value]) => `${key}=${formatValue(value)}`)
  return [time, String(level).toUpperCase().padEnd(5), msg, ...pairs].join(' ')
}

function parseEvent(json: string): Record<string, unknown> | undefined {
  try {
    const event: unknown = JSON.parse(json)
    return typeof event === 'object' && event !== null ? { ...event } : undefined
  } catch {
    return undefined
  }
}

function formatValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value && 'stack' in value) {
    return JSON.stringify(value.message)
  }
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value
  return JSON.stringify(value)
}
