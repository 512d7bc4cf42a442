import type { Restore } from '@lateen/api'
import { builtInKind, type Clock, type KubeClient, type Logger, unlessNotFound } from '@lateen/kube'
import type { ClaimToFill } from '../../csi/decide-restored-pair.ts'
import { listGroupStandIns, removeGroupStandIn } from '../../csi/group-stand-in.ts'
import {
  listRestoredPairs,
  type PairPorts,
  removeUnneededPairs,
  type SweptPairs,
} from '../../csi/restored-pairs.ts'
import type { StorageClass } from './next-claim-step.ts'

export interface RemoveSnapshotsPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  /** When to leave the rest to the sweep. */
  giveUp: number
  /** Whether the restore still exists and is to wait. */
  isWanted(): boolean
}

const pollMs = 1_000
const classKind = builtInKind<StorageClass>('StorageClass')

/**
 * Removes the snapshots that a restore has filled volumes from, each as soon as its claim is bound. Those of claims that wait for a pod are
 * left to the sweep, and so are all that are late, and everything while the API server does not answer. Returns those that could not be
 * removed, and those of claims that should have been bound by now. Throws the signal's reason.
 */
export async function removeRestoredSnapshots(
  { metadata }: Restore,
  ports: RemoveSnapshotsPorts,
  signal: AbortSignal,
): Promise<SweptPairs> {
  const { client, clock, log } = ports
  const scope: PairPorts = { client, log, signal }
  try {
    for (;;) {
      const pairs = await listRestoredPairs(scope, metadata.uid ?? '')
      const { waiting, failed } = await removeUnneededPairs(pairs, scope)
      if (waiting.length + failed.length === 0) await removeStandIns(metadata.uid ?? '', scope)
      const overdue = await bindingByThemselves(waiting, scope)
      if (clock.now() >= ports.giveUp) return { waiting: overdue, failed }
      if (overdue.length === 0 || !ports.isWanted()) return { waiting: [], failed }
      await clock.sleep(pollMs, signal)
    }
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ error, restore: metadata.name }, 'restored snapshots are left to the sweep')
    return { waiting: [], failed: [] }
  }
}

/** What stood for groups that snapshots were taken with. */
async function removeStandIns(restoreUid: string, scope: PairPorts): Promise<void> {
  for (const each of await listGroupStandIns(scope, restoreUid)) await removeGroupStandIn(each, scope)
}

/** Those of claims that get their volumes without a pod. */
async function bindingByThemselves(
  waiting: SweptPairs['waiting'],
  { client, signal }: PairPorts,
): Promise<SweptPairs['waiting']> {
  const waitForPods = new Map<string, boolean>()
  for (const name of new Set(waiting.map(({ claim }) => classOf(claim)))) {
    const found =
      name === '' ? undefined : await client.resource(classKind).get(name, { signal }).catch(unlessNotFound)
    waitForPods.set(name, found?.volumeBindingMode === 'WaitForFirstConsumer')
  }
  return waiting.filter(({ claim }) => !waitForPods.get(classOf(claim)))
}

function classOf({ spec }: ClaimToFill): string {
  return spec?.storageClassName ?? ''
}
