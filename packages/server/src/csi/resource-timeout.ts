import { annotationNames, type Backup, durationMilliseconds } from '@lateen/api'

export interface ResourceTimeout {
  timeoutMs: number
  /** What is wrong with that of the backup. */
  problem?: string
}

/** How long what a backup has in the cluster may take: as the server that took it wrote down, or as long as is usual here. */
export function resourceTimeoutOf({ metadata }: Backup, usualMs: number): ResourceTimeout {
  const text = metadata.annotations?.[annotationNames.resourceTimeout]
  const unreadable = {
    timeoutMs: usualMs,
    problem: `${annotationNames.resourceTimeout} is ${JSON.stringify(text)}, which is no duration above 0`,
  }
  try {
    const own = durationMilliseconds(text)
    if (own === undefined) return { timeoutMs: usualMs }
    return own > 0 ? { timeoutMs: own } : unreadable
  } catch {
    return unreadable
  }
}
