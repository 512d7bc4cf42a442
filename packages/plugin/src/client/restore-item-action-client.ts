import { durationMs } from '@bufbuild/protobuf/wkt'
import type { Restore } from '@lateen/api'
import { serializeItem } from '../item-json.ts'
import { RestoreItemAction as V1 } from '../proto/velero/restore-item-action_pb.ts'
import { RestoreItemAction as V2 } from '../proto/velero/restore-item-action-v2_pb.ts'
import type { ResourceIdentifier as WireIdentifier } from '../proto/velero/shared_pb.ts'
import type {
  RestoreActionInput,
  RestoreItemAction,
  RestoreItemResult,
  RestoreOperationInput,
} from '../restore-item-action.ts'
import {
  answeredItem,
  describeItem,
  identifiersFromWire,
  identifiersToWire,
  progressFromWire,
} from '../wire/action-messages.ts'
import { askSelector } from './ask-selector.ts'
import type { PluginCaller } from './plugin-caller.ts'

/** A restore item action of version 1 in a plugin program: no operations, nothing to wait for. */
export function restoreItemActionClient(caller: PluginCaller): RestoreItemAction {
  const { plugin } = caller
  return {
    appliesTo: () => askSelector(caller, V1.method.appliesTo),
    async execute(input) {
      const { request, doing } = executing(caller, input)
      const answer = await caller.unary(V1.method.execute, request, {
        doing,
        signal: input.signal,
        long: true,
      })
      return result(input, answer, `plugin ${plugin}, ${doing}`)
    },
  }
}

/** A restore item action of version 2. */
export function restoreItemActionV2Client(caller: PluginCaller): RestoreItemAction {
  const { plugin } = caller
  const { method } = V2
  const operation = ({ operationId, restore }: RestoreOperationInput) => ({
    ...{ plugin, operationID: operationId, restore: restoreBytes(restore) },
  })
  return {
    appliesTo: () => askSelector(caller, V2.method.appliesTo),
    async execute(input) {
      const { request, doing } = executing(caller, input)
      const answer = await caller.unary(method.execute, request, { doing, signal: input.signal, long: true })
      const { operationID, waitForAdditionalItems, additionalItemsReadyTimeout: timeout } = answer
      return {
        ...result(input, answer, `plugin ${plugin}, ${doing}`),
        ...(operationID !== '' && { operationId: operationID }),
        ...(waitForAdditionalItems && { waitForAdditionalItems }),
        ...(timeout !== undefined && { additionalItemsReadyTimeout: durationMs(timeout) }),
      }
    },
    async areAdditionalItemsReady({ additionalItems, restore, signal }) {
      const request = {
        plugin,
        restore: restoreBytes(restore),
        additionalItems: identifiersToWire(additionalItems),
      }
      const doing = 'asking whether additional items are ready'
      return (await caller.unary(method.areAdditionalItemsReady, request, { doing, signal })).ready
    },
    async progress(input) {
      const doing = `asking for the progress of operation ${input.operationId}`
      const answer = await caller.unary(method.progress, operation(input), { doing, signal: input.signal })
      return progressFromWire(answer.progress, `plugin ${plugin}, ${doing}`)
    },
    async cancel(input) {
      const doing = `cancelling operation ${input.operationId}`
      await caller.unary(method.cancel, operation(input), { doing, signal: input.signal })
    },
  }
}

function restoreBytes(restore: Restore): Uint8Array {
  return serializeItem(restore)
}

function executing({ plugin }: PluginCaller, { item, itemFromBackup, restore }: RestoreActionInput) {
  return {
    request: {
      plugin,
      item: serializeItem(item),
      itemFromBackup: serializeItem(itemFromBackup),
      restore: restoreBytes(restore),
    },
    doing: `executing on ${describeItem(item)}`,
  }
}

interface Answer {
  item: Uint8Array
  additionalItems: WireIdentifier[]
  skipRestore: boolean
}

function result({ item }: RestoreActionInput, answer: Answer, about: string): RestoreItemResult {
  if (answer.skipRestore) return { item, skip: true }
  const additionalItems = identifiersFromWire(answer.additionalItems)
  return { item: answeredItem(answer.item, about), additionalItems }
}
