import type { ItemBlockAction } from '../item-actions.ts'
import { serializeItem } from '../item-json.ts'
import { ItemBlockAction as Service } from '../proto/velero/item-block-action_pb.ts'
import { describeItem, identifiersFromWire } from '../wire/action-messages.ts'
import { askSelector } from './ask-selector.ts'
import { backupBytes } from './backup-item-action-client.ts'
import type { PluginCaller } from './plugin-caller.ts'

/** An item block action in a plugin program. */
export function itemBlockActionClient(caller: PluginCaller): ItemBlockAction {
  const { plugin } = caller
  const { method } = Service
  return {
    appliesTo: () => askSelector(caller, Service.method.appliesTo),
    async getRelatedItems({ item, backup, signal }) {
      const request = { plugin, item: serializeItem(item), backup: backupBytes(backup) }
      const doing = `asking what is related to ${describeItem(item)}`
      const answer = await caller.unary(method.getRelatedItems, request, { doing, signal, long: true })
      return identifiersFromWire(answer.relatedItems)
    },
  }
}
