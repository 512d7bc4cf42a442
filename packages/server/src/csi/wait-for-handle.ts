import { goDurationOf } from '@lateen/api'
import { type Clock, type KubeClient, unlessNotFound } from '@lateen/kube'
import { CsiError } from './csi-error.ts'
import { contentOf } from './release-snapshot.ts'
import { type VolumeSnapshotContent, VolumeSnapshotKind } from './snapshot-kinds.ts'
import { faultOf } from './snapshot-progress.ts'

export interface HandleWait {
  client: KubeClient
  clock: Clock
  /** How long it may take from now on. */
  timeoutMs: number
  signal: AbortSignal
}

/** A pod may stand still meanwhile: the first looks come soon. */
const STEPS_MS = { first: 50, longest: 1_000, growth: 1.5 }

/**
 * Waits until a snapshot has a handle: what is written to the volume from then on is not in it. Undefined when the snapshot has gone,
 * as it does when a data mover takes it over. Throws CsiError SNAPSHOT_LATE, KubeErrors, and the signal's reason.
 */
export async function waitForHandle(
  { namespace, name }: { namespace: string; name: string },
  { client, clock, timeoutMs, signal }: HandleWait,
): Promise<VolumeSnapshotContent | undefined> {
  const deadline = clock.now() + timeoutMs
  for (let step = STEPS_MS.first; ; step = Math.min(step * STEPS_MS.growth, STEPS_MS.longest)) {
    const snapshot = await client
      .resource(VolumeSnapshotKind, namespace)
      .get(name, { signal })
      .catch(unlessNotFound)
    if (snapshot === undefined) return undefined
    const content = await contentOf(snapshot, { client, signal })
    if (content?.status?.snapshotHandle) return content
    if (clock.now() >= deadline) {
      const fault = faultOf({ snapshot, content })
      throw new CsiError('SNAPSHOT_LATE', {
        reason: `the snapshot ${namespace}/${name} had no handle after ${goDurationOf(timeoutMs)}${fault && `; its driver says: ${fault}`}`,
        hint: 'See whether the CSI driver and its snapshotter run, or give them longer with --csi-snapshot-timeout',
      })
    }
    await clock.sleep(step, signal)
  }
}
