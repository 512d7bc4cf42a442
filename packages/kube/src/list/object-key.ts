import type { KubeObject } from '../object.ts'

/**
 * Orders objects as the API server's lists do: by storage key, which ends in `namespace/name`. Compared as
 * strings, because `/` sorts before letters and after `-` and `.`.
 */
export function objectKey(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata
  return namespace === undefined ? name : `${namespace}/${name}`
}
