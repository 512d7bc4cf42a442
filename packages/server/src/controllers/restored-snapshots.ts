import { isTerminal, type Restore, RestoreKind } from '@lateen/api'
import {
  again,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  periodically,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import type { RestoredPair } from '../csi/decide-restored-pair.ts'
import { listGroupStandIns, removeGroupStandIn } from '../csi/group-stand-in.ts'
import { listRestoredPairs, removeUnneededPairs } from '../csi/restored-pairs.ts'
import type { BusyKeys } from './busy-keys.ts'
import type { LatestObjects } from './latest-objects.ts'

export interface RestoredSnapshotsOptions {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  informer: Informer<Restore>
  restores: LatestObjects<Restore>
  /** Keys of the restores that are worked on. */
  busy: BusyKeys
}

const EVERY_MS = 60_000
/** While claims wait for their pods, which mostly come soon, or late. */
const SOON_MS = 2_000
const SOON_TIMES = 60

/**
 * Removes snapshots that restores have filled volumes from and that their finalizer left: those of claims that waited for a pod, and those
 * of restores that failed, were deleted, or whose server died.
 */
export function restoredSnapshotsController(options: RestoredSnapshotsOptions): ControllerOptions {
  const { client, informer } = options
  let unchanged = { waiting: '', times: 0 }

  /** Whether the same pairs have waited for long. */
  function isOld(pairs: readonly { pair: RestoredPair }[]): boolean {
    const waiting = pairs.map(({ pair }) => `${pair.namespace}/${pair.name}`).join()
    unchanged = { waiting, times: waiting === unchanged.waiting ? unchanged.times + 1 : 0 }
    return unchanged.times > SOON_TIMES
  }

  async function reconcile(_key: string, { log, signal }: ReconcileContext): Promise<Outcome> {
    const ports = { client, log, signal }
    const pairs = (await listRestoredPairs(ports)).filter(pair => isOver(pair, options))
    const { waiting, failed } = await removeUnneededPairs(pairs, ports)
    for (const { pair, error } of failed) {
      const { namespace, name: snapshot, restoredBy: restore } = pair
      log.warn({ error, namespace, snapshot, restore }, 'a restored snapshot cannot be removed')
    }
    const needed = new Set([...waiting, ...failed].map(({ pair }) => pair.restoreUid))
    for (const standIn of await listGroupStandIns(ports)) {
      if (isOver(standIn, options) && !needed.has(standIn.restoreUid))
        await removeGroupStandIn(standIn, ports)
    }
    const left = [...waiting, ...failed]
    return left.length > 0 && !isOld(left) ? again({ afterMs: SOON_MS }) : done()
  }

  const all = () => ['restored-snapshots']
  return {
    name: 'restored-snapshots',
    sources: [
      watching({
        informer,
        predicate: ({ type, object }) => type === 'deleted' || isEnded(object),
        toKeys: all,
      }),
      periodically({ everyMs: EVERY_MS, keys: all }),
    ],
    reconcile,
  }
}

function isEnded({ status }: Restore): boolean {
  return isTerminal(RestoreKind, status?.phase)
}

/** Whether the restore of a pair is one of ours, and creates no more claims. */
function isOver(
  { restoreUid, restoredBy }: Pick<RestoredPair, 'restoreUid' | 'restoredBy'>,
  { namespace, restores, busy }: Pick<RestoredSnapshotsOptions, 'namespace' | 'restores' | 'busy'>,
): boolean {
  if (!restoredBy.startsWith(`${namespace}/`) || busy.has(restoredBy)) return false
  const restore = restores.get(restoredBy)
  return restore?.metadata.uid !== restoreUid || isEnded(restore)
}
