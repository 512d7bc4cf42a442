import { type KubeClient, unlessNotFound } from '@lateen/kube'
import type { BackedUpObjects, ResourceIdentifier } from '@lateen/plugin'
import { snapshotGroup, VolumeSnapshotClassKind } from './snapshot-kinds.ts'

/** Which class a restored snapshot is to have. */
export interface RestorableClass {
  /** Undefined where there is none: a snapshot that is only read needs one for its secrets alone. */
  name: string | undefined
  /** The class, where the cluster gets it from the backup. */
  fromBackup?: ResourceIdentifier | undefined
}

export interface ClassToRestore {
  /** That it had. */
  name: string | undefined
  driver: string
  backedUp: BackedUpObjects
  signal?: AbortSignal | undefined
}

/** Finds classes for restored snapshots. Throws KubeErrors. */
export type RestorableClasses = (wanted: ClassToRestore) => Promise<RestorableClass>

/**
 * Keeps the class of a snapshot where the cluster or the backup has it. A class that is nowhere would keep the snapshot from being read, so
 * that another one of the driver takes its place, as with Velero. What the cluster has is asked once for each class.
 */
export function restorableClasses(client: KubeClient): RestorableClasses {
  const live = new Map<string, Promise<boolean>>()
  const isLive = (name: string, signal: AbortSignal | undefined) => {
    const known = live.get(name)
    if (known !== undefined) return known
    const asking = classes()
      .get(name, { signal })
      .catch(unlessNotFound)
      .then(found => found !== undefined)
    live.set(name, asking)
    asking.catch(() => live.delete(name))
    return asking
  }
  const classes = () => client.resource(VolumeSnapshotClassKind)
  return async ({ name, driver, backedUp, signal }) => {
    if (!name) return { name: undefined }
    if (await isLive(name, signal)) return { name }
    const id = { group: snapshotGroup, resource: 'volumesnapshotclasses', namespace: '', name }
    if ((await backedUp.read(id)) !== undefined) return { name, fromBackup: id }
    const all = await classes().list({ signal }).toArray()
    return { name: all.find(each => each.driver === driver)?.metadata.name }
  }
}
