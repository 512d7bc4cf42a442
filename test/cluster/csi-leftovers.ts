import type { KubeObject } from '@lateen/kube'

/** Marks what a test itself made of kinds that Lateen makes, such as a snapshot of a user. */
export const ownLabel = 'test.lateen.dev/own'

/** The kinds of which something could be left behind. */
export const kindsToLeave = [
  'volumesnapshots.snapshot.storage.k8s.io',
  'volumesnapshotcontents.snapshot.storage.k8s.io',
  'volumegroupsnapshots.groupsnapshot.storage.k8s.io',
  'volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io',
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'configmaps',
  'datauploads.velero.io',
  'datadownloads.velero.io',
] as const

interface Reference {
  namespace?: string
  name?: string
  uid?: string
}

/** An object of any of these kinds, as far as this looks at it. */
export interface LeftObject extends KubeObject {
  spec?: {
    driver?: string
    volumeSnapshotRef?: Reference
    volumeGroupSnapshotRef?: Reference
    source?: { volumeHandle?: string; volumeHandles?: string[]; snapshotHandle?: string }
    claimRef?: Reference
    csi?: { driver: string; volumeHandle: string }
    persistentVolumeReclaimPolicy?: string
  }
  status?: { phase?: string; snapshotHandle?: string; readyToUse?: boolean; error?: { message?: string } }
}

/** What a test file's installation shares a cluster with others by. */
export interface Belongings {
  /** Of the installation. */
  installation: string
  /** Whether a namespace is one of the file's. */
  isNamespace(name: string | undefined): boolean
  /** Whether a volume or a snapshot of the driver is the file's. */
  isHandle(handle: string | undefined): boolean
}

/**
 * What Lateen left behind among objects, each with the reason why it counts. A claim or pod in a namespace of users is theirs; so is what
 * carries the label.
 */
export function leftoversAmong(objects: readonly LeftObject[], belongings: Belongings): string[] {
  const own = new Set(objects.filter(({ metadata }) => metadata.labels?.[ownLabel]).map(uidOf))
  const claims = new Set(objects.filter(({ kind }) => kind === 'PersistentVolumeClaim').map(uidOf))
  return objects.flatMap(object => {
    if (own.has(uidOf(object))) return []
    const reason = judges[object.kind]?.(object, { ...belongings, own, claims })
    const { namespace, name } = object.metadata
    return reason ? [`${object.kind} ${namespace ? `${namespace}/` : ''}${name}: ${reason}`] : []
  })
}

const uidOf = ({ metadata }: KubeObject) => metadata.uid ?? ''

interface Known extends Belongings {
  own: ReadonlySet<string>
  claims: ReadonlySet<string>
}

type Judge = (object: LeftObject, known: Known) => string | undefined

const ofSnapshot: Judge = (object, { isNamespace }) =>
  isNamespace(object.metadata.namespace) ? snapshotState(object) : undefined

const ofContent: Judge = (object, known) => {
  const { volumeSnapshotRef, volumeGroupSnapshotRef } = object.spec ?? {}
  const isOwn = known.own.has((volumeSnapshotRef ?? volumeGroupSnapshotRef)?.uid ?? '')
  return !isOwn && isContentOf(object, known) ? snapshotState(object) : undefined
}

/** Judges only what is in the installation's namespace. */
const besideInstallation =
  (judge: Judge): Judge =>
  (object, known) =>
    object.metadata.namespace === known.installation ? judge(object, known) : undefined

const judges: Readonly<Record<string, Judge>> = {
  VolumeSnapshot: ofSnapshot,
  VolumeGroupSnapshot: ofSnapshot,
  VolumeSnapshotContent: ofContent,
  VolumeGroupSnapshotContent: ofContent,
  PersistentVolume: volumeReason,
  PersistentVolumeClaim: besideInstallation(({ status }) => `${status?.phase} beside the installation`),
  Pod: besideInstallation(moverReason),
  ConfigMap: besideInstallation(({ metadata: { labels = {} } }) =>
    resultLabels.some(label => label in labels) ? 'the result of a move' : undefined,
  ),
  DataUpload: besideInstallation(moveReason),
  DataDownload: besideInstallation(moveReason),
}

const resultLabels = ['velero.io/resource-usage', 'velero.io/data-upload-snapshot-info']

function snapshotState({ metadata, spec, status }: LeftObject): string {
  const reference = spec?.volumeSnapshotRef
  return JSON.stringify({
    ...(metadata.deletionTimestamp && { deleted: metadata.deletionTimestamp, held: metadata.finalizers }),
    ...(reference && { of: `${reference.namespace}/${reference.name}` }),
    ...status,
  })
}

function isContentOf({ spec, status }: LeftObject, { isNamespace, isHandle }: Belongings): boolean {
  const { volumeHandle, volumeHandles = [], snapshotHandle } = spec?.source ?? {}
  return (
    isNamespace(spec?.volumeSnapshotRef?.namespace ?? spec?.volumeGroupSnapshotRef?.namespace) ||
    [volumeHandle, ...volumeHandles, snapshotHandle, status?.snapshotHandle].some(isHandle)
  )
}

function volumeReason(
  { metadata, spec, status }: LeftObject,
  { installation, isNamespace, isHandle, claims }: Known,
): string | undefined {
  const { claimRef, csi, persistentVolumeReclaimPolicy } = spec ?? {}
  if (csi === undefined || !(isNamespace(claimRef?.namespace) || isHandle(csi.volumeHandle))) return undefined
  const claim = `${claimRef?.namespace}/${claimRef?.name}`
  if (claimRef === undefined) return `${status?.phase}, for no claim`
  if (claimRef.namespace === installation) return `${status?.phase}, for ${claim} beside the installation`
  if (!claims.has(claimRef.uid ?? '')) return `${status?.phase}, for ${claim}, which is gone`
  // The classes of the test driver delete.
  if (persistentVolumeReclaimPolicy !== 'Delete' && !metadata.labels?.[ownLabel]) {
    return `${status?.phase}, kept by ${persistentVolumeReclaimPolicy} when ${claim} goes`
  }
  return undefined
}

/** Pods of the server, of node agents and of jobs have owners of other kinds. */
function moverReason({ metadata, status }: LeftObject): string | undefined {
  const owners = metadata.ownerReferences?.map(({ kind }) => kind) ?? []
  return owners.some(kind => /^(ReplicaSet|DaemonSet|Job)$/.test(kind)) ? undefined : `${status?.phase}`
}

function moveReason({ metadata, status }: LeftObject): string | undefined {
  if (!/^(Completed|Failed|Canceled)$/.test(status?.phase ?? '')) return status?.phase || 'New'
  return metadata.finalizers?.length ? `${status?.phase}, held by ${metadata.finalizers}` : undefined
}
