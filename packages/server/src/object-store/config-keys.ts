import { type ObjectStoreConfig, ObjectStoreError } from '@lateen/plugin'

/** What the server itself adds to the settings of every location. */
const addedByServer: readonly string[] = ['bucket', 'prefix', 'caCert', 'credentialsFile']

/** Throws INVALID_CONFIG naming the settings that a provider does not know, and those it does. */
export function rejectUnknownKeys(
  config: ObjectStoreConfig,
  options: { provider: string; known: readonly string[] },
): void {
  const unknown = Object.keys(config)
    .filter(key => !options.known.includes(key) && !addedByServer.includes(key))
    .sort(alphabetically)
  if (unknown.length === 0) return
  const names = unknown.map(key => JSON.stringify(key)).join(', ')
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `config has ${unknown.length === 1 ? 'the unknown key' : 'the unknown keys'} ${names}`,
    hint: `The provider ${options.provider} knows ${options.known.toSorted(alphabetically).join(', ')}`,
  })
}

function alphabetically(a: string, b: string): number {
  return a < b ? -1 : 1
}
