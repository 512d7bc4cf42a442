import { format } from 'node:util'
import type { PluginLog } from './plugin-log.ts'

const MAX_HELD = 16_000

/**
 * Sends what the program prints to its log, from now on. Hosts throw away what comes on standard output after the handshake, and stop
 * reading it at a long line.
 */
export function redirectOutput(log: PluginLog): void {
  const entry = (level: 'debug' | 'info' | 'warn' | 'error') => {
    return (...values: unknown[]) => log[level]({}, format(...values))
  }
  Object.assign(console, {
    log: entry('info'),
    info: entry('info'),
    debug: entry('debug'),
    trace: entry('debug'),
    warn: entry('warn'),
    error: entry('error'),
  })
  process.stdout.write = lineWriter(line => log.info({}, line))
}

/** A `write` that hands out whole lines, and long ones in parts. */
function lineWriter(take: (line: string) => void): typeof process.stdout.write {
  let held = ''
  return (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    held += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const lines = held.split('\n')
    held = lines.pop() ?? ''
    for (const line of lines) take(line)
    for (; held.length > MAX_HELD; held = held.slice(MAX_HELD)) take(held.slice(0, MAX_HELD))
    const done = rest.find(argument => typeof argument === 'function')
    if (done) queueMicrotask(done as () => void)
    return true
  }
}
