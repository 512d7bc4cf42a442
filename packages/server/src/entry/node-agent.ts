import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import {
  DataDownloadKind,
  DataUploadKind,
  labelNames,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
} from '@lateen/api'
import {
  createKubeClient,
  createManager,
  type KubeClient,
  loadKubeConfig,
  type Manager,
  systemClock,
  unlessNotFound,
  watching,
  withoutManagedFields,
} from '@lateen/kube'
import { createCredentialFiles } from '../backup-store/credential-files.ts'
import { secretReader } from '../backup-store/read-secret-key.ts'
import { dataDownloadController } from '../controllers/data-download.ts'
import { dataUploadController } from '../controllers/data-upload.ts'
import { LatestObjects } from '../controllers/latest-objects.ts'
import { legacyPodVolumeRestoreController } from '../controllers/legacy-pod-volume-restore.ts'
import { freesRoom, moveSlots } from '../controllers/move-slots.ts'
import { podVolumeBackupController } from '../controllers/pod-volume-backup.ts'
import { podVolumeRestoreController } from '../controllers/pod-volume-restore.ts'
import { DataPathError } from '../data-path/data-path-error.ts'
import { NodeKind } from '../data-path/expose-volume.ts'
import { moverReasons } from '../data-path/mover-message.ts'
import type { NodeOs } from '../data-path/mover-pod.ts'
import { MoverEventKind } from '../data-path/mover-reports.ts'
import { indexedByAbout } from '../data-path/mover-result.ts'
import { PodKind } from '../data-path/mover-state.ts'
import { moversPerNode, type NodeAgentConfig, parseNodeAgentConfig } from '../data-path/node-agent-config.ts'
import { configMapData } from '../filters/policies/config-map-data.ts'
import { findRestic } from '../restic/find-restic.ts'
import type { LegacyRestorePorts } from '../restic/restore-volume.ts'
import { claimCredentialFolder } from './credential-folder.ts'
import { createLog } from './log.ts'
import { watchMoves } from './node-agent-metrics.ts'
import type { NodeAgentOptions } from './node-agent-options.ts'
import { parseListenAddress } from './server-options.ts'
import { processIsAlive } from './server-scratch.ts'
import { stopTimes } from './stop-times.ts'

/**
 * Runs the node agent until the signal aborts: it has movers move the data of the volumes on its node, and moves none itself but what is in
 * restic's format. Throws `DataPathError` for settings that cannot be used, and KubeErrors.
 */
export async function runNodeAgent(options: NodeAgentOptions, signal: AbortSignal): Promise<void> {
  const { namespace, node } = options
  const log = createLog({ level: options.logLevel, format: options.logFormat, out: process.stderr })
  const http = parseListenAddress(options.metricsAddress)
  const { env } = process
  const config = await loadKubeConfig({ path: options.kubeconfig, context: options.kubecontext, env })
  await using client = await createKubeClient({
    config,
    log,
    userAgent: `lateen-node-agent/${options.version}`,
  })
  log.info({ version: options.version, namespace, node }, 'node agent starting')
  const settings = await nodeAgentConfig(options, { client, signal })
  const labels = await nodeLabels(options, { client, signal })
  const manager = createManager({
    ...{ client, log, stopGraceMs: stopTimes.graceMs, stopLastWordsMs: stopTimes.lastWordsMs },
    ...(http && { http }),
  })
  const credentialFolder = await claimCredentialFolder({
    parent: tmpdir(),
    pid: process.pid,
    begun: Math.trunc(performance.timeOrigin).toString(36),
    isAlive: processIsAlive,
  })
  await using credentialFiles = createCredentialFiles(credentialFolder, () => randomBytes(8).toString('hex'))
  const restic: Restic = {
    ...{ client, namespace, credentialFiles, env, clock: systemClock, podsFolder: options.podsFolder },
    readSecretKey: secretReader(client, namespace),
    restic: await findRestic(env),
  }
  using _metrics = register({ manager, client, options, settings, labels, restic })
  await manager.run(signal)
  log.info({}, 'node agent stopped')
}

interface Asking {
  client: KubeClient
  signal: AbortSignal
}

async function nodeAgentConfig(
  { configMap, namespace }: NodeAgentOptions,
  asking: Asking,
): Promise<NodeAgentConfig> {
  if (configMap === '') return {}
  const data = await configMapData(configMap, { ...asking, namespace })
  if (data !== undefined) return parseNodeAgentConfig(data, `${namespace}/${configMap}`)
  throw new DataPathError('INVALID_CONFIG', {
    reason: `the ConfigMap ${namespace}/${configMap} of the node agent does not exist`,
    hint: 'Create it, or start the node agent without --node-agent-configmap',
  })
}

async function nodeLabels(
  { node }: NodeAgentOptions,
  { client, signal }: Asking,
): Promise<Record<string, string>> {
  const found = await client.resource(NodeKind).get(node, { signal }).catch(unlessNotFound)
  if (found !== undefined) return found.metadata.labels ?? {}
  throw new DataPathError('NO_NODE_AGENT', {
    reason: `there is no node ${JSON.stringify(node)}`,
    hint: 'Set NODE_NAME to the name of the node this runs on; the installation does that',
  })
}

interface Registration {
  manager: Manager
  client: KubeClient
  options: NodeAgentOptions
  settings: NodeAgentConfig
  labels: Readonly<Record<string, string>>
  restic: Restic
}

/** What volumes are restored with from restic's format, which is done in this process. */
type Restic = Omit<LegacyRestorePorts, 'log'>

/** Disposing of what it returns ends the measuring. */
function register({ manager, client, options, settings, labels, restic }: Registration): Disposable {
  const { namespace, node, podsFolder, resourceTimeout } = options
  const transform = withoutManagedFields
  const backups = manager.informer(PodVolumeBackupKind, { namespace, transform })
  const restores = manager.informer(PodVolumeRestoreKind, { namespace, transform })
  const downloads = manager.informer(DataDownloadKind, { namespace, transform })
  const latestDownloads = new LatestObjects(downloads)
  const uploads = manager.informer(DataUploadKind, { namespace, transform })
  const [latestBackups, latestRestores] = [new LatestObjects(backups), new LatestObjects(restores)]
  const latestUploads = new LatestObjects(uploads)
  const moversOf = (label: string) =>
    manager.informer(PodKind, { namespace, labelSelector: label, transform })
  const os: NodeOs = labels['kubernetes.io/os'] === 'windows' ? 'windows' : 'linux'
  const shared = {
    client,
    clock: systemClock,
    events: manager.informer(MoverEventKind, {
      namespace,
      fieldSelector: `reason=${moverReasons.progress}`,
      transform,
    }),
    results: manager.informer(MoverEventKind, {
      namespace,
      fieldSelector: `reason=${moverReasons.completed}`,
      indexes: indexedByAbout,
      transform,
    }),
    whenRoom: (toKeys: () => Iterable<string>) => [
      watching({ informer: backups, predicate: freesRoom, toKeys }),
      watching({ informer: restores, predicate: freesRoom, toKeys }),
      watching({ informer: uploads, predicate: freesRoom, toKeys }),
      watching({ informer: downloads, predicate: freesRoom, toKeys }),
    ],
    slots: moveSlots([latestBackups, latestRestores, latestUploads, latestDownloads], {
      node,
      most: moversPerNode(settings, labels),
      mostPreparing: settings.loadConcurrency?.prepareQueueLength,
      now: () => systemClock.now(),
    }),
    expose: { namespace, node, os, podsFolder, config: settings, resourceTimeoutMs: resourceTimeout },
    prepareTimeoutMs: options.prepareTimeout,
  }
  manager.addController(
    podVolumeBackupController({
      ...shared,
      informer: backups,
      objects: latestBackups,
      movers: moversOf(labelNames.podVolumeBackup),
    }),
  )
  manager.addController(
    dataUploadController({
      ...shared,
      informer: uploads,
      objects: latestUploads,
      movers: moversOf(labelNames.dataUpload),
    }),
  )
  const ofPods = {
    informer: restores,
    objects: latestRestores,
    pods: manager.informer(PodKind, { fieldSelector: `spec.nodeName=${node}`, transform }),
  }
  manager.addController(
    podVolumeRestoreController({ ...shared, ...ofPods, movers: moversOf(labelNames.podVolumeRestore) }),
  )
  manager.addController(
    dataDownloadController({
      ...{ ...shared, informer: downloads, objects: latestDownloads },
      movers: moversOf(labelNames.dataDownload),
    }),
  )
  const { clock, slots, whenRoom } = shared
  manager.addController(
    legacyPodVolumeRestoreController({
      ...{ client, clock, node, slots, whenRoom, ...ofPods },
      restore: async (object, pod, run) => {
        // Few node agents ever need it.
        const { restoreVolume } = await import('../restic/restore-volume.ts')
        return restoreVolume(object, pod, { ...restic, ...run })
      },
    }),
  )
  return watchMoves({ manager, node, backups, restores, uploads, downloads })
}
