import type { KubeObject } from '../object.ts'

/** `namespace/name`, or just `name` for cluster-scoped objects: how queues and caches name an object. */
export function keyOf(object: KubeObject): string {
  return joinKey({ namespace: object.metadata.namespace, name: object.metadata.name ?? '' })
}

/** The parts of a key. */
export interface ObjectKey {
  /** Absent for cluster-scoped objects. */
  namespace?: string | undefined
  name: string
}

/** The inverse of `splitKey`. */
export function joinKey({ namespace, name }: ObjectKey): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** Splits at the first slash; neither namespaces nor names contain one. */
export function splitKey(key: string): ObjectKey {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
