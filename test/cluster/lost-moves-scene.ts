import {
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  DataUploadKind,
  finalizerNames,
} from '@lateen/api'
import { type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'

/** Where something was left, and under which name. */
export interface LostPlace {
  readonly cluster: Cluster
  readonly client: KubeClient
  readonly namespace: string
  readonly name: string
}

/** Removes what was left. */
type Forget = () => Promise<void>

const ghost = 'lost-with-its-node'

const failed = { phase: 'Failed', node: ghost, acceptedByNode: ghost } as const

const common = {
  backupStorageLocation: 'default',
  operationTimeout: '10m0s',
  sourceNamespace: 'shop',
} as const

/** What the node agent of a node that is gone has left of an upload: the object, which it holds, and the pod of its mover. */
export async function leaveMover({ cluster, client, namespace, name }: LostPlace): Promise<Forget> {
  const uploads = client.resource(DataUploadKind, namespace)
  const upload: DataUpload = {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name, namespace, finalizers: [finalizerNames.dataMove] },
    spec: { ...common, snapshotType: 'CSI', sourcePVC: 'data' },
    status: failed,
  }
  const created = await uploads.create(upload)
  const pod = { containers: [{ name: 'main', image: 'nowhere/none:1' }], automountServiceAccountToken: false }
  await create(cluster, { apiVersion: 'v1', kind: 'Pod', metadata: madeFor(created), spec: pod })
  return () => letGo(client, DataUploadKind, created)
}

/** The same of a download: the object, and the claim by which its mover had the volume that it was to fill, and that would stay for ever. */
export async function leaveVolume({ cluster, client, namespace, name }: LostPlace): Promise<Forget> {
  const downloads = client.resource(DataDownloadKind, namespace)
  const download: DataDownload = {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataDownload',
    metadata: { name, namespace, finalizers: [finalizerNames.dataMove] },
    spec: { ...common, targetVolume: { namespace: 'shop', pvc: 'data', pv: '' }, snapshotID: 's' },
    status: failed,
  }
  const created = await downloads.create(download)
  const size = { storage: '1Mi' }
  const both = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  await create(cluster, {
    ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
    spec: {
      ...{ ...both, capacity: size, hostPath: { path: '/none' }, persistentVolumeReclaimPolicy: 'Retain' },
      claimRef: { namespace, name },
    },
  })
  await create(cluster, {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: madeFor(created) },
    spec: { ...both, resources: { requests: size }, volumeName: name },
  })
  const phaseOfClaim = ['get', 'pvc', name, '-n', namespace, '-o', 'jsonpath={.status.phase}']
  await untilSeen('the claim bound', async () => (await cluster.kubectl(phaseOfClaim)) === 'Bound')
  return async () => {
    await letGo(client, DataDownloadKind, created)
    await cluster.kubectl(['delete', 'pvc', name, '-n', namespace, '--ignore-not-found'])
    await cluster.kubectl(['delete', 'pv', name, '--ignore-not-found'])
  }
}

function madeFor({ apiVersion, kind, metadata }: DataUpload | DataDownload): KubeObject['metadata'] {
  const { namespace = '', name = '', uid = '' } = metadata
  return { namespace, name, ownerReferences: [{ apiVersion, kind, name, uid }] }
}

async function create(cluster: Cluster, object: object): Promise<void> {
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
}

async function letGo(
  client: KubeClient,
  kind: typeof DataUploadKind | typeof DataDownloadKind,
  { metadata }: KubeObject,
): Promise<void> {
  const { namespace, name = '' } = metadata
  const objects = client.resource<KubeObject>(kind, namespace)
  const body = { metadata: { finalizers: null } }
  await objects.patch(name, { type: 'merge', body }).catch(unlessNotFound)
  await objects.delete(name).catch(unlessNotFound)
}
