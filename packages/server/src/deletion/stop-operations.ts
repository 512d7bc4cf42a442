import { PluginError } from '@lateen/plugin'
import { cancelOperations } from '../operations/cancel-operations.ts'
import { hasEnded } from '../operations/operation-status.ts'
import { backupOperationPorts } from '../operations/plugin-answers.ts'
import type { DeletionStep } from './deletion-step.ts'
import { storedOperations } from './stored-operations.ts'

/**
 * Tells the actions of all operations that have not ended to stop. What they answer changes nothing. Snapshots under way are stopped by
 * who deletes them.
 */
export const stopOperations: DeletionStep = {
  name: 'operations',
  runs: 'always',
  async run(scope) {
    const { backup, store, plugins, clock, log, signal } = scope
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
    await cancelOperations(operations, { ports, error: 'the backup is deleted', signal })
    return []
  },
}
