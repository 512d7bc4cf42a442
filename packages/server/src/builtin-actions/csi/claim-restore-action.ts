import { annotationNames, type Restore } from '@lateen/api'
import { builtInKind, type KubeClient, unlessNotFound } from '@lateen/kube'
import type { ActionItem, RestoreActionInput, RestoreItemAction, RestoreItemResult } from '@lateen/plugin'
import { type BackedUpSnapshot, readBackedUpSnapshot } from '../../csi/backed-up-snapshot.ts'
import type { DataDownloads } from '../../csi/data-moves.ts'
import { restoredSnapshotName } from '../../csi/restored-snapshot-name.ts'
import { snapshotGroup } from '../../csi/snapshot-kinds.ts'
import { parseQuantity } from '../../filters/policies/quantity.ts'
import { backedUpOf, targetNamespace } from './restore-input.ts'

interface Claim extends ActionItem {
  spec?: {
    volumeName?: string
    dataSource?: object
    dataSourceRef?: object
    resources?: { requests?: Record<string, string> }
  }
}

export interface ClaimRestoreOptions {
  client: KubeClient
  /** Absent: nobody fills volumes from the repository. */
  downloads?: DataDownloads | undefined
}

const claimType = builtInKind('PersistentVolumeClaim')

/**
 * `velero.io/csi-pvc-restorer`: a claim whose volume was snapshotted gets the restored snapshot as its source, or is filled from the
 * repository where the content of the snapshot was moved there. One that the cluster has already stays as it is.
 */
export function claimRestoreAction({ client, downloads }: ClaimRestoreOptions): RestoreItemAction {
  return {
    appliesTo: async () => ({ includedResources: ['persistentvolumeclaims'] }),
    async execute(input) {
      const { item, itemFromBackup, restore } = input
      const { annotations = {} } = itemFromBackup.metadata
      const snapshot = annotations[annotationNames.volumeSnapshotName]
      const upload = annotations[annotationNames.dataUploadName]
      const hasData = snapshot !== undefined || upload !== undefined
      if (restore.spec.restorePVs === false) return { item: withoutSource(item, hasData) }
      if (!hasData || (await isThere(client, input))) return { item }
      if (upload !== undefined) return fromRepository(input, downloads)
      return fromSnapshot(input, snapshot ?? '')
    },
    progress: input => moverOf(downloads).progress(input, input.signal),
    cancel: input => moverOf(downloads).cancel(input, input.signal),
  }
}

function moverOf(downloads: DataDownloads | undefined): DataDownloads {
  if (downloads !== undefined) return downloads
  throw new Error('nobody fills volumes from the repository here: restore with a server')
}

/** A claim that gets an empty volume. */
function withoutSource(item: ActionItem, hasData: boolean): ActionItem {
  const { volumeName, dataSource: _, dataSourceRef: __, ...spec } = (item as Claim).spec ?? {}
  return { ...item, spec: { ...spec, ...(volumeName !== undefined && !hasData && { volumeName }) } }
}

/** One that is being deleted may be gone when this one is created, which would then have no data. */
async function isThere(client: KubeClient, { item, restore, signal }: RestoreActionInput): Promise<boolean> {
  const claims = client.resource(claimType, targetNamespace(restore, item.metadata.namespace ?? ''))
  const found = await claims.get(item.metadata.name ?? '', { signal }).catch(unlessNotFound)
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}

async function fromRepository(
  input: RestoreActionInput,
  downloads: DataDownloads | undefined,
): Promise<RestoreItemResult> {
  const { item, itemFromBackup: claimFromBackup, restore, signal } = input
  const { volumeName: _, ...spec } = (item as Claim).spec ?? {}
  const claim = { ...item, spec }
  const backedUp = backedUpOf(input)
  const started = await moverOf(downloads).start({ restore, claim, claimFromBackup, backedUp }, signal)
  return started === undefined ? { item: claim } : { item: started.claim, operationId: started.operationId }
}

async function fromSnapshot(input: RestoreActionInput, name: string): Promise<RestoreItemResult> {
  const { item, itemFromBackup, restore } = input
  const { namespace = '' } = itemFromBackup.metadata
  const found = await readBackedUpSnapshot({ namespace, name }, backedUpOf(input))
  const annotations = {
    ...item.metadata.annotations,
    [annotationNames.restoreMustIncludeAdditionalItems]: 'true',
  }
  return {
    item: { ...restoredClaim(item, found, restore), metadata: { ...item.metadata, annotations } },
    additionalItems: [{ group: snapshotGroup, resource: 'volumesnapshots', namespace, name }],
  }
}

function restoredClaim(item: ActionItem, found: BackedUpSnapshot, restore: Restore): ActionItem {
  const { volumeName: _, dataSourceRef: __, ...spec } = (item as Claim).spec ?? {}
  const name = restoredSnapshotName(restore.metadata.uid ?? '', found.snapshot.metadata.uid ?? '')
  const dataSource = { apiGroup: snapshotGroup, kind: 'VolumeSnapshot', name }
  const storage = grownSize(spec.resources?.requests?.storage, found)
  const requests = { ...spec.resources?.requests, ...(storage !== undefined && { storage }) }
  return { ...item, spec: { ...spec, dataSource, resources: { ...spec.resources, requests } } }
}

/** As older versions of Velero wrote it. */
const oldRestoreSize = 'velero.io/vsi-volumesnapshot-restore-size'

/** What a claim must ask for so that the snapshot fits. A driver makes no volume that is smaller. */
export function grownSize(
  requested: string | undefined,
  { snapshot, content }: Pick<BackedUpSnapshot, 'snapshot' | 'content'>,
): string | undefined {
  const bytes = content?.status?.restoreSize
  const { annotations } = snapshot.metadata
  const wanted =
    snapshot.status?.restoreSize ??
    annotations?.[annotationNames.volumeSnapshotRestoreSize] ??
    annotations?.[oldRestoreSize] ??
    (bytes === undefined ? undefined : `${bytes}`)
  const [least, asked] = [parseQuantity(wanted ?? ''), parseQuantity(requested ?? '')]
  return least !== undefined && (asked === undefined || asked < least) ? wanted : requested
}
