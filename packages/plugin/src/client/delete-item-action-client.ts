import type { DeleteItemAction } from '../delete-item-action.ts'
import { serializeItem } from '../item-json.ts'
import { DeleteItemAction as Service } from '../proto/velero/delete-item-action_pb.ts'
import { describeItem } from '../wire/action-messages.ts'
import { askSelector } from './ask-selector.ts'
import { backupBytes } from './backup-item-action-client.ts'
import type { PluginCaller } from './plugin-caller.ts'

/** A delete item action in a plugin program. */
export function deleteItemActionClient(caller: PluginCaller): DeleteItemAction {
  const { plugin } = caller
  const { method } = Service
  return {
    appliesTo: () => askSelector(caller, Service.method.appliesTo),
    async execute({ item, backup, signal }) {
      const request = { plugin, item: serializeItem(item), backup: backupBytes(backup) }
      await caller.unary(method.execute, request, {
        doing: `deleting ${describeItem(item)}`,
        signal,
        long: true,
      })
    },
  }
}
