import { randomBytes } from 'node:crypto'
import { hostname, tmpdir } from 'node:os'
import { BackupStorageLocationKind, ServerStatusRequestKind } from '@lateen/api'
import {
  createKubeClient,
  createManager,
  type Fence,
  type KubeClient,
  type Logger,
  loadKubeConfig,
  type Manager,
  systemClock,
} from '@lateen/kube'
import { ObjectStoreError } from '@lateen/plugin'
import type { ResticSettings } from '@lateen/repo/unified'
import { createCredentialFiles } from '../backup-store/credential-files.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { secretReader } from '../backup-store/read-secret-key.ts'
import { backupStorageLocationController, withSpec } from '../controllers/backup-storage-location.ts'
import { serverStatusRequestController } from '../controllers/server-status-request.ts'
import { renderLeader } from '../metrics/leader-gauge.ts'
import { createLocationStatusGauge } from '../metrics/location-status-gauge.ts'
import { observeProcess } from '../metrics/process-metrics.ts'
import { defaultAwsTimeouts } from '../object-store/aws-client.ts'
import { builtInObjectStores } from '../object-store/registry.ts'
import {
  createSignedDownloads,
  DOWNLOAD_PATH,
  type SignedDownloads,
} from '../object-store/signed-downloads.ts'
import { fencedPlugins } from '../plugin-host/fenced-plugins.ts'
import { createPluginRegistry, type PluginRegistry } from '../plugin-host/plugin-registry.ts'
import { findRestic } from '../restic/find-restic.ts'
import { createDataUploads } from '../volumes/data-uploads.ts'
import { snapshotterOpener } from '../volumes/snapshotters.ts'
import { type BackupEngine, backupControllers, createBackupEngine } from './backup-controllers.ts'
import { builtInPlugins } from './built-in-plugins.ts'
import { claimCredentialFolder } from './credential-folder.ts'
import { openExternalPlugins } from './external-plugins.ts'
import { growHeapSlowly } from './grow-heap-slowly.ts'
import { checkLease, openLeadership, runAsLeader } from './leadership.ts'
import { lifecycleControllers } from './lifecycle-controllers.ts'
import { createLog } from './log.ts'
import { predecessorsGone } from './predecessors.ts'
import { startProfiler } from './profiler.ts'
import { createServerMetrics, type ServerMetrics } from './server-metrics.ts'
import {
  checkServerOptions,
  controllersOff,
  featuresOf,
  parseListenAddress,
  type ServerOptions,
} from './server-options.ts'
import { processIsAlive } from './server-scratch.ts'
import {
  chooseDefaultLocation,
  requireKinds,
  requireNamespace,
  type StartUpScope,
} from './start-up-checks.ts'
import { stopTimes } from './stop-times.ts'
import { watchBackups } from './watched-backups.ts'

/** Of restores: as many as requests may be under way, or those would wait here instead of at their gate. */
const LEAST_CONNECTIONS = 8

/**
 * Runs the server until the signal aborts, then stops gracefully and resolves. Throws `StartUpError` or
 * `ServerOptionError` when it cannot start, KubeErrors when the API server cannot be reached, and what the manager throws.
 */
export async function runServer(given: ServerOptions, signal: AbortSignal): Promise<void> {
  growHeapSlowly()
  const options = { ...given, features: featuresOf(given) }
  const log = createLog({ level: options.logLevel, format: options.logFormat, out: process.stderr })
  const http = parseListenAddress(options.metricsAddress)
  checkServerOptions(options)
  checkLease(options.lease)
  const { env } = process
  const config = await loadKubeConfig({ path: options.kubeconfig, context: options.kubecontext, env })
  await using _profiler = await startProfiler(options.profilerAddress ?? '', { log, clock: systemClock })
  const metrics = createServerMetrics(systemClock)
  using _process = observeProcess(metrics.registry)
  const observer = metrics.requests
  const access = { config, log, observer, userAgent: `lateen-server/${options.version}` }
  await using leadership = await openLeadership(options, { ...access, randomName })
  const { fence } = leadership
  await using client = await createKubeClient({ ...access, fence })
  await using gatedClient = await createKubeClient({
    ...{ ...access, fence },
    retry: { attempts: 1 },
    connections: Math.max(LEAST_CONNECTIONS, options.itemBlockWorkerCount),
  })
  const scope = { client, namespace: options.namespace, log, signal }
  log.info(
    { version: options.version, namespace: options.namespace, cluster: client.server },
    'server starting',
  )

  if (!(await isReady(scope))) return
  await using external = await openExternalPlugins({ options, log, signal })
  if (external === undefined) return

  const manager = createManager({
    ...{ client, log, stopGraceMs: stopTimes.graceMs, stopLastWordsMs: stopTimes.lastWordsMs },
    ...(http && { http }),
    ...leadership.election,
    beforeLeading: abort =>
      predecessorsGone({
        ...{ ...scope, podName: hostname(), elects: options.leaderElection },
        ...{ clock: systemClock, signal: abort },
      }),
  })
  const credentialFolder = await claimCredentialFolder({
    parent: options.credentialsFolder ?? tmpdir(),
    pid: process.pid,
    begun: Math.trunc(performance.timeOrigin).toString(36),
    isAlive: processIsAlive,
  })
  await using credentialFiles = createCredentialFiles(credentialFolder, randomName)
  const downloads = createSignedDownloads({
    // Links live for minutes and do not survive a restart.
    signingKey: randomBytes(32),
    clock: systemClock,
    publicUrl: () => options.downloadUrlBase ?? noDownloadUrl(),
  })
  const readSecretKey = secretReader(client, options.namespace)
  const stores = builtInObjectStores({
    clock: systemClock,
    randomName,
    downloads,
    env,
    fence,
    timeouts: defaultAwsTimeouts,
    readSecret: (secret, abort) =>
      readSecretKey({ ...secret, field: 'spec.config.customerKeyEncryptionSecret' }, abort),
  })
  const dataUploads = createDataUploads({ client, clock: systemClock, namespace: options.namespace })
  const registry = createPluginRegistry({
    builtIns: () =>
      builtInPlugins({
        ...{ client, options, objectStores: stores, podVolumes: true },
        csi: { clock: systemClock, dataUploads },
      }),
    features: options.features,
    external,
    log,
  })
  const plugins = fencedPlugins(registry, fence)
  const clock = systemClock
  const openSnapshotters = snapshotterOpener({
    client,
    namespace: options.namespace,
    readSecretKey,
    credentialFiles,
  })
  await using engine = await createBackupEngine({
    ...{ client, gatedClient, clock, log, options, plugins, openSnapshotters },
  })
  const ports = { objectStores: metrics.stores(plugins.objectStores), readSecretKey, credentialFiles }
  const restic = await findRestic(env)
  register({ manager, client, options, downloads, log, ports, engine, plugins, metrics, fence, restic })
  await runAsLeader(manager, signal, log)
  log.info({}, 'server stopped')
}

/** Whether the cluster passed the checks at start; false when the signal aborted meanwhile. */
async function isReady(scope: StartUpScope): Promise<boolean> {
  try {
    await requireNamespace(scope)
    await requireKinds(scope)
    return true
  } catch (error) {
    if (scope.signal.aborted) return false
    throw error
  }
}

interface Registration {
  manager: Manager
  client: KubeClient
  options: ServerOptions
  downloads: SignedDownloads
  log: Logger
  ports: LocationPorts
  fence: Fence
  engine: BackupEngine
  plugins: PluginRegistry
  metrics: ServerMetrics
  restic: ResticSettings | undefined
}

function register(registration: Registration): void {
  const { manager, client, options, downloads, log, ports, engine, plugins, metrics } = registration
  const { namespace } = options
  const clock = systemClock
  const watched = watchBackups(manager, namespace)
  const { fence, restic } = registration
  const wiring = { manager, client, clock, random: Math.random, options, ports, watched, metrics, fence }
  const { openSnapshotters, scratch } = engine.perform
  metrics.watch(manager, { namespace, watched, ports, log })
  manager.addMetrics(() => renderLeader(manager.isLeading))
  manager.addTask({
    name: 'default-location',
    run: abort =>
      chooseDefaultLocation(options.defaultBackupStorageLocation, { client, namespace, log, signal: abort }),
  })
  manager.addRoute({
    path: DOWNLOAD_PATH,
    handler: (request, response) => downloads.handle(request, response),
  })
  const locations = backupStorageLocationController({
    client,
    informer: manager.informer(BackupStorageLocationKind, { namespace, transform: withSpec }),
    clock,
    ports,
    gauge: createLocationStatusGauge(metrics.velero),
    validationFrequencyMs: options.storeValidationFrequency,
    validationTimeoutMs: options.storeValidationTimeout,
  })
  const optional = [
    serverStatusRequestController({
      client,
      informer: manager.informer(ServerStatusRequestKind, { namespace }),
      clock,
      serverVersion: options.version,
      plugins: () => plugins.plugins.map(({ kind, name }) => ({ kind, name })),
    }),
    ...backupControllers({ ...wiring, log }, engine),
    ...lifecycleControllers({ ...wiring, log, plugins, openSnapshotters, scratch, restic }),
  ]
  const off = controllersOff(options)
  const wanted = [locations, ...optional.filter(({ name }) => !off.has(name))]
  for (const controller of wanted) manager.addController(metrics.controller(controller))
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
