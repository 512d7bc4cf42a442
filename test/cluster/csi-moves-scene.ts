import {
  apiVersionOf,
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  DataUploadKind,
} from '@lateen/api'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { claimManifest } from './csi-scene.ts'
import { createSort, type Sort } from './fs-moves-scene.ts'
import { recordPhases } from './phase-record.ts'

/** DataUploads and DataDownloads that a test makes by hand, and everything that happens to any in the namespace. */
export interface CsiMovesScene extends AsyncDisposable {
  readonly uploads: Sort<DataUpload>
  readonly downloads: Sort<DataDownload>
  /** Does the same to both sorts. */
  both(act: (sort: Sort) => Promise<unknown>): Promise<void>
}

export interface CsiMovesSceneOptions {
  cluster: Pick<Cluster, 'kubectl' | 'kubeconfigPath' | 'name' | 'csi'>
  /** Of the installation. */
  namespace: string
  /** Where the snapshots are taken and the volumes are wanted. */
  shop: string
  /** The claim that is snapshot. */
  claim: string
  /** A DataUpload that is done; downloads restore it. */
  first(): Promise<DataUpload>
}

/** Prepares to move snapshots. Records from before `first` is asked for. */
export async function openCsiMovesScene(options: CsiMovesSceneOptions): Promise<CsiMovesScene> {
  const { cluster, namespace, shop, claim, first } = options
  const config = await loadKubeConfig({ path: cluster.kubeconfigPath, env: {} })
  await using opened = new AsyncDisposableStack()
  const client = opened.use(await createKubeClient({ config }))
  const uploadRecord = opened.use(await recordPhases<DataUpload>(client, DataUploadKind, namespace))
  const downloadRecord = opened.use(await recordPhases<DataDownload>(client, DataDownloadKind, namespace))
  const done = await first()
  const create = (object: object) => cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
  const scope = { client, cluster, namespace }

  const uploads = createSort<DataUpload>(
    { ...scope, prefix: 'b', kind: DataUploadKind, record: uploadRecord },
    async name => {
      await create(snapshotManifest({ namespace: shop, name: `b-${name}`, claim, ...cluster.csi }))
      return {
        apiVersion: apiVersionOf(DataUploadKind),
        kind: DataUploadKind.kind,
        metadata: { name: `b-${name}`, namespace },
        spec: {
          ...done.spec,
          csiSnapshot: {
            volumeSnapshot: `b-${name}`,
            storageClass: cluster.csi.storageClass,
            snapshotClass: cluster.csi.snapshotClass,
            driver: cluster.csi.driver,
          },
        },
      }
    },
  )
  const downloads = createSort<DataDownload>(
    { ...scope, prefix: 'r', kind: DataDownloadKind, record: downloadRecord },
    async name => {
      await create(waitingClaim(shop, `r-${name}`))
      return {
        apiVersion: apiVersionOf(DataDownloadKind),
        kind: DataDownloadKind.kind,
        metadata: { name: `r-${name}`, namespace },
        spec: {
          targetVolume: { namespace: shop, pvc: `r-${name}`, pv: '' },
          backupStorageLocation: done.spec.backupStorageLocation,
          snapshotID: done.status?.snapshotID ?? '',
          sourceNamespace: done.spec.sourceNamespace,
          operationTimeout: done.spec.operationTimeout,
        },
      }
    },
  )
  const stack = opened.move()
  return {
    uploads,
    downloads,
    async both(act) {
      // A sort is used for what it gives; what it takes are parts that both kinds have.
      await Promise.all([act(uploads as unknown as Sort), act(downloads as unknown as Sort)])
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface SnapshotOf {
  namespace: string
  name: string
  claim: string
  snapshotClass: string
}

function snapshotManifest({ namespace, name, claim, snapshotClass }: SnapshotOf) {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name, namespace },
    spec: {
      volumeSnapshotClassName: snapshotClass,
      source: { persistentVolumeClaimName: claim },
    },
  }
}

/** A claim that no volume is provisioned for, as a restore makes it. */
function waitingClaim(namespace: string, name: string) {
  const claim = claimManifest(namespace, name)
  const matchLabels = { 'velero.io/dynamic-pv-restore': `${namespace}.${name}.test` }
  return { ...claim, spec: { ...claim.spec, selector: { matchLabels } } }
}
