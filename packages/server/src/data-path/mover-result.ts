import type { DataMovePhase } from '@lateen/api'
import type { Informer, KubeObject } from '@lateen/kube'
import { jsonObject } from './json-object.ts'
import type { MoverEvent } from './mover-reports.ts'
import type { MoverState } from './mover-state.ts'

/** The index of an informer by what its events are about. */
export const aboutIndex = 'about'

/** For `InformerOptions.indexes`. */
export const indexedByAbout = {
  [aboutIndex]: ({ involvedObject: { uid } }: MoverEvent) => (uid === undefined ? [] : [uid]),
}

/** What the mover of an object has said to be the result of its work; undefined as long as it said none that is whole. */
export function resultOf({ metadata }: KubeObject, results: Informer<MoverEvent>): string | undefined {
  return results
    .byIndex(aboutIndex, metadata.uid ?? '')
    .map(({ message }) => message)
    .find(message => jsonObject(message) !== undefined)
}

/**
 * How a mover stands that may have told its result. What has told it has nothing left to do: the kubelet takes a second or more to notice
 * that it ended, and whatever becomes of its pod by then, the data are where they should be. Before it moves it has no result, and when
 * that is written down only its pod matters.
 */
export function withResult(
  state: MoverState,
  { phase, result }: { phase: DataMovePhase; result: string | undefined },
): MoverState {
  const isMoving = phase === 'InProgress' || phase === 'Canceling'
  if (!isMoving || result === undefined) return state
  return { type: 'ended', well: true, lastWords: result }
}
