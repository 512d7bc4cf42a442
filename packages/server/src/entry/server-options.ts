import type { BackupDefaults } from '../backup/prepare/prepare-backup.ts'
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
  /** How often locations are validated that do not say; 0 turns it off after the first time. */
  storeValidationFrequency: number
  /** How long one validation may take before the location counts as unavailable. */
  storeValidationTimeout: number
  /** Becomes the default at start if no location is. Empty: none. */
  defaultBackupStorageLocation: string
  /** Whether replicas take turns through a Lease. */
  leaderElection: boolean
  /** How clients reach `metricsAddress`, for links to objects in filesystem locations. Without it there are none. */
  downloadUrlBase?: string | undefined
  /** Where running backups keep what they collect and write. Default: below the system's temporary folder. */
  scratchFolder?: string | undefined
  /** Backups that may run at the same time. */
  concurrentBackups: number
  /** Blocks of items that are worked on at the same time, by all backups together. */
  itemBlockWorkerCount: number
  /** Objects per page of a list; undefined lets the client choose. */
  clientPageSize?: number | undefined
  /** What backups get that do not say. */
  backupDefaults: BackupDefaults
  /** In which order types are restored. */
  restorePriorities: Priorities
  /** How long a restore waits for namespaces and volumes that are being deleted. */
  terminatingResourceTimeout: number
  /** Such as `EnableAPIGroupVersions`. */
  features: readonly string[]
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
  concurrentBackups: 1,
  itemBlockWorkerCount: 8,
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
  features: [],
  disabledControllers: [],
  version: 'v0.1.0',
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
export function parseListenAddress(address: string): { host?: string; port: number } | undefined {
  if (address === '') return undefined
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw new ServerOptionError(
      `the metrics address ${JSON.stringify(address)} is not host:port`,
      'Write it like :8085, 127.0.0.1:8085 or [::1]:8085, or leave it empty for none',
    )
  }
  const host = match[1] ?? match[2] ?? ''
  return host === '' ? { port } : { host, port }
}

/** What may be disabled: Velero's names, so that a command line for Velero works, whether this server has them or not. */
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
]

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
