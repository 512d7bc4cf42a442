import type { LogLevel } from './plugin-log.ts'

/** What the host's command line, which plugins are started with, says to them. */
export interface HostFlags {
  logLevel: LogLevel
  features: ReadonlySet<string>
}

const levels: Readonly<Record<string, LogLevel>> = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'error',
  panic: 'error',
}

/** Reads the flags of the host that concern plugins, in any of the ways they may be written. All else is passed over. */
export function parseHostFlags(args: readonly string[]): HostFlags {
  const value = (name: string) => {
    let last: string | undefined
    for (const [index, arg] of args.entries()) {
      if (arg.startsWith(`--${name}=`)) last = arg.slice(name.length + 3)
      else if (arg === `--${name}`) last = args[index + 1]
    }
    return last
  }
  const features = value('features')?.split(',') ?? []
  return {
    logLevel: levels[value('log-level')?.toLowerCase() ?? ''] ?? 'info',
    features: new Set(features.map(feature => feature.trim()).filter(feature => feature !== '')),
  }
}
