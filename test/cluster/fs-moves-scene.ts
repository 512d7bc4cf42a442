import {
  apiVersionOf,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
} from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, type ResourceType } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { filesPodManifest } from './fs-scene.ts'
import { type Phased, type PhaseRecord, recordPhases } from './phase-record.ts'
import { moverCommand, signalProcess } from './pod-processes.ts'

/** What is done to backups and to restores of volumes alike; their names have the prefix before a hyphen. */
export interface Sort<T extends Phased = Phased> {
  readonly prefix: 'b' | 'r'
  readonly record: PhaseRecord<T>
  /** Creates one that is to be cancelled, or like another in these parts. */
  create(name: string, more?: { cancel?: boolean; spec?: object }): Promise<T>
  patch(name: string, body: object): Promise<T>
  cancel(name: string): Promise<T>
  delete(name: string): Promise<void>
  /** Sends its mover a signal as soon as that is there; returns the process. */
  signal(name: string, signal: NodeJS.Signals): Promise<number>
  /** Takes the mover's pod away. */
  removePod(name: string): Promise<void>
  /** Of the mover; empty when there is none. */
  podPhase(name: string): Promise<string>
}

/** Work on volumes that a test makes by hand, of both sorts, and everything that happens to any in the namespace. */
export interface MovesScene extends AsyncDisposable {
  readonly client: KubeClient
  readonly backups: Sort<PodVolumeBackup>
  readonly restores: Sort<PodVolumeRestore>
  /** Does the same to both sorts. */
  both(act: (sort: Sort) => Promise<unknown>): Promise<void>
}

export interface MovesSceneOptions {
  /** Of the installation. */
  namespace: string
  /** A backup that is done; others are made like it, and restores restore it. */
  first(): Promise<PodVolumeBackup>
  /** The volumes that restores may name, by the restores' names. */
  volumes: readonly string[]
}

/** Prepares to move the data of volumes. Records from before `first` is asked for. */
export async function openMovesScene(
  cluster: Pick<Cluster, 'kubectl' | 'kubeconfigPath' | 'name'>,
  { namespace, first, volumes }: MovesSceneOptions,
): Promise<MovesScene> {
  const config = await loadKubeConfig({ path: cluster.kubeconfigPath, env: {} })
  await using opened = new AsyncDisposableStack()
  const client = opened.use(await createKubeClient({ config }))
  const backupRecord = opened.use(await recordPhases(client, PodVolumeBackupKind, namespace))
  const restoreRecord = opened.use(await recordPhases(client, PodVolumeRestoreKind, namespace))
  const done = await first()
  const shop = done.spec.pod.namespace ?? ''
  const pod = await waitingPod(cluster, { namespace: shop, volumes })

  const scope = { client, cluster, namespace }
  const backups = createSort<PodVolumeBackup>(
    { ...scope, prefix: 'b', kind: PodVolumeBackupKind, record: backupRecord },
    name => ({
      apiVersion: apiVersionOf(PodVolumeBackupKind),
      kind: PodVolumeBackupKind.kind,
      metadata: { name: `b-${name}`, namespace },
      spec: { ...done.spec, tags: { test: name } },
    }),
  )
  const restores = createSort<PodVolumeRestore>(
    { ...scope, prefix: 'r', kind: PodVolumeRestoreKind, record: restoreRecord },
    name => ({
      apiVersion: apiVersionOf(PodVolumeRestoreKind),
      kind: PodVolumeRestoreKind.kind,
      metadata: { name: `r-${name}`, namespace },
      spec: {
        pod: { kind: 'Pod', namespace: shop, ...pod },
        volume: name,
        snapshotID: done.status?.snapshotID ?? '',
        sourceNamespace: shop,
        backupStorageLocation: done.spec.backupStorageLocation,
        repoIdentifier: '',
        uploaderType: 'kopia',
      },
    }),
  )
  const stack = opened.move()
  return {
    client,
    backups,
    restores,
    async both(act) {
      // A sort is used for what it gives; what it takes are parts that both kinds have.
      await Promise.all([act(backups as unknown as Sort), act(restores as unknown as Sort)])
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export interface SortOptions<T extends Phased> {
  client: KubeClient
  cluster: Pick<Cluster, 'kubectl' | 'name'>
  /** Of the installation. */
  namespace: string
  prefix: 'b' | 'r'
  kind: ResourceType<T>
  record: PhaseRecord<T>
}

/** Has objects of both sorts created under each name, and waits until each has come to a phase. */
export async function createAll(
  { both }: { both(act: (sort: Sort) => Promise<unknown>): Promise<void> },
  names: readonly string[],
  reached: (sort: Sort, name: string) => Promise<unknown>,
): Promise<void> {
  const create = (name: string) =>
    both(async sort => {
      await sort.create(name)
      await reached(sort, name)
    })
  await Promise.all(names.map(create))
}

/** A sort of work; `make` gives the object of a name, after it has made what that is about. */
export function createSort<T extends Phased>(
  { client, cluster, namespace, prefix, kind, record }: SortOptions<T>,
  make: (name: string) => T | Promise<T>,
): Sort<T> {
  const objects = client.resource<T>(kind, namespace)
  const full = (name: string) => `${prefix}-${name}`
  const patch = (name: string, body: object) => objects.patch(full(name), { type: 'merge', body })
  return {
    prefix,
    record,
    async create(name, { cancel = false, spec = {} } = {}) {
      const object = await make(name)
      return objects.create({ ...object, spec: { ...object.spec, ...spec, cancel } })
    },
    patch,
    cancel: name => patch(name, { spec: { cancel: true } }),
    delete: name => objects.delete(full(name)),
    signal: (name, signal) =>
      signalProcess({ cluster, namespace, command: moverCommand(full(name)) }, signal),
    async removePod(name) {
      await cluster.kubectl(['-n', namespace, 'delete', 'pod', full(name), '--grace-period=0', '--force'])
    },
    podPhase: name =>
      cluster.kubectl([
        ...['-n', namespace, 'get', 'pod', full(name), '--ignore-not-found'],
        ...['-o', 'jsonpath={.status.phase}'],
      ]),
  }
}

/** Creates a pod that waits for its volumes, and waits for that. */
async function waitingPod(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  { namespace, volumes }: { namespace: string; volumes: readonly string[] },
): Promise<{ name: string; uid: string }> {
  const name = 'waiting'
  const { spec, ...manifest } = filesPodManifest({
    ...{ namespace, name },
    volumes: Object.fromEntries(volumes.map(volume => [volume, { emptyDir: {} }])),
  })
  const initContainers = [{ name: 'restore-wait', image: busyboxImageName, imagePullPolicy: 'Never' }]
  await kubectl(['create', '-f', '-'], {
    stdin: JSON.stringify({ ...manifest, spec: { ...spec, initContainers } }),
  })
  const uid = await waitUntil(
    async () => {
      const { metadata, status } = JSON.parse(
        await kubectl(['-n', namespace, 'get', 'pod', name, '-o', 'json']),
      )
      return status.initContainerStatuses?.[0]?.state?.running && (metadata.uid as string)
    },
    { timeoutMs: 120_000, failure: () => new Error(`the pod ${name} does not wait for its volumes`) },
  )
  return { name, uid }
}
