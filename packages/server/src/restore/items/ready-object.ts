import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../../item/item.ts'
import { createSurely } from '../sink/create-surely.ts'
import type { SinkAnswer, SinkTarget } from '../sink/sink.ts'
import type { ItemInHand, ItemOutcome } from './item-outcome.ts'
import { labelMapOf } from './reset-object.ts'
import type { RestoreRun } from './restore-run.ts'

/** An object that is ready to be sent. */
export interface ReadyObject {
  readonly run: RestoreRun
  readonly item: ItemInHand
  /** Of the object as it is now: an action may have changed it. */
  readonly groupResource: GroupResource
  readonly target: SinkTarget
  /** Without status, owners and field owners. */
  readonly object: ActionItem
  /** What is sent besides to create it, such as references to owners. */
  readonly metadata?: Partial<ActionItem['metadata']> | undefined
  readonly fieldManager: string | undefined
  readonly signal: AbortSignal
}

/** What came of sending an object. */
export interface PlacedObject {
  readonly outcome: ItemOutcome
  /** As the server has it, if this restore created it. */
  readonly created?: ActionItem | undefined
  /** As the server has it, if it was there and stays. */
  readonly live?: ActionItem | undefined
}

/** Sends an object. Throws as `createSurely` does. */
export function createReady(ready: ReadyObject): Promise<SinkAnswer> {
  const { run, target, metadata, fieldManager, signal } = ready
  const object = { ...ready.object, metadata: { ...ready.object.metadata, ...metadata } }
  const isOurs = (live: ActionItem) => hasLabels(live, labelMapOf(run.labels))
  return createSurely(run.ports.sink, { target, object, options: { fieldManager, signal }, isOurs })
}

/** Whether an object carries the labels of this restore, so that it was this one who created it. */
function hasLabels({ metadata }: ActionItem, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)
}
