import type { KubeObject } from '../object.ts'

/**
 * The version of an object as a number: of two objects of one kind, that with the higher one was written later. The API promises it since
 * 1.35, and etcd's revisions always did. 0 for one that has none.
 */
export function versionOf({ metadata }: KubeObject): bigint {
  return /^\d+$/.test(metadata.resourceVersion ?? '') ? BigInt(metadata.resourceVersion ?? '') : 0n
}
