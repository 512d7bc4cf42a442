import { PluginError } from '@lateen/plugin'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { tellToStop } from '../operations/cancel-operations.ts'
import { hasEnded } from '../operations/operation-status.ts'
import { backupOperationPorts } from '../operations/plugin-answers.ts'
import type { DeletionStep } from './deletion-step.ts'
import { storedOperations } from './stored-operations.ts'

/**
 * Tells the actions of all operations that have not ended to stop. What they answer changes nothing, and where nobody answers the owner is told
 * of it. Snapshots under way are stopped by who deletes them.
 */
export const stopOperations: DeletionStep = {
  name: 'operations',
  runs: 'always',
  async run(scope) {
    const { backup, store, plugins, clock, log, signal, warn } = scope
    if (store === undefined) return []
    const operations = (await storedOperations(scope, store)).filter(
      ({ spec, status }) => spec.volumeSnapshotLocation === undefined && !hasEnded(status),
    )
    if (operations.length === 0) return []
    log.info({ backup: backup.metadata.name, operations: operations.length }, 'operations are stopped')
    const openSnapshotter = async () => {
      throw new PluginError('NO_SUCH_PLUGIN', { reason: 'snapshots are not stopped here' })
    }
    const ports = backupOperationPorts(backup, { plugins, clock, log, openSnapshotter })
    const { heard, unheard } = await tellToStop(operations, { ports, error: 'the backup is deleted', signal })
    if (unheard > 0)
      await warn('OperationsNotStopped', notStopped(heard.filter(({ status }) => !hasEnded(status))))
    return []
  },
}

/** So many are named; there may be thousands. */
const named = 10

function notStopped(operations: readonly BackupOperation[]): string {
  const ids = operations.slice(0, named).map(({ spec }) => `${spec.operationID} of ${spec.backupItemAction}`)
  const more = operations.length > named ? [`${operations.length - named} more`] : []
  return `Operations could not be told to stop, because their plugins do not answer, and may go on after the backup is gone: ${[...ids, ...more].join(', ')}`
}
