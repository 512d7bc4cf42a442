import { isRepoError } from '../errors/repo-error.ts'
import type { ForgetOutcome } from './repository-provider.ts'

/** Forgets one after the other; a missing snapshot counts as forgotten, cancelling ends it all. */
export async function forgetEach(
  snapshotIds: readonly string[],
  forget: (snapshotId: string) => Promise<void>,
): Promise<ForgetOutcome[]> {
  const outcomes: ForgetOutcome[] = []
  for (const snapshotId of snapshotIds) {
    try {
      await forget(snapshotId)
      outcomes.push({ snapshotId })
    } catch (error) {
      if (!isRepoError(error) || error.code === 'CANCELLED') throw error
      outcomes.push(
        error.code === 'MANIFEST_NOT_FOUND' ? { snapshotId, missing: true } : { snapshotId, error },
      )
    }
  }
  return outcomes
}
