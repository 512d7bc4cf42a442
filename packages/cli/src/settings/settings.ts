import { parseBoolean } from '../parse/boolean.ts'
import type { Settings } from '../tree/command.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { globalFlags } from '../tree/global-flags.ts'
import type { ClientConfig } from './client-config.ts'

/** The sources of settings, strongest first. */
export interface SettingSources {
  readonly flags: FlagValues<typeof globalFlags>
  readonly config: ClientConfig
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Merges the sources: flag over client configuration over environment over default; features add up. */
export function settingsOf({ flags, config, env }: SettingSources): Settings {
  return {
    namespace: flags.namespace || text(config, 'namespace') || env.VELERO_NAMESPACE || 'velero',
    kubeconfig: flags.kubeconfig || undefined,
    kubecontext: flags.kubecontext || undefined,
    features: [...new Set([...featuresIn(config), ...flags.features])],
    colorized: flags.colorized ?? parseBoolean(text(config, 'colorized') ?? '') ?? true,
    cacert: text(config, 'cacert') || undefined,
  }
}

function text(config: ClientConfig, key: string): string | undefined {
  const value = config[key]
  return typeof value === 'string' ? value : undefined
}

function featuresIn(config: ClientConfig): string[] {
  return (text(config, 'features') ?? '').split(',').filter(feature => feature !== '')
}
