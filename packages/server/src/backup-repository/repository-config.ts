import { RepositoryError } from './repository-error.ts'

/** The settings that repositories take; a ConfigMap may hold others, which nothing reads. */
const knownSettings = ['cacheLimitMB', 'fullMaintenanceInterval']

/**
 * The settings for new repositories of one type from the ConfigMap of `--backup-repository-configmap`: under the type's name, a JSON
 * object. Undefined when it says nothing of that type. Throws `INVALID_CONFIG`.
 */
export function parseRepositoryConfig(
  data: Readonly<Record<string, string>>,
  { type, name }: { type: string; name: string },
): Record<string, string> | undefined {
  const text = data[type]
  if (text === undefined) return undefined
  const settings = jsonObject(text)
  if (settings === undefined) {
    throw new RepositoryError('INVALID_CONFIG', {
      reason: `the key ${JSON.stringify(type)} of the ConfigMap ${name} is no JSON object`,
      hint: `Write it like {"cacheLimitMB": 2048, "fullMaintenanceInterval": "fastGC"}; known are ${knownSettings.join(' and ')}`,
    })
  }
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, String(value)]))
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
