import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before } from 'node:test'
import type { Backup, DataDownload, DataUpload, Restore } from '@lateen/api'
import { builtInKind, createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import type { Given } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { type DriverClient, driverClient } from '../csi-driver/driver-client.ts'
import { BackupBucket } from './backup-bucket.ts'
import { type Belongings, kindsToLeave, type LeftObject, leftoversAmong, ownLabel } from './csi-leftovers.ts'
import { type FilesPod, type FsScene, type FsSceneOptions, filesPod, fsScene } from './fs-scene.ts'

export { ownLabel } from './csi-leftovers.ts'

/** Lateen with its node agent, installed on a node with the test CSI driver. Every namespace of the file is the installation's, or begins with that and a hyphen. */
export interface CsiScene extends FsScene {
  /** For what is quicker without a program; from before the first test on. */
  readonly client: KubeClient
  /** What the installation has in its bucket. */
  readonly bucket: BackupBucket
  dataUploads(backup?: string): Promise<DataUpload[]>
  dataDownloads(restore?: string): Promise<DataDownload[]>
  /** Takes a backup by the CLI, such as with `--include-namespaces=…`, and returns it as it ended, whatever became of it. */
  backUp(name: string, ...flags: string[]): Promise<Backup>
  /** Restores a backup by the CLI, and returns the restore as it ended, whatever became of it. */
  restore(name: string, backup: string, ...flags: string[]): Promise<Restore>
  /** Deletes backups by the CLI, and waits until they are gone. Throws with what is told when one stays. */
  deleteBackups(...names: string[]): Promise<void>
  /** What of ours is in the cluster now and has no use when nothing is under way, each with a reason. The test's own has the label `ownLabel`. */
  leftovers(): Promise<string[]>
  /** The handles of the file's snapshots that the driver has now. */
  driverSnapshots(): Promise<string[]>
  /** What a file says in a snapshot that the driver has; empty when the file is not in it. */
  inSnapshot(handle: string, file: string): Promise<string>
  /** The handles that the backups in the bucket need to be restored, and those of the test's own snapshots. */
  snapshotsNeeded(): Promise<string[]>
  /** Waits until nothing is left over, and the driver has the snapshots that are needed and no other. */
  nothingIsLeft(): Promise<void>
}

interface PersistentVolume extends LeftObject {}
const PersistentVolumeKind = builtInKind<PersistentVolume>('PersistentVolume')

/** Lateen with its node agent on a node with the test CSI driver, for the suite that is being described: installed before its tests and removed after them. */
export async function csiScene(given: Given, options: FsSceneOptions): Promise<CsiScene> {
  const fs = await fsScene(given, options)
  const { namespace } = fs
  const opened = new AsyncDisposableStack()
  let client: KubeClient
  let bucket: BackupBucket
  let driver: DriverClient
  const isNamespace = (name: string | undefined) =>
    name === namespace || (name?.startsWith(`${namespace}-`) ?? false)
  /** Volumes of the file's claims, also of those that are gone, and snapshots that were seen of them. */
  const handles = new Set<string>()

  before(async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath, env: {} })
    client = opened.use(await createKubeClient({ config }))
    bucket = opened.use(new BackupBucket(given.cluster, namespace))
    driver = opened.use(driverClient(given.cluster.csi.socket))
    await rememberVolumes({ client, opened, isNamespace, handles })
  })
  after(() => opened.disposeAsync())

  async function objectsNow(): Promise<LeftObject[]> {
    const args = ['get', kindsToLeave.join(','), '--all-namespaces', '-o', 'json']
    return JSON.parse(await given.cluster.kubectl(args)).items
  }

  async function listed<T>(kind: string, label: string, value?: string): Promise<T[]> {
    const selector = value === undefined ? [] : ['-l', `${label}=${value}`]
    return JSON.parse(await given.cluster.kubectl(['-n', namespace, 'get', kind, '-o', 'json', ...selector]))
      .items
  }

  async function driverSnapshots(): Promise<string[]> {
    const { entries } = await driver.controller.listSnapshots({})
    const ours = entries.flatMap(({ snapshot }) =>
      snapshot && handles.has(snapshot.sourceVolumeId) ? [snapshot.snapshotId] : [],
    )
    for (const handle of ours) handles.add(handle)
    return ours.sort()
  }

  async function inSnapshot(handle: string, file: string): Promise<string> {
    const folder = path.join(given.cluster.csi.stateFolder, 'snapshots', handle)
    const names = await readdir(folder, { recursive: true })
    const found = names.find(name => path.basename(name) === file)
    return found === undefined ? '' : await readFile(path.join(folder, found), 'utf8')
  }

  const inArchive = handlesInArchives(() => bucket)
  async function snapshotsNeeded(): Promise<string[]> {
    const objects = await objectsNow()
    const own = objects.filter(
      ({ metadata }) => metadata.labels?.[ownLabel] && isNamespace(metadata.namespace),
    )
    const uids = new Set(own.map(({ metadata }) => metadata.uid))
    const ofTest = objects
      .filter(({ spec }) => uids.has(spec?.volumeSnapshotRef?.uid))
      .flatMap(({ status }) => status?.snapshotHandle ?? [])
    return [...new Set([...(await inArchive()), ...ofTest])].sort()
  }

  const belongings: Belongings = {
    installation: namespace,
    isNamespace,
    isHandle: handle => handle !== undefined && handles.has(handle),
  }
  async function leftovers(): Promise<string[]> {
    await driverSnapshots()
    return leftoversAmong(await objectsNow(), belongings)
  }

  const ended = async <T>(kind: 'backup' | 'restore', name: string): Promise<T> =>
    JSON.parse(await fs.succeed(kind, 'get', name, '-o', 'json'))

  return {
    ...fs,
    get client() {
      return client
    },
    get bucket() {
      return bucket
    },
    dataUploads: backup => listed('datauploads.velero.io', 'velero.io/backup-name', backup),
    dataDownloads: restore => listed('datadownloads.velero.io', 'velero.io/restore-name', restore),
    async backUp(name, ...flags) {
      const { stdout, stderr } = await fs.lateen('backup', 'create', name, '--wait', ...flags)
      return ended<Backup>('backup', name).catch(() => assert.fail(`no backup ${name}: ${stderr}${stdout}`))
    },
    async restore(name, backup, ...flags) {
      const create = ['restore', 'create', name, `--from-backup=${backup}`, '--wait', ...flags]
      const { stdout, stderr } = await fs.lateen(...create)
      return ended<Restore>('restore', name).catch(() =>
        assert.fail(`no restore ${name}: ${stderr}${stdout}`),
      )
    },
    async deleteBackups(...names) {
      await fs.succeed('backup', 'delete', ...names, '--confirm', '--wait')
    },
    leftovers,
    driverSnapshots,
    inSnapshot,
    snapshotsNeeded,
    async nothingIsLeft() {
      let last: unknown
      const isSo = async () => {
        const left = await leftovers()
        const [kept, needed] = [await driverSnapshots(), await snapshotsNeeded()]
        last = { left, kept, needed }
        return left.length === 0 && kept.join() === needed.join()
      }
      const failure = () => new Error(`not clean: ${JSON.stringify(last, null, 1)}`)
      await waitUntil(isSo, { timeoutMs: 120_000, everyMs: 400, failure })
    },
  }
}

interface Remembering {
  client: KubeClient
  opened: AsyncDisposableStack
  isNamespace: Belongings['isNamespace']
  handles: Set<string>
}

/** Adds the handles of volumes in the namespaces, from now on and until the scene closes. */
async function rememberVolumes({ client, opened, isNamespace, handles }: Remembering): Promise<void> {
  const ending = new AbortController()
  const { signal } = ending
  const volumes = client.resource(PersistentVolumeKind)
  const note = ({ spec }: PersistentVolume) => {
    if (spec?.csi && isNamespace(spec.claimRef?.namespace)) handles.add(spec.csi.volumeHandle)
  }
  const listing = volumes.list({ signal })
  for await (const volume of listing) note(volume)
  const watch = async () => {
    for await (const event of volumes.watch({ resourceVersion: listing.resourceVersion, signal })) {
      if (event.type !== 'BOOKMARK') note(event.object)
    }
  }
  const watching = watch().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  opened.defer(async () => {
    ending.abort()
    await watching
  })
}

/** Reads from the archives of finished backups which snapshots they need, each archive once. */
function handlesInArchives(bucketNow: () => BackupBucket): () => Promise<string[]> {
  const read = new Map<string, readonly string[]>()
  return async () => {
    const bucket = bucketNow()
    const found: string[] = []
    for (const [key, digest] of await bucket.contents()) {
      const name = /^backups\/([^/]+)\/velero-backup\.json$/.exec(key)?.[1]
      if (name === undefined) continue
      const handles = read.get(digest) ?? (await unlessDeleted(key, bucket, () => handlesOf(bucket, name)))
      read.set(digest, handles)
      found.push(...handles)
    }
    return found
  }
}

/** A backup that is deleted while it is looked at needs nothing any more. This file is the first of it to go. */
async function unlessDeleted(
  key: string,
  bucket: BackupBucket,
  look: () => Promise<string[]>,
): Promise<string[]> {
  try {
    return await look()
  } catch (error) {
    if ((await bucket.contents()).has(key)) throw error
    return []
  }
}

async function handlesOf(bucket: BackupBucket, name: string): Promise<string[]> {
  const { status } = await bucket.metadata(name)
  return /^(Completed|PartiallyFailed)$/.test(status?.phase ?? '') ? handlesIn(bucket, name) : []
}

/** Snapshots that users took themselves may be among the items of a backup, and are no part of it. */
async function handlesIn(bucket: BackupBucket, name: string): Promise<string[]> {
  const objects = [...(await bucket.unpack(name)).values()] as LeftObject[]
  const taken = objects.filter(
    ({ kind, metadata }) => kind === 'VolumeSnapshot' && metadata.labels?.['velero.io/backup-name'],
  )
  const uids = new Set(taken.map(({ metadata }) => metadata.uid))
  const contents = objects.filter(
    ({ kind, spec }) => kind === 'VolumeSnapshotContent' && uids.has(spec?.volumeSnapshotRef?.uid),
  )
  return [...new Set(contents.flatMap(({ status }) => status?.snapshotHandle ?? []))]
}

/** A claim of a pod: a folder at `/<name>`, or a device at `/dev/<name>` with the mode `Block`. */
export interface CsiClaim {
  mode?: 'Filesystem' | 'Block'
  /** Default: `csi`. */
  class?: string
  /** Default: 16Mi. */
  size?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  dataSource?: object
}

export interface CsiPodOptions {
  namespace: string
  name?: string
  /** By their names. */
  claims: Record<string, CsiClaim>
  annotations?: Record<string, string>
  labels?: Record<string, string>
}

/** A pod with claims, as a user has it. */
export interface CsiPod extends FilesPod {
  /** Of a device. */
  checksum(claim: string): Promise<string>
}

export function claimManifest(namespace: string, name: string, claim: CsiClaim = {}) {
  const { mode = 'Filesystem', size = '16Mi', labels = {}, annotations = {}, dataSource } = claim
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, labels, annotations },
    spec: {
      storageClassName: claim.class ?? 'csi',
      accessModes: ['ReadWriteOnce'],
      volumeMode: mode,
      resources: { requests: { storage: size } },
      ...(dataSource && { dataSource }),
    },
  }
}

/** The manifest of a pod that waits with its claims. */
export function csiPodManifest({ namespace, name = 'writer', claims, ...more }: CsiPodOptions) {
  const isBlock = (claim: string) => claims[claim]?.mode === 'Block'
  const names = Object.keys(claims)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: more.labels ?? {}, annotations: more.annotations ?? {} },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'main',
          image: busyboxImageName,
          imagePullPolicy: 'Never',
          volumeMounts: names
            .filter(each => !isBlock(each))
            .map(each => ({ name: each, mountPath: `/${each}` })),
          volumeDevices: names.filter(isBlock).map(each => ({ name: each, devicePath: `/dev/${each}` })),
        },
      ],
      volumes: names.map(each => ({ name: each, persistentVolumeClaim: { claimName: each } })),
    },
  }
}

/** A pod that is there or will be, as a restore brings it. */
export function csiPod(
  cluster: Pick<Cluster, 'kubectl'>,
  which: Pick<CsiPodOptions, 'namespace' | 'name'>,
): CsiPod {
  const pod = filesPod(cluster, which)
  return { ...pod, checksum: async claim => (await pod.run(`sha256sum < /dev/${claim}`)).split(' ')[0] ?? '' }
}

/** Creates a pod with its claims, in a namespace that is made if it is not there, and waits until it runs. */
export async function createCsiPod(
  cluster: Pick<Cluster, 'kubectl'>,
  options: CsiPodOptions,
): Promise<CsiPod> {
  const { namespace, claims } = options
  await ensureNamespace(cluster, namespace)
  const items = [
    ...Object.entries(claims).map(([name, claim]) => claimManifest(namespace, name, claim)),
    csiPodManifest(options),
  ]
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['apply', '-f', '-'], { stdin })
  const pod = csiPod(cluster, options)
  await pod.ready()
  return pod
}
