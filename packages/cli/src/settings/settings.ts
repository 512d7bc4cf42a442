import { CliError } from '../cli-error.ts'
import { parseBoolean } from '../parse/boolean.ts'
import type { Settings } from '../tree/command.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { globalFlags } from '../tree/global-flags.ts'
import type { ClientConfig } from './client-config.ts'

/** The sources of settings, strongest first. */
export interface SettingSources {
  readonly flags: Pick<
    FlagValues<typeof globalFlags>,
    'namespace' | 'kubeconfig' | 'kubecontext' | 'features' | 'colorized' | 'request-timeout'
  >
  readonly config: ClientConfig
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Merges the sources: flag over client configuration over environment over default; features add up. Throws a CliError
 * for a `--colorized` that is no boolean.
 */
export function settingsOf({ flags, config, env }: SettingSources): Settings {
  return {
    namespace: flags.namespace || text(config, 'namespace') || env.VELERO_NAMESPACE || 'velero',
    kubeconfig: flags.kubeconfig || undefined,
    kubecontext: flags.kubecontext || undefined,
    features: [...new Set([...featuresIn(config), ...flags.features])],
    colorized: colorizedFlag(flags.colorized) ?? parseBoolean(text(config, 'colorized') ?? '') ?? true,
    cacert: text(config, 'cacert') || undefined,
    requestTimeoutMs: Math.max(0, flags['request-timeout'].milliseconds),
  }
}

function colorizedFlag(given: string | undefined): boolean | undefined {
  if (!given) return undefined
  const value = parseBoolean(given)
  if (value !== undefined) return value
  throw new CliError('USAGE', `--colorized must be true or false, and ${JSON.stringify(given)} is not`)
}

function text(config: ClientConfig, key: string): string | undefined {
  const value = config[key]
  return typeof value === 'string' ? value : undefined
}

function featuresIn(config: ClientConfig): string[] {
  return (text(config, 'features') ?? '').split(',').filter(feature => feature !== '')
}
