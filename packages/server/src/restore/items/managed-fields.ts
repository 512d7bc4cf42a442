import type { ActionItem } from '@lateen/plugin'

/** An entry of `metadata.managedFields`. */
interface FieldOwner {
  manager?: string
  operation?: string
  subresource?: string
}

/** How the owners of an object's fields come back. */
export interface OwnersPlan {
  /** Named in the request that creates the object. */
  readonly fieldManager: string | undefined
  /** Named in the request that gives it back its status. */
  readonly statusManager: string | undefined
  /** To be written by a request of its own; undefined when naming the manager is enough. */
  readonly entries: readonly unknown[] | undefined
}

// What the server accepts as the name of a manager.
const usableName = /^\P{C}{1,128}$/u

/**
 * How to restore who owns which field. Owners sent in a create are ignored by the API server, but it records the manager that
 * the request names as the one who set all of the object. So where one manager has set all of it, but for the status, there
 * is nothing to write afterwards; status and its owners are made anew by the cluster.
 */
export function planOwners({ metadata }: ActionItem): OwnersPlan {
  const owners = (metadata.managedFields ?? []) as readonly FieldOwner[]
  const ofStatus = owners.filter(({ subresource }) => subresource === 'status')
  const ofObject = owners.filter(({ subresource }) => subresource !== 'status')
  const [first, ...others] = ofObject
  const statusManager = usable(ofStatus[0]?.manager)
  if (first === undefined) return { fieldManager: undefined, statusManager, entries: undefined }
  const fieldManager = usable(first.manager)
  const suffices =
    others.length === 0 && fieldManager !== undefined && first.operation === 'Update' && !first.subresource
  return { fieldManager, statusManager, entries: suffices ? undefined : owners }
}

function usable(manager: string | undefined): string | undefined {
  return manager !== undefined && usableName.test(manager) ? manager : undefined
}
