import type { Informer, KubeClient, ResourceType } from '@lateen/kube'
import { parseProgressWords } from '../data-path/mover-message.ts'
import type { MoverEvent } from '../data-path/mover-reports.ts'
import type { LatestObjects } from './latest-objects.ts'
import type { VolumeMove } from './move-sort.ts'
import { patchObject } from './patch-object.ts'

export interface FollowPorts<T extends VolumeMove> {
  client: KubeClient
  kind: ResourceType<T>
  objects: LatestObjects<T>
  /** Of movers, about progress. */
  events: Informer<MoverEvent>
  signal: AbortSignal
}

/** Notes in an object how far its mover says that it has come. Throws KubeErrors. */
export async function followProgress<T extends VolumeMove>(
  object: T,
  { client, kind, objects, events, signal }: FollowPorts<T>,
): Promise<void> {
  const { name } = object.metadata
  const latest = events
    .list()
    .filter(({ involvedObject: about }) => about.kind === kind.kind && about.name === name)
    .map(({ message }) => parseProgressWords(message))
    .filter(words => words !== undefined)
    .sort((a, b) => a.doneBytes - b.doneBytes)
    .at(-1)
  const { bytesDone = 0, totalBytes = 0 } = object.status?.progress ?? {}
  if (latest === undefined || (latest.doneBytes === bytesDone && latest.totalBytes === totalBytes)) return
  const progress = { bytesDone: latest.doneBytes, totalBytes: latest.totalBytes }
  const patch = { type: 'merge', body: { status: { progress } } } as const
  await patchObject<T>(object, { kind, patch }, { client, latest: objects, signal })
}
