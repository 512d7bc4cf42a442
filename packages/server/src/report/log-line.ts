import { errorText } from './results.ts'

/** One event of a backup's log. */
export interface LogEvent {
  /** Milliseconds since 1970. */
  time: number
  level: LogLevel
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** From most to least talkative. */
export const logLevels = ['debug', 'info', 'warning', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

/** A line without its end, in the notation that Velero's logs have, so that tools which read those read ours. */
export function formatLogLine(event: LogEvent, format: 'text' | 'json'): string {
  return format === 'json' ? jsonLine(event) : textLine(event)
}

// Without quotes where logrus has none: letters, digits and -._/@^+
const plain = /^[\w\-./@^+]+$/

function textLine({ time, level, message, fields }: LogEvent): string {
  let line = `time="${isoSeconds(time)}" level=${level} msg=${quoted(message)}`
  for (const key of keysOf(fields)) line += ` ${key}=${quoted(valueText(fields[key]))}`
  return line
}

function jsonLine({ time, level, message, fields }: LogEvent): string {
  const line: Record<string, unknown> = {}
  for (const key of keysOf(fields)) line[key] = jsonValue(fields[key])
  return JSON.stringify({ ...line, level, msg: message, time: isoSeconds(time) })
}

function keysOf(fields: object): string[] {
  return Object.keys(fields).sort((a, b) => (a < b ? -1 : 1))
}

function quoted(text: string): string {
  return plain.test(text) ? text : JSON.stringify(text)
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return errorText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function jsonValue(value: unknown): unknown {
  return value instanceof Error ? errorText(value) : value
}

function isoSeconds(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`
}
