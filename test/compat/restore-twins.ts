import { gunzipSync } from 'node:zlib'
import {
  type Backup,
  BackupKind,
  type BackupSpec,
  type Restore,
  RestoreKind,
  type RestoreSpec,
} from '@lateen/api'
import { createKubeClient, isAlreadyExists, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { type Given, givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { Locations, prepareCluster, startServer } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'

/** Where both servers have their objects; also where both have their files in the bucket. */
export const serverNamespace = 'twins'

/** Two clusters that went through the same, and the reason why there are none. */
export interface GivenTwins {
  readonly skip: false | string
  readonly ours: Given
  readonly theirs: Given
}

/** A cluster for us and one for Velero. The S3 server of ours serves both. */
export async function givenTwins(): Promise<GivenTwins> {
  const missing = await veleroMissing()
  const [ours, theirs] = await Promise.all([
    givenCluster({ s3: true, own: true }),
    givenCluster({ own: true }),
  ])
  return { skip: missing || ours.skip || theirs.skip, ours, theirs }
}

/** Lists of messages, as in the results file. */
export interface ResultLists {
  velero?: string[]
  cluster?: string[]
  namespaces?: Record<string, string[]>
}

/** How a restore ended. */
export interface RestoreEnd {
  restore: Restore
  results: { warnings: ResultLists; errors: ResultLists }
  /** `namespace/name(action)` by `apiVersion/Kind`. */
  resourceList: Record<string, string[]>
}

/** One of the two clusters, with the server that works there. */
export interface Twin {
  readonly cluster: Cluster
  readonly client: KubeClient
  /** Takes a backup, which the other one then knows, too. */
  takeBackup(name: string, spec: BackupSpec): Promise<Backup>
  /** Restores with this server and waits for the end. */
  restore(name: string, spec: RestoreSpec): Promise<RestoreEnd>
}

/** A Lateen server and a Velero server, each on a cluster of its own, with one bucket. */
export interface RestoreTwins extends AsyncDisposable {
  readonly ours: Twin
  readonly theirs: Twin
}

/** Starts both servers and waits until they see their location. */
export async function startTwins(given: GivenTwins): Promise<RestoreTwins> {
  await using starting = new AsyncDisposableStack()
  const bucket = starting.use(new BackupBucket(given.ours.cluster, serverNamespace))
  const open = async (
    { cluster }: Given,
    { secret, start }: { secret: boolean; start: (at: Cluster) => Promise<AsyncDisposable> },
  ) => {
    const at: Cluster = { ...cluster, s3: given.ours.cluster.s3 }
    const client = starting.use(
      await createKubeClient({ config: await loadKubeConfig({ path: at.kubeconfigPath }) }),
    )
    await prepareCluster(at, serverNamespace)
    const place = { cluster: at, client, namespace: serverNamespace }
    await createLocation(place, { prefix: serverNamespace, secret })
    starting.use(await start(at))
    await new Locations(client, serverNamespace).available('default')
    return { cluster: at, client }
  }
  const [our, their] = await Promise.all([
    open(given.ours, {
      secret: true,
      start: ({ kubeconfigPath }) => startServer({ namespace: serverNamespace, kubeconfig: kubeconfigPath }),
    }),
    // Velero writes credentials from a Secret to a file again and again while its plugin reads it, and now and then the plugin finds none.
    open(given.theirs, { secret: false, start: startVelero }),
  ])
  const clients = [our.client, their.client]
  const twin = ({ cluster, client }: typeof our): Twin => ({
    cluster,
    client,
    takeBackup: (name, spec) => takeBackup({ client, clients, bucket }, name, spec),
    restore: (name, spec) => restore({ client, bucket }, name, spec),
  })
  const running = starting.move()
  return { ours: twin(our), theirs: twin(their), [Symbol.asyncDispose]: () => running.disposeAsync() }
}

async function startVelero(cluster: Cluster): Promise<AsyncDisposable> {
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(deploymentOfServer) })
  const flags = ['--client-qps=1000', '--client-burst=2000']
  return startVeleroServer({ cluster, namespace: serverNamespace, flags })
}

interface Place {
  client: KubeClient
  bucket: BackupBucket
}

async function takeBackup(
  { client, clients, bucket }: Place & { clients: readonly KubeClient[] },
  name: string,
  spec: BackupSpec,
): Promise<Backup> {
  const backup = await new Backups(client, serverNamespace).take(name, spec)
  const { metadata, ...stored } = await bucket.metadata(name)
  const { labels = {}, annotations = {} } = metadata
  const copy = { ...stored, metadata: { name, namespace: serverNamespace, labels, annotations } }
  for (const other of clients) {
    if (other === client) continue
    // The server there may have found it in the bucket by itself.
    const isThere = (error: unknown) => (isAlreadyExists(error) ? undefined : Promise.reject(error))
    await other.resource(BackupKind, serverNamespace).create(copy).catch(isThere)
  }
  return backup
}

async function restore({ client, bucket }: Place, name: string, spec: RestoreSpec): Promise<RestoreEnd> {
  const restores = client.resource(RestoreKind, serverNamespace)
  // Velero links no owners.
  const annotations = { 'lateen.dev/relink-owners': 'false' }
  const metadata = { name, namespace: serverNamespace, annotations }
  await restores.create({ apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec })
  let last: Restore | undefined
  const ended = await waitUntil(
    async () => {
      last = await restores.get(name)
      return /^(Completed|Failed|PartiallyFailed|FailedValidation)$/.test(last.status?.phase ?? '')
        ? last
        : undefined
    },
    {
      timeoutMs: 300_000,
      failure: () => new Error(`the restore ${name} stayed at ${JSON.stringify(last?.status)}`),
      everyMs: 50,
    },
  )
  if (ended.status?.phase === 'FailedValidation') {
    return { restore: ended, results: { warnings: {}, errors: {} }, resourceList: {} }
  }
  const read = async (file: string) =>
    JSON.parse(gunzipSync(await bucket.read(`restores/${name}/restore-${name}-${file}`)).toString())
  return {
    restore: ended,
    results: await read('results.gz'),
    resourceList: await read('resource-list.json.gz'),
  }
}

/** Velero reads the image of its own pods from this one when it restores. */
export const deploymentOfServer = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'velero', namespace: serverNamespace },
  spec: {
    replicas: 0,
    selector: { matchLabels: { deploy: 'velero' } },
    template: {
      metadata: { labels: { deploy: 'velero' } },
      spec: { containers: [{ name: 'velero', image: 'velero/velero:v1.18.3' }] },
    },
  },
}
