import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { repoMaintenanceFlags } from '../tree/in-cluster.ts'
import { logLevelOf } from './log-level.ts'

/** `repo-maintenance`: does what is due for one repository, as a Job. */
export async function run(call: CommandCall<typeof repoMaintenanceFlags>): Promise<CommandResult> {
  const { flags } = call
  const { 'repo-name': volumeNamespace, 'backup-storage-location': backupStorageLocation } = flags
  if (!volumeNamespace || !backupStorageLocation) {
    throw new CliError('USAGE', '--repo-name and --backup-storage-location are required', {
      hint: 'the server starts this command in a Job when maintenance is due',
    })
  }
  const { namespace, kubeconfig, kubecontext } = await call.settings()
  const { runRepoMaintenance } = await import('@lateen/server')
  const went = await runRepoMaintenance(
    {
      ...{ namespace, kubeconfig, kubecontext, volumeNamespace, backupStorageLocation, version },
      repositoryType: flags['repo-type'],
      logLevel: logLevelOf(flags['log-level']),
      logFormat: flags['log-format'] === 'json' ? 'json' : 'text',
    },
    call.surroundings.signal,
  )
  return { show: 'lines', lines: [], exitCode: () => (went ? 0 : 1) }
}
