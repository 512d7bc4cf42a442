import { unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { InstallPorts } from './install-ports.ts'
import { ConfigMapKind } from './installed-kinds.ts'

/** ConfigMaps by the flag that names them. */
export type NamedConfigMaps = Readonly<Record<string, string | undefined>>

/**
 * Looks at the ConfigMaps that flags name: the pods would not start without them. Throws a CliError (`REFUSED`) for one that is
 * missing, empty, or holds something else than JSON objects.
 */
export async function checkConfigMaps(
  maps: NamedConfigMaps,
  namespace: string,
  { client, signal }: InstallPorts,
): Promise<void> {
  const stored = client.resource(ConfigMapKind, namespace)
  for (const [flag, name] of Object.entries(maps)) {
    if (!name) continue
    const found = await stored.get(name, { signal }).catch(unlessNotFound)
    const problem = found === undefined ? 'does not exist' : problemOf(found.data ?? {})
    if (problem === undefined) continue
    throw new CliError('REFUSED', `ConfigMap ${namespace}/${name} of --${flag} ${problem}`, {
      hint: `make it with 'kubectl -n ${namespace} create configmap ${name} --from-file=FILE', where FILE holds the settings as JSON`,
    })
  }
}

/** What is wrong with the data of such a ConfigMap. */
export function problemOf(data: Readonly<Record<string, string>>): string | undefined {
  if (Object.keys(data).length === 0) return 'holds no data'
  for (const [key, text] of Object.entries(data)) {
    if (!isJsonObject(text)) return `holds something else than a JSON object under ${JSON.stringify(key)}`
  }
  return undefined
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
