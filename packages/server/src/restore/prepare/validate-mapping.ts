import type { RestoreSpec } from '@lateen/api'
import { createNameFilter } from '../../filters/name-filter.ts'

const maxLength = 63
const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/**
 * What is wrong with the namespace mapping of a spec: targets that no namespace can be called, and several namespaces that would be
 * restored into one.
 */
export function mappingErrors(spec: RestoreSpec): string[] {
  const mapping = Object.entries(spec.namespaceMapping ?? {})
  const restored = createNameFilter({ includes: spec.includedNamespaces, excludes: spec.excludedNamespaces })
  const invalid = mapping.flatMap(([from, to]) =>
    isNamespaceName(to)
      ? []
      : [
          `Invalid namespace mapping ${JSON.stringify(`${from}:${to}`)}: ${JSON.stringify(to)} cannot be the name of a ` +
            `namespace, which has at most ${maxLength} lower case letters, digits and dashes, and no dash at either end`,
        ],
  )
  const byTarget = Map.groupBy(
    mapping.filter(([from]) => restored.includes(from)),
    ([, to]) => to,
  )
  const conflicts = [...byTarget]
    .filter(([, sources]) => sources.length > 1)
    .map(([to, sources]) => {
      const names = sources.map(([from]) => from).sort()
      return (
        `Invalid namespace mapping: ${names.join(' and ')} would both be restored into ${to}; ` +
        'map each to a namespace of its own, or restore them one after the other'
      )
    })
  return [...invalid, ...conflicts]
}

function isNamespaceName(name: string): boolean {
  return name.length <= maxLength && label.test(name)
}
