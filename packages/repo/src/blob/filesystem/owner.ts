import { errnoOf } from '../filesystem-error.ts'
import { lstat } from './calls.ts'

/** Whom new files and folders of a repository belong to. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Whom to give what is made in a repository: its folder's owner where this process is root, so that he who is not can still read,
 * maintain and delete it. Undefined where whatever is made is right as it is.
 */
export async function ownerIn(root: string, uid = process.getuid?.()): Promise<Owner | undefined> {
  if (uid !== 0) return undefined
  const { uid: owner, gid } = await lstat(root)
  return owner === 0 ? undefined : { uid: owner, gid }
}

/** Gives something away. Servers of files that do not let root do that decide themselves whom it belongs to. */
export async function giveAway(give: () => Promise<void>): Promise<void> {
  try {
    await give()
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(errnoOf(error) ?? '')) throw error
  }
}
