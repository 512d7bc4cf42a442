import type { KubeObject } from '../object.ts'

/**
 * The version of an object as a number: of two objects of one kind, that with the higher one was written later. The API promises it since
 * 1.35, and etcd's revisions always did. 0 for one that has none.
 */
export function versionOf({ metadata }: KubeObject): bigint {
  return numberOf(metadata.resourceVersion)
}

/** Whether a version was written after another of its kind. One that cannot be compared is not. */
export function isLaterVersion(version: string | undefined, other: string | undefined): boolean {
  return numberOf(other) > 0n && numberOf(version) > numberOf(other)
}

function numberOf(version: string | undefined): bigint {
  return /^\d+$/.test(version ?? '') ? BigInt(version ?? '') : 0n
}
