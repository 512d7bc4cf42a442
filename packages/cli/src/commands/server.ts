import type { LogLevel } from '@lateen/server'
import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { serverFlags } from '../tree/server.ts'

/** Levels of Velero's log, and ours that come nearest. */
const logLevels: Readonly<Record<string, LogLevel>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  fatal: 'fatal',
  panic: 'fatal',
}

/** `server`: runs until it is told to stop. */
export async function run(call: CommandCall<typeof serverFlags>): Promise<CommandResult> {
  const { flags } = call
  for (const name of ['store-validation-frequency', 'store-validation-timeout'] as const) {
    if (flags[name].nanoseconds < 0n) throw new CliError('USAGE', `--${name} must not be negative`)
  }
  const { namespace, kubeconfig, kubecontext, features } = await call.settings()
  const { parsePriorities, runServer, serverDefaults } = await import('@lateen/server')
  await runServer(
    {
      namespace,
      kubeconfig,
      kubecontext,
      logLevel: logLevels[flags['log-level']] ?? 'info',
      logFormat: flags['log-format'] === 'json' ? 'json' : 'text',
      metricsAddress: flags['metrics-address'],
      storeValidationFrequency: flags['store-validation-frequency'].milliseconds,
      storeValidationTimeout: flags['store-validation-timeout'].milliseconds,
      defaultBackupStorageLocation: flags['default-backup-storage-location'],
      leaderElection: flags['leader-election'],
      downloadUrlBase: flags['download-url-base'],
      concurrentBackups: flags['concurrent-backups'],
      itemBlockWorkerCount: flags['item-block-worker-count'],
      clientPageSize: flags['client-page-size'] || undefined,
      scratchFolder: call.surroundings.env.VELERO_SCRATCH_DIR,
      features,
      restorePriorities: parsePriorities(flags['restore-resource-priorities'].join(',')),
      terminatingResourceTimeout: flags['terminating-resource-timeout'].milliseconds,
      disabledControllers: flags['disable-controllers'] ?? [],
      backupDefaults: {
        ttl: flags['default-backup-ttl'].milliseconds,
        volumeGroupSnapshotLabelKey: flags['volume-group-snapshot-label-key'],
        csiSnapshotTimeout: serverDefaults.backupDefaults.csiSnapshotTimeout,
        itemOperationTimeout: flags['default-item-operation-timeout'].milliseconds,
        volumesToFsBackup: flags['default-volumes-to-fs-backup'],
        snapshotMoveData: flags['default-snapshot-move-data'],
        storageLocation: flags['default-backup-storage-location'],
        snapshotLocations: flags['default-volume-snapshot-locations'] ?? {},
        resourceTimeout: flags['resource-timeout'].milliseconds,
        globalVolumePolicies: flags['global-backup-volume-policies-configmap'] ?? '',
      },
      credentialsFolder: flags['credentials-directory'],
      version,
    },
    call.surroundings.signal,
  )
  return { show: 'nothing' }
}
