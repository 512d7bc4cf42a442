import { KubeError } from '@lateen/kube'

/** A name for an object that is only asked about, because its own is taken. */
export function standInName(name: string): string {
  return `plan-${name.slice(0, 50).replace(/[^a-z0-9]+$/i, '')}`
}

/** Refusals that speak of the stand-in, or of what the object that is there still holds. */
const ofStandIn = [
  /exceeded quota/,
  /\balready\b|duplicate|conflict/i,
  /does not support dry run/,
  /not found/,
  /metadata\.name/,
]

/**
 * What the refusal of a stand-in says about the object itself, under its own name; undefined when it says nothing, because it would not
 * be refused or nobody knows.
 */
export function refusalBehind(
  error: unknown,
  { name, standIn }: { name: string; standIn: string },
): KubeError | undefined {
  if (!(error instanceof KubeError) || error.retryable || error.status === undefined) return undefined
  if (ofStandIn.some(pattern => pattern.test(error.message))) return undefined
  const { status, details, hint, cause } = error
  const message = error.message.replaceAll(standIn, () => name)
  return new KubeError(error.code, { message, status, details, hint, cause })
}
