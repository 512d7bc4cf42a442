const stages = ['alpha', 'beta', undefined]

interface KubeVersion {
  major: number
  stage: number
  minor: number
}

/** Sorts versions as API servers do, the best first: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then all others by name. */
export function byKubePriority(a: string, b: string): number {
  const left = parsed(a)
  const right = parsed(b)
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1
    if (right !== undefined) return 1
    return a < b ? -1 : a > b ? 1 : 0
  }
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor
}

function parsed(version: string): KubeVersion | undefined {
  const [matched, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  if (matched === undefined) return undefined
  return { major: Number(major), stage: stages.indexOf(stage), minor: Number(minor ?? 0) }
}
