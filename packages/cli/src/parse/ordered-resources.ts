import { CliError } from '../cli-error.ts'

/**
 * Reads `pods=ns1/a,ns1/b;persistentvolumes=x`: for each resource, what to back up first and in which order. Throws a
 * CliError (`USAGE`) for anything else.
 */
export function parseOrderedResources(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(';').map(entry => {
      const [resource, order, ...more] = entry.split('=')
      if (resource === undefined || order === undefined || more.length > 0) {
        throw new CliError('USAGE', `invalid OrderedResources '${entry}'`, {
          hint: "write --ordered-resources like 'pods=ns1/pod1,ns1/pod2;persistentvolumes=pv1'",
        })
      }
      return [resource.trim(), order.trim()]
    }),
  )
}
