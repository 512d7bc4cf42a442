import type { Backup } from '@lateen/api'
import type {
  ActionItem,
  BackupActionInput,
  BackupItemAction,
  BackupItemResult,
  OperationInput,
} from '../item-actions.ts'
import { serializeItem } from '../item-json.ts'
import { BackupItemAction as V1 } from '../proto/velero/backup-item-action_pb.ts'
import { BackupItemAction as V2 } from '../proto/velero/backup-item-action-v2_pb.ts'
import { BackupItemAction as V3 } from '../proto/velero/backup-item-action-v3_pb.ts'
import type { ResourceIdentifier as WireIdentifier } from '../proto/velero/shared_pb.ts'
import { answeredItem, describeItem, identifiersFromWire, progressFromWire } from '../wire/action-messages.ts'
import { skipFromBackup } from '../wire/skip-from-backup.ts'
import { askSelector } from './ask-selector.ts'
import type { PluginCaller } from './plugin-caller.ts'

/** A backup item action of version 1 in a plugin program. It starts no operations. */
export function backupItemActionClient(caller: PluginCaller): BackupItemAction {
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
      return result(input, { ...answer, request }, `plugin ${plugin}, ${doing}`)
    },
  }
}

/** A backup item action of version 2: with operations. */
export function backupItemActionV2Client(caller: PluginCaller): BackupItemAction {
  return versionWithOperations(caller, V2)
}

/** A backup item action of version 3: with operations and with the objects that belong in a block. */
export function backupItemActionV3Client(caller: PluginCaller): BackupItemAction {
  const method = V3.method.getAdditionalItems
  return {
    ...versionWithOperations(caller, V3),
    async getAdditionalItems(input) {
      const { item, signal } = input
      const doing = `asking what belongs to ${describeItem(item)}`
      const answer = await caller.unary(method, executing(caller, input).request, {
        doing,
        signal,
        long: true,
      })
      return identifiersFromWire(answer.additionalItems)
    },
  }
}

function versionWithOperations(caller: PluginCaller, { method }: typeof V2 | typeof V3): BackupItemAction {
  const { plugin } = caller
  const operation = ({ operationId, backup }: OperationInput) => ({
    ...{ plugin, operationID: operationId, backup: backupBytes(backup) },
  })
  return {
    appliesTo: () => askSelector(caller, method.appliesTo),
    async execute(input) {
      const { request, doing } = executing(caller, input)
      const answer = await caller.unary(method.execute, request, { doing, signal: input.signal, long: true })
      const { operationID, postOperationItems } = answer
      return {
        ...result(input, { ...answer, request }, `plugin ${plugin}, ${doing}`),
        ...(operationID !== '' && {
          operationId: operationID,
          postOperationItems: identifiersFromWire(postOperationItems),
        }),
      }
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

/** The JSON of a backup, as requests carry it. */
export function backupBytes(backup: Backup): Uint8Array {
  return serializeItem(backup)
}

function executing({ plugin }: PluginCaller, { item, backup }: BackupActionInput) {
  return {
    request: { plugin, item: serializeItem(item), backup: backupBytes(backup) },
    doing: `executing on ${describeItem(item)}`,
  }
}

interface Answer {
  item: Uint8Array
  additionalItems: WireIdentifier[]
  request: { item: Uint8Array }
}

function result({ item }: BackupActionInput, answer: Answer, about: string): BackupItemResult {
  const unchanged = Buffer.compare(answer.item, answer.request.item) === 0
  const answered: ActionItem = unchanged ? item : answeredItem(answer.item, about)
  if (skipFromBackup in (answered.metadata.annotations ?? {})) return { item: undefined }
  return {
    item: answered,
    ...(unchanged && { unchanged }),
    additionalItems: identifiersFromWire(answer.additionalItems),
  }
}
