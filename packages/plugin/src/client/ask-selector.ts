import type { Message } from '@bufbuild/protobuf'
import type { GenMessage } from '@bufbuild/protobuf/codegenv2'
import type { ResourceSelector } from '../item-actions.ts'
import type { ResourceSelector as WireSelector } from '../proto/velero/shared_pb.ts'
import { selectorFromWire } from '../wire/action-messages.ts'
import type { WireMethod } from '../wire/grpc-method.ts'
import type { PluginCaller } from './plugin-caller.ts'

/** `AppliesTo` of any kind of action: each has messages of its own, with the same fields. */
type AppliesTo = WireMethod<
  GenMessage<Message & { plugin: string }>,
  GenMessage<Message & { ResourceSelector?: WireSelector | undefined }>
>

/** Asks an action which objects it is for. Rejects as `PluginCaller.unary` does. */
export async function askSelector(caller: PluginCaller, appliesTo: AppliesTo): Promise<ResourceSelector> {
  const { plugin } = caller
  const answer = await caller.unary(appliesTo, { plugin }, { doing: 'asking what it applies to' })
  return selectorFromWire(answer.ResourceSelector)
}
