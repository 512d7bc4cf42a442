import { usageError } from './usage-error.ts'

/**
 * Reads `KEY=VALUE` labels; a key without the prefix `tag:` gets it, as Kopia's own command line does. Throws
 * `INVALID_ARGUMENT`.
 */
export function parseTags(texts: readonly string[]): Record<string, string> {
  const tags: Record<string, string> = {}
  for (const text of texts) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (key === undefined || value === undefined)
      throw usageError(`"${text}" is no label`, 'write --tag KEY=VALUE')
    tags[key.startsWith('tag:') ? key : `tag:${key}`] = value
  }
  return tags
}
