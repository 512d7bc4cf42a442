import type { BackupDefaults } from '../backup/prepare/prepare-backup.ts'
import { csiFeature } from '../csi/csi-served.ts'
import { defaultPriorities, type Priorities } from '../restore/order/priorities.ts'

/** What `lateen server` can be told. Durations are in milliseconds. */
export interface ServerOptions {
  /** Where the server's objects live. */
  namespace: string
  /** A kubeconfig file; without one KUBECONFIG, the pod's service account, then `~/.kube/config`. */
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  logLevel: LogLevel
  logFormat: 'text' | 'json'
  /** `host:port` or `:port` for metrics, health and downloads; empty for none. */
  metricsAddress: string
  /** `host:port` or, on this machine only, `:port` for heap snapshots and CPU profiles. Default: none. */
  profilerAddress?: string | undefined
  /** How often locations are validated that do not say; 0 turns it off after the first time. */
  storeValidationFrequency: number
  /** How long one validation may take before the location counts as unavailable. */
  storeValidationTimeout: number
  /** Becomes the default at start if no location is. Empty: none. */
  defaultBackupStorageLocation: string
  /** Whether replicas take turns through a Lease. */
  leaderElection: boolean
  lease: {
    /** How long others leave a lease alone that is not renewed. */
    duration: number
    /** How long the leader tries to renew it before it gives up. */
    renewDeadline: number
    /** Between two tries. */
    retryPeriod: number
  }
  /** How clients reach `metricsAddress`, for links to objects in filesystem locations. Without it there are none. */
  downloadUrlBase?: string | undefined
  /** Where running backups keep what they collect and write. Default: below the system's temporary folder. */
  scratchFolder?: string | undefined
  /** Backups that may run at the same time. */
  concurrentBackups: number
  /** Blocks of items that are worked on at the same time, by all backups together. */
  itemBlockWorkerCount: number
  /** How often plugins are asked about operations that backups and restores wait for. */
  itemOperationSyncFrequency: number
  /** Objects per page of a list; undefined lets the client choose. */
  clientPageSize?: number | undefined
  /** What backups get that do not say. */
  backupDefaults: BackupDefaults
  /** In which order types are restored. */
  restorePriorities: Priorities
  /** How long a restore waits for namespaces and volumes that are being deleted. */
  terminatingResourceTimeout: number
  /** Whether schedules that do not say leave out a backup that is due at once. */
  scheduleSkipImmediately: boolean
  /** How often the bucket of a location is looked at that does not say; 0 turns it off. */
  backupSyncPeriod: number
  /** How often expired backups are looked for. */
  garbageCollectionFrequency: number
  /** How long all file system backups of a backup may take together, and all of a restore. */
  fsBackupTimeout: number
  /** How repositories of volume data are kept. */
  repositories: {
    /** How often they are maintained; 0: as often as suits their format. */
    maintenanceFrequency: number
    /** The ConfigMap with settings for new ones; empty for none. */
    configMap: string
    /** The ConfigMap with settings for the Jobs that maintain them; empty for none. */
    maintenanceConfigMap: string
  }
  /** Whether backups are not taken, only restored. */
  restoreOnly: boolean
  /** Where the programs of plugins are; one that does not exist has none. */
  pluginFolder: string
  /** Whether a plugin of a program takes the place of a built-in one of the same kind and name. */
  preferExternalPlugins: boolean
  /** Such as `EnableAPIGroupVersions`. */
  features: readonly string[]
  /** Whether snapshots are taken through CSI where the cluster serves its kinds. */
  csiSnapshots: boolean
  /** Names of controllers that shall not run. */
  disabledControllers: readonly string[]
  /** Where credentials from secrets are kept while the server runs. Default: a new folder below the system's. */
  credentialsFolder?: string | undefined
  /** What `lateen version` shows. */
  version: string
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

const hour = 3_600_000

/** The defaults of Velero's flags, and of ours. */
export const serverDefaults: Readonly<ServerOptions> = {
  namespace: 'velero',
  logLevel: 'info',
  logFormat: 'text',
  metricsAddress: ':8085',
  storeValidationFrequency: 60_000,
  storeValidationTimeout: 30_000,
  defaultBackupStorageLocation: 'default',
  leaderElection: false,
  lease: { duration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 },
  concurrentBackups: 1,
  itemBlockWorkerCount: 8,
  itemOperationSyncFrequency: 10_000,
  backupDefaults: {
    ttl: 30 * 24 * hour,
    volumeGroupSnapshotLabelKey: 'velero.io/volume-group',
    csiSnapshotTimeout: hour / 6,
    itemOperationTimeout: 4 * hour,
    volumesToFsBackup: false,
    snapshotMoveData: false,
    storageLocation: 'default',
    snapshotLocations: {},
    resourceTimeout: hour / 6,
    globalVolumePolicies: '',
  },
  restorePriorities: defaultPriorities,
  terminatingResourceTimeout: hour / 6,
  scheduleSkipImmediately: false,
  backupSyncPeriod: hour / 60,
  garbageCollectionFrequency: hour,
  fsBackupTimeout: 4 * hour,
  repositories: { maintenanceFrequency: 0, configMap: '', maintenanceConfigMap: '' },
  restoreOnly: false,
  pluginFolder: '/plugins',
  preferExternalPlugins: false,
  features: [],
  csiSnapshots: true,
  disabledControllers: [],
  version: 'v0.1.0',
}

/** The features of a server: CSI is among them unless it is switched off, whether or not it is named. */
export function featuresOf({
  features,
  csiSnapshots,
}: Pick<ServerOptions, 'features' | 'csiSnapshots'>): string[] {
  const others = features.filter(feature => feature !== csiFeature)
  return csiSnapshots ? [...others, csiFeature] : others
}

/** A setting of the server that cannot be used. */
export class ServerOptionError extends Error {
  override readonly name = 'ServerOptionError'
  readonly code = 'INVALID_OPTION'
  readonly hint: string

  constructor(reason: string, hint: string) {
    super(`${reason}. ${hint}`)
    this.hint = hint
  }
}

/** Host and port of an address such as `:8085`, `127.0.0.1:0` or `[::1]:8085`. Throws `ServerOptionError`. */
export function parseListenAddress(
  address: string,
  what = 'metrics address',
): { host?: string; port: number } | undefined {
  if (address === '') return undefined
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw new ServerOptionError(
      `the ${what} ${JSON.stringify(address)} is not host:port`,
      'Write it like :8085, 127.0.0.1:8085 or [::1]:8085, or leave it empty for none',
    )
  }
  const host = match[1] ?? match[2] ?? ''
  return host === '' ? { port } : { host, port }
}

/** What may be disabled: Velero's names, so that a command line for Velero works, whether this server has them or not, and ours. */
const controllerNames = [
  'backup-queue',
  'backup',
  'backup-operations',
  'backup-deletion',
  'backup-finalizer',
  'backup-sync',
  'download-request',
  'gc',
  'backup-repo',
  'restore',
  'restore-operations',
  'schedule',
  'server-status-request',
  'restore-finalizer',
  'lost-moves',
  'left-snapshots',
  'restored-snapshots',
  'watchdog',
  'watchdog-buckets',
]

/** What a server does not do that only restores: make backups, work on them, delete them. */
const controllersOfBackups = [
  'backup-queue',
  'backup',
  'backup-operations',
  'backup-finalizer',
  'backup-deletion',
  'gc',
  'schedule',
  'left-snapshots',
]

/** The controllers that do not run. */
export function controllersOff(
  options: Pick<ServerOptions, 'disabledControllers' | 'restoreOnly'>,
): ReadonlySet<string> {
  return new Set([...options.disabledControllers, ...(options.restoreOnly ? controllersOfBackups : [])])
}

/** Throws `ServerOptionError` for numbers that make no sense and for controllers that nobody knows. */
export function checkServerOptions(options: ServerOptions): void {
  requirePositive('concurrent backups', options.concurrentBackups)
  requirePositive('item block workers', options.itemBlockWorkerCount)
  const unknown = options.disabledControllers.filter(name => !controllerNames.includes(name))
  if (unknown.length === 0) return
  throw new ServerOptionError(
    `there is no controller ${unknown.join(', ')} to disable`,
    `These can be disabled: ${controllerNames.join(', ')}`,
  )
}

function requirePositive(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new ServerOptionError(`the number of ${what} is ${value}`, 'It must be at least 1')
}
