/** What the resource list says of an object. */
export interface ListedObject {
  apiVersion: string
  kind: string
  /** Empty for objects without one. */
  namespace: string
  name: string
}

/** `-resource-list.json.gz`: the objects by `v1/Pod` or `apps/v1/Deployment`, each list sorted. */
export type ResourceList = Record<string, string[]>

export function resourceListOf(objects: Iterable<ListedObject>): ResourceList {
  const lists = new Map<string, string[]>()
  for (const { apiVersion, kind, namespace, name } of objects) {
    const type = `${apiVersion}/${kind}`
    const list = lists.get(type)
    const entry = namespace === '' ? name : `${namespace}/${name}`
    if (list === undefined) lists.set(type, [entry])
    else list.push(entry)
  }
  const sorted = [...lists].sort(([a], [b]) => compare(a, b))
  return Object.fromEntries(sorted.map(([type, names]) => [type, names.sort(compare)]))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
