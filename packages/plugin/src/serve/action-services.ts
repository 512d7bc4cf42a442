import { durationFromMs } from '@bufbuild/protobuf/wkt'
import type { Server } from '@grpc/grpc-js'
import type { Backup, Restore } from '@lateen/api'
import type { ActionItem, BackupItemAction, BackupItemResult } from '../item-actions.ts'
import { parseItem } from '../item-json.ts'
import { asyncOperationsNotSupported, PluginError } from '../plugin-error.ts'
import { BackupItemAction as BackupV1 } from '../proto/velero/backup-item-action_pb.ts'
import { BackupItemAction as BackupV2 } from '../proto/velero/backup-item-action-v2_pb.ts'
import { BackupItemAction as BackupV3 } from '../proto/velero/backup-item-action-v3_pb.ts'
import { DeleteItemAction } from '../proto/velero/delete-item-action_pb.ts'
import { ItemBlockAction } from '../proto/velero/item-block-action_pb.ts'
import { RestoreItemAction as RestoreV1 } from '../proto/velero/restore-item-action_pb.ts'
import { RestoreItemAction as RestoreV2 } from '../proto/velero/restore-item-action-v2_pb.ts'
import type { RestoreItemAction, RestoreItemResult } from '../restore-item-action.ts'
import {
  describeItem,
  identifiersFromWire,
  identifiersToWire,
  itemToWire,
  progressToWire,
  selectorToWire,
} from '../wire/action-messages.ts'
import { skipFromBackup } from '../wire/skip-from-backup.ts'
import { type HandlersOf, implementService } from './implement-service.ts'
import type { PluginInstances } from './registered-plugins.ts'

/** Serves the item actions of a program, whatever their kind. */
export function addActionServices(server: Server, instances: PluginInstances): void {
  addBackupItemActions(server, instances)
  addRestoreItemActions(server, instances)
  implementService(server, DeleteItemAction, {
    appliesTo: ({ plugin }) => selectorOf(instances.get('DeleteItemAction', plugin)),
    async execute({ plugin, item, backup }, signal) {
      const action = await instances.get('DeleteItemAction', plugin)
      await action.execute({ ...read({ item, backup }), signal })
      return {}
    },
  })
  implementService(server, ItemBlockAction, {
    appliesTo: ({ plugin }) => selectorOf(instances.get('ItemBlockAction', plugin)),
    async getRelatedItems({ plugin, item, backup }, signal) {
      const action = await instances.get('ItemBlockAction', plugin)
      const related = await action.getRelatedItems({ ...read({ item, backup }), signal })
      return { relatedItems: identifiersToWire(related) }
    },
  })
}

function addBackupItemActions(server: Server, instances: PluginInstances): void {
  implementService(server, BackupV1, {
    appliesTo: ({ plugin }) => selectorOf(instances.get('BackupItemAction', plugin)),
    async execute({ plugin, item, backup }, signal) {
      const input = { ...read({ item, backup }), signal }
      const result = await (await instances.get('BackupItemAction', plugin)).execute(input)
      refuseOperation(plugin, result)
      return backupAnswer(result, item)
    },
  })
  implementService(
    server,
    BackupV2,
    operationHandlers(plugin => instances.get('BackupItemActionV2', plugin)),
  )
  implementService(server, BackupV3, {
    ...operationHandlers(plugin => instances.get('BackupItemActionV3', plugin)),
    async getAdditionalItems({ plugin, item, backup }, signal) {
      const action = await instances.get('BackupItemActionV3', plugin)
      const additional = await action.getAdditionalItems?.({ ...read({ item, backup }), signal })
      return { additionalItems: identifiersToWire(additional) }
    },
  })
}

function operationHandlers(
  actionOf: (plugin: string) => Promise<BackupItemAction>,
): HandlersOf<typeof BackupV2> {
  return {
    appliesTo: ({ plugin }) => selectorOf(actionOf(plugin)),
    async execute({ plugin, item, backup }, signal) {
      const result = await (await actionOf(plugin)).execute({ ...read({ item, backup }), signal })
      return {
        ...backupAnswer(result, item),
        operationID: result.operationId ?? '',
        postOperationItems: identifiersToWire(result.postOperationItems),
      }
    },
    async progress({ plugin, operationID, backup }, signal) {
      const action = await actionOf(plugin)
      if (!action.progress) throw asyncOperationsNotSupported()
      const input = { operationId: operationID, backup: readAs<Backup>(backup, 'backup'), signal }
      return { progress: progressToWire(await action.progress(input)) }
    },
    async cancel({ plugin, operationID, backup }, signal) {
      const action = await actionOf(plugin)
      await action.cancel?.({ operationId: operationID, backup: readAs<Backup>(backup, 'backup'), signal })
      return {}
    },
  }
}

function backupAnswer({ item, unchanged, additionalItems }: BackupItemResult, received: Uint8Array) {
  const additional = identifiersToWire(additionalItems)
  if (item === undefined) return { item: markedAsSkipped(received), additionalItems: additional }
  const bytes = unchanged === true ? received : itemToWire(item, 'executing')
  return { item: bytes, additionalItems: additional }
}

function markedAsSkipped(received: Uint8Array): Uint8Array {
  const item = readAs<ActionItem>(received, 'item')
  item.metadata = {
    ...item.metadata,
    annotations: { ...item.metadata.annotations, [skipFromBackup]: 'true' },
  }
  return itemToWire(item, `skipping ${describeItem(item)}`)
}

function addRestoreItemActions(server: Server, instances: PluginInstances): void {
  implementService(server, RestoreV1, {
    appliesTo: ({ plugin }) => selectorOf(instances.get('RestoreItemAction', plugin)),
    async execute({ plugin, ...request }, signal) {
      const action = await instances.get('RestoreItemAction', plugin)
      const result = await action.execute({ ...readRestored(request), signal })
      refuseOperation(plugin, result)
      return restoreAnswer(result, request.item)
    },
  })
  const get = (plugin: string): Promise<RestoreItemAction> => instances.get('RestoreItemActionV2', plugin)
  implementService(server, RestoreV2, {
    appliesTo: ({ plugin }) => selectorOf(get(plugin)),
    async execute({ plugin, ...request }, signal) {
      const result = await (await get(plugin)).execute({ ...readRestored(request), signal })
      const { operationId = '', waitForAdditionalItems = false, additionalItemsReadyTimeout = 0 } = result
      return {
        ...restoreAnswer(result, request.item),
        operationID: operationId,
        waitForAdditionalItems,
        additionalItemsReadyTimeout: durationFromMs(additionalItemsReadyTimeout),
      }
    },
    async progress({ plugin, operationID, restore }, signal) {
      const action = await get(plugin)
      if (!action.progress) throw asyncOperationsNotSupported()
      const input = { operationId: operationID, restore: readAs<Restore>(restore, 'restore'), signal }
      return { progress: progressToWire(await action.progress(input)) }
    },
    async cancel({ plugin, operationID, restore }, signal) {
      const action = await get(plugin)
      await action.cancel?.({
        operationId: operationID,
        restore: readAs<Restore>(restore, 'restore'),
        signal,
      })
      return {}
    },
    async areAdditionalItemsReady({ plugin, restore, additionalItems }, signal) {
      const action = await get(plugin)
      const input = { restore: readAs<Restore>(restore, 'restore'), signal }
      const ready = action.areAdditionalItemsReady?.({
        ...input,
        additionalItems: identifiersFromWire(additionalItems),
      })
      return { ready: (await ready) ?? true }
    },
  })
}

/** An object that is skipped needs to be in the answer nevertheless: Velero reads it before it looks at the flag. */
function restoreAnswer({ item, skip = false, additionalItems }: RestoreItemResult, received: Uint8Array) {
  const bytes = skip ? received : itemToWire(item, 'executing')
  return { item: bytes, skipRestore: skip, additionalItems: identifiersToWire(additionalItems) }
}

function refuseOperation(plugin: string, { operationId = '' }: { operationId?: string }): void {
  if (operationId === '') return
  throw new PluginError('BAD_ANSWER', {
    reason: `${plugin} started operation ${operationId}, which an action of version 1 cannot`,
    hint: 'Register it under version 2 of its kind',
  })
}

async function selectorOf(action: Promise<Pick<BackupItemAction, 'appliesTo'>>) {
  return { ResourceSelector: selectorToWire(await (await action).appliesTo()) }
}

function read({ item, backup }: { item: Uint8Array; backup: Uint8Array }) {
  return { item: readAs<ActionItem>(item, 'item'), backup: readAs<Backup>(backup, 'backup') }
}

function readRestored(request: { item: Uint8Array; itemFromBackup: Uint8Array; restore: Uint8Array }) {
  return {
    item: readAs<ActionItem>(request.item, 'item'),
    itemFromBackup: readAs<ActionItem>(request.itemFromBackup, 'itemFromBackup'),
    restore: readAs<Restore>(request.restore, 'restore'),
  }
}

function readAs<Kind>(bytes: Uint8Array, field: string): Kind {
  try {
    return parseItem(bytes) as unknown as Kind
  } catch (cause) {
    throw new PluginError('FAILED', { reason: `the host sent a field ${field} that is not JSON`, cause })
  }
}
