import type { VolumeAction } from './volume-policy.ts'

/** The parameter of a `snapshot` that says whether the content of the snapshot is moved into the repository. Velero accepts it and does not look at it. */
export const moveParameter = 'snapshotMoveData'

/** What a policy says about moving the snapshots of its volumes; undefined when it says nothing. */
export function movesByPolicy(action: VolumeAction | undefined): boolean | undefined {
  return action?.type === 'snapshot' ? truthOf(action.parameters?.[moveParameter]) : undefined
}

/** Why the parameters of an action cannot be used; undefined when they can. Those that we do not know are for others. */
export function moveParameterProblem({ type, parameters }: VolumeAction): string | undefined {
  const value = parameters?.[moveParameter] ?? undefined
  if (type !== 'snapshot' || value === undefined || truthOf(value) !== undefined) return undefined
  return 'must be true or false'
}

function truthOf(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : undefined
}
