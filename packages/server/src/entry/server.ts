import { randomBytes } from 'node:crypto'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BackupStorageLocationKind, ServerStatusRequestKind } from '@lateen/api'
import {
  createKubeClient,
  createManager,
  type KubeClient,
  type Logger,
  loadKubeConfig,
  type Manager,
  type ManagerOptions,
  systemClock,
} from '@lateen/kube'
import { ObjectStoreError } from '@lateen/plugin'
import { createCredentialFiles } from '../backup-store/credential-files.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { secretReader } from '../backup-store/read-secret-key.ts'
import { backupStorageLocationController, withSpec } from '../controllers/backup-storage-location.ts'
import { serverStatusRequestController } from '../controllers/server-status-request.ts'
import { createLocationStatusGauge } from '../metrics/location-status-gauge.ts'
import { defaultAwsTimeouts } from '../object-store/aws-client.ts'
import {
  builtInObjectStores,
  createObjectStoreRegistry,
  type ObjectStoreRegistry,
} from '../object-store/registry.ts'
import {
  createSignedDownloads,
  DOWNLOAD_PATH,
  type SignedDownloads,
} from '../object-store/signed-downloads.ts'
import { type BackupEngine, backupControllers, createBackupEngine } from './backup-controllers.ts'
import { growHeapSlowly } from './grow-heap-slowly.ts'
import { createLog } from './log.ts'
import { checkServerOptions, parseListenAddress, type ServerOptions } from './server-options.ts'
import {
  chooseDefaultLocation,
  requireKinds,
  requireNamespace,
  type StartUpScope,
} from './start-up-checks.ts'

/** Validations of stores that hang may be cut short; the pod has 30 s to end. */
const STOP_GRACE_MS = 5_000

/** Of restores: as many as requests may be under way, or those would wait here instead of at their gate. */
const LEAST_CONNECTIONS = 8

/**
 * Runs the server until the signal aborts, then stops gracefully and resolves. Throws `StartUpError` or
 * `ServerOptionError` when it cannot start, KubeErrors when the API server cannot be reached, and what the manager throws.
 */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  growHeapSlowly()
  const log = createLog({ level: options.logLevel, format: options.logFormat, out: process.stderr })
  const http = parseListenAddress(options.metricsAddress)
  checkServerOptions(options)
  const { env } = process
  const config = await loadKubeConfig({ path: options.kubeconfig, context: options.kubecontext, env })
  const access = { config, log, userAgent: `lateen-server/${options.version}` }
  await using client = await createKubeClient(access)
  await using gatedClient = await createKubeClient({
    ...access,
    retry: { attempts: 1 },
    connections: Math.max(LEAST_CONNECTIONS, options.itemBlockWorkerCount),
  })
  const scope = { client, namespace: options.namespace, log, signal }
  log.info(
    { version: options.version, namespace: options.namespace, cluster: client.server },
    'server starting',
  )

  if (!(await isReady(options, scope))) return

  const manager = createManager({
    client,
    log,
    stopGraceMs: STOP_GRACE_MS,
    ...(http && { http }),
    ...electionOf(options),
  })
  const folder = options.credentialsFolder ?? join(tmpdir(), `lateen-credentials-${randomName()}`)
  await using credentialFiles = createCredentialFiles(folder, randomName)
  const downloads = createSignedDownloads({
    // Links live for minutes and do not survive a restart.
    signingKey: randomBytes(32),
    clock: systemClock,
    publicUrl: () => options.downloadUrlBase ?? noDownloadUrl(),
  })
  const readSecretKey = secretReader(client, options.namespace)
  const objectStores = createObjectStoreRegistry(
    builtInObjectStores({
      clock: systemClock,
      randomName,
      downloads,
      env,
      timeouts: defaultAwsTimeouts,
      readSecret: (secret, abort) =>
        readSecretKey({ ...secret, field: 'spec.config.customerKeyEncryptionSecret' }, abort),
    }),
  )
  await using engine = await createBackupEngine({ client, gatedClient, clock: systemClock, log, options })
  const ports = { objectStores, readSecretKey, credentialFiles }
  register({ manager, client, options, downloads, log, ports, engine })
  await manager.run(signal)
  log.info({}, 'server stopped')
}

/** Whether the cluster passed the checks at start; false when the signal aborted meanwhile. */
async function isReady(options: ServerOptions, scope: StartUpScope): Promise<boolean> {
  try {
    await requireNamespace(scope)
    await requireKinds(scope)
    await chooseDefaultLocation(options.defaultBackupStorageLocation, scope)
    return true
  } catch (error) {
    if (scope.signal.aborted) return false
    throw error
  }
}

function electionOf({ leaderElection, namespace }: ServerOptions): Pick<ManagerOptions, 'leaderElection'> {
  if (!leaderElection) return {}
  const identity = `${hostname()}_${randomName()}`
  return { leaderElection: { namespace, name: 'lateen-server', identity } }
}

interface Registration {
  manager: Manager
  client: KubeClient
  options: ServerOptions
  downloads: SignedDownloads
  log: Logger
  ports: LocationPorts
  engine: BackupEngine
}

function register({ manager, client, options, downloads, log, ports, engine }: Registration): void {
  const { namespace } = options
  const clock = systemClock
  const gauge = createLocationStatusGauge()
  manager.addMetrics(() => gauge.render())
  manager.addRoute({
    path: DOWNLOAD_PATH,
    handler: (request, response) => downloads.handle(request, response),
  })
  manager.addController(
    backupStorageLocationController({
      client,
      informer: manager.informer(BackupStorageLocationKind, { namespace, transform: withSpec }),
      clock,
      ports,
      gauge,
      validationFrequencyMs: options.storeValidationFrequency,
      validationTimeoutMs: options.storeValidationTimeout,
    }),
  )
  const optional = [
    serverStatusRequestController({
      client,
      informer: manager.informer(ServerStatusRequestKind, { namespace }),
      clock,
      serverVersion: options.version,
      plugins: () => installedPlugins(ports.objectStores),
    }),
    ...backupControllers({ manager, client, clock, random: Math.random, log, options, ports }, engine),
  ]
  for (const controller of optional) {
    if (!options.disabledControllers.includes(controller.name)) manager.addController(controller)
  }
}

function installedPlugins(objectStores: ObjectStoreRegistry): { name: string; kind: string }[] {
  return objectStores.names.map(name => ({ name, kind: 'ObjectStore' }))
}

function noDownloadUrl(): never {
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: 'this server does not know how clients reach it, so it cannot link to files in a folder',
    hint: 'Start it with --download-url-base, such as http://lateen.velero.svc:8085',
  })
}

function randomName(): string {
  return randomBytes(8).toString('hex')
}
