import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { serverFlags } from '../tree/server.ts'
import { logLevelOf } from './log-level.ts'

/** `server`: runs until it is told to stop. */
export async function run(call: CommandCall<typeof serverFlags>): Promise<CommandResult> {
  const { flags } = call
  for (const name of [
    'item-operation-sync-frequency',
    'store-validation-frequency',
    'store-validation-timeout',
  ] as const) {
    if (flags[name].nanoseconds < 0n) throw new CliError('USAGE', `--${name} must not be negative`)
  }
  const { namespace, kubeconfig, kubecontext, features } = await call.settings()
  const { parsePriorities, runServer, serverDefaults } = await import('@lateen/server')
  await runServer(
    {
      namespace,
      kubeconfig,
      kubecontext,
      logLevel: logLevelOf(flags['log-level']),
      logFormat: flags['log-format'] === 'json' ? 'json' : 'text',
      metricsAddress: flags['metrics-address'],
      profilerAddress: flags['profiler-address'],
      storeValidationFrequency: flags['store-validation-frequency'].milliseconds,
      storeValidationTimeout: flags['store-validation-timeout'].milliseconds,
      defaultBackupStorageLocation: flags['default-backup-storage-location'],
      leaderElection: flags['leader-elect'] ?? runsInPod(call.surroundings.env),
      lease: {
        duration: flags['leader-elect-lease-duration'].milliseconds,
        renewDeadline: flags['leader-elect-renew-deadline'].milliseconds,
        retryPeriod: flags['leader-elect-retry-period'].milliseconds,
      },
      downloadUrlBase: flags['download-url-base'] ?? call.surroundings.env.LATEEN_DOWNLOAD_URL_BASE,
      concurrentBackups: flags['concurrent-backups'],
      itemBlockWorkerCount: flags['item-block-worker-count'],
      itemOperationSyncFrequency:
        flags['item-operation-sync-frequency'].milliseconds || serverDefaults.itemOperationSyncFrequency,
      clientPageSize: flags['client-page-size'] || undefined,
      scratchFolder: call.surroundings.env.VELERO_SCRATCH_DIR,
      features,
      csiSnapshots: !flags['disable-csi-snapshots'],
      pluginFolder: flags['plugin-dir'],
      preferExternalPlugins: flags['prefer-external-plugins'],
      restorePriorities: parsePriorities(flags['restore-resource-priorities'].join(',')),
      terminatingResourceTimeout: flags['terminating-resource-timeout'].milliseconds,
      scheduleSkipImmediately: flags['schedule-skip-immediately'],
      backupSyncPeriod: flags['backup-sync-period'].milliseconds,
      garbageCollectionFrequency:
        flags['garbage-collection-frequency'].milliseconds || serverDefaults.garbageCollectionFrequency,
      fsBackupTimeout: flags['fs-backup-timeout'].milliseconds,
      repositories: {
        maintenanceFrequency: flags['default-repo-maintain-frequency'].milliseconds,
        configMap: flags['backup-repository-configmap'] ?? '',
        maintenanceConfigMap: flags['repo-maintenance-job-configmap'] ?? '',
      },
      restoreOnly: flags['restore-only'],
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

/** The kubelet tells every container where the API server is. */
function runsInPod(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env.KUBERNETES_SERVICE_HOST ?? '') !== ''
}
