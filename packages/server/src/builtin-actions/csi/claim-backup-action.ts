import { annotationNames, type Backup, labelNames, validLabelValue } from '@lateen/api'
import { builtInKind, type Clock, type KubeClient, type KubeObject } from '@lateen/kube'
import type {
  ActionItem,
  BackupItemAction,
  BackupItemResult,
  OperationInput,
  ResourceIdentifier,
} from '@lateen/plugin'
import { chooseSnapshotClass } from '../../csi/choose-snapshot-class.ts'
import { groupOfClaim } from '../../csi/claim-group.ts'
import { CsiError } from '../../csi/csi-error.ts'
import type { DataUploads, SnapshotToUpload } from '../../csi/data-moves.ts'
import { discardSnapshot, type PatientPorts } from '../../csi/release-snapshot.ts'
import {
  snapshotGroup,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  VolumeSnapshotClassKind,
} from '../../csi/snapshot-kinds.ts'
import {
  handleTimeoutOf,
  parseSnapshotOperation,
  SnapshotOperations,
  snapshotOperationId,
} from '../../csi/snapshot-operations.ts'
import { takeGroupSnapshot } from '../../csi/take-group-snapshot.ts'
import { takeSnapshot } from '../../csi/take-snapshot.ts'
import { parseQuantity } from '../../filters/policies/quantity.ts'
import { volumeOf } from '../claim-action.ts'

export interface CsiBackupOptions {
  client: KubeClient
  clock: Clock
  /** Whether the content of a claim's snapshot is to be moved into the repository. By default what the backup says of all. */
  movesData?: MovesData | undefined
  /** Absent: nobody moves data. */
  dataUploads?: DataUploads | undefined
}

/** Whether the content of a snapshot is to be moved, of that claim in that backup. */
export type MovesData = (backup: Backup, claim: ActionItem) => boolean | Promise<boolean>

interface Claim extends ActionItem {
  spec?: { volumeName?: string; resources?: { requests?: Record<string, string> } }
}

interface Volume extends KubeObject {
  spec?: { csi?: { driver?: string } | null; capacity?: Record<string, string> }
}

const VolumeKind = builtInKind<Volume>('PersistentVolume')

/**
 * `velero.io/csi-pvc-backupper`: has a snapshot taken of the CSI volume of a bound claim, and waits for nothing. The operation is complete
 * when the snapshot is ready to use, or its content moved.
 */
export function csiClaimBackupAction(options: CsiBackupOptions): BackupItemAction {
  const { dataUploads } = options
  const operations = new SnapshotOperations(options)
  const classes = classLister(options.client)
  return {
    appliesTo: async () => ({ includedResources: ['persistentvolumeclaims'] }),
    async execute({ item, backup, signal }) {
      if (backup.status?.phase?.startsWith('Finalizing')) return { item, unchanged: true }
      const volume = await boundVolume(item, options.client, signal)
      // There are no data yet.
      if (volume === undefined) return { item, unchanged: true }
      const driver = volume.spec?.csi?.driver
      if (!driver) return withoutCsi(item)
      return takeOrMove({ item, backup, volume, driver }, { ...options, classes }, signal)
    },
    progress: input =>
      isUpload(input) ? uploads(dataUploads).progress(input, input.signal) : operations.progress(input),
    cancel: input =>
      isUpload(input) ? uploads(dataUploads).cancel(input, input.signal) : operations.cancel(input),
  }
}

/** Snapshots are known by where they are, uploads by a word. */
function isUpload({ operationId }: OperationInput): boolean {
  return parseSnapshotOperation(operationId) === undefined
}

function uploads(dataUploads: DataUploads | undefined): DataUploads {
  if (dataUploads !== undefined) return dataUploads
  throw new CsiError('NO_DATA_MOVER', {
    reason: 'the contents of snapshots cannot be moved without a server',
    hint: 'Take the backup with a server, or without snapshotMoveData',
  })
}

async function boundVolume(
  item: ActionItem,
  client: KubeClient,
  signal: AbortSignal | undefined,
): Promise<Volume | undefined> {
  const volume = volumeOf(item)
  return volume && (await client.resource(VolumeKind).get(volume.name, { signal }))
}

/** The mark is for who runs the actions, and is not stored. */
function withoutCsi(item: ActionItem): BackupItemResult {
  item.metadata.annotations = { ...item.metadata.annotations, [annotationNames.skippedNoCsiPv]: 'true' }
  return { item, unchanged: true }
}

interface Subject {
  item: ActionItem
  backup: Backup
  volume: Volume
  driver: string
}

async function takeOrMove(
  { item, backup, volume, driver }: Subject,
  { client, clock, movesData = movesAll, dataUploads, classes }: CsiBackupOptions & { classes: ClassLister },
  signal: AbortSignal = new AbortController().signal,
): Promise<BackupItemResult> {
  const mover = (await movesData(backup, item)) ? uploads(dataUploads) : undefined
  const { snapshot, className } = await take(
    { item, backup, volume, driver },
    { client, clock, classes, signal },
  )
  growToVolume(item, volume)
  mark(item, { backup, snapshot })
  if (mover === undefined) return taken(item, snapshot, clock)
  const upload: SnapshotToUpload = { backup, claim: item, snapshot, snapshotClass: className, driver }
  return await moved(upload, mover, { client, clock, signal })
}

interface TakePorts {
  client: KubeClient
  clock: Clock
  classes: ClassLister
  signal: AbortSignal
}

/** By itself, or with those of its group. Members of a group have no class. */
async function take(
  { item, backup, driver }: Subject,
  { client, clock, classes, signal }: TakePorts,
): Promise<{ snapshot: VolumeSnapshot; className: string }> {
  const group = groupOfClaim(backup, item)
  if (group !== undefined) {
    const ports = { client, clock, timeoutMs: handleTimeoutOf(backup), signal }
    return { snapshot: await takeGroupSnapshot({ backup, group, claim: item }, ports), className: '' }
  }
  const { metadata } = chooseSnapshotClass({
    driver,
    classes: await classes(signal),
    claim: item.metadata.annotations,
    backup: backup.metadata.annotations,
  })
  const className = metadata.name ?? ''
  return { snapshot: await takeSnapshot({ backup, claim: item, className }, { client, signal }), className }
}

const movesAll: MovesData = ({ spec }) => spec.snapshotMoveData === true

function taken(item: ActionItem, snapshot: VolumeSnapshot, clock: Clock): BackupItemResult {
  const { namespace = '', name = '' } = snapshot.metadata
  const id: ResourceIdentifier = { group: snapshotGroup, resource: 'volumesnapshots', namespace, name }
  return { item, operationId: snapshotOperationId(snapshot, clock.now()), postOperationItems: [id] }
}

/** A snapshot that nobody moves is of no use. */
async function moved(
  upload: SnapshotToUpload,
  mover: DataUploads,
  ports: PatientPorts,
): Promise<BackupItemResult> {
  const { claim: item, snapshot } = upload
  try {
    const { operationId, dataUpload } = await mover.start(upload, ports.signal)
    const { namespace, name } = dataUpload
    item.metadata.annotations = {
      ...item.metadata.annotations,
      [annotationNames.dataUploadName]: `${namespace}/${name}`,
    }
    return { item, operationId, postOperationItems: [dataUpload] }
  } catch (error) {
    // One of a group goes with its group.
    if (groupOfClaim(upload.backup, item) === undefined) {
      await discardSnapshot(snapshot, ports).catch(() => undefined)
    }
    throw error
  }
}

/** A volume made of the snapshot is never smaller than the one that it was taken of. */
function growToVolume(item: ActionItem, { spec }: Volume): void {
  const capacity = spec?.capacity?.storage
  const { resources } = (item as Claim).spec ?? {}
  if (capacity === undefined || resources === undefined) return
  const wanted = resources.requests?.storage
  if (wanted !== undefined && (parseQuantity(wanted) ?? 0n) >= (parseQuantity(capacity) ?? 0n)) return
  resources.requests = { ...resources.requests, storage: capacity }
}

/** What a restore knows the snapshot of the claim by. */
function mark(item: ActionItem, { backup, snapshot }: { backup: Backup; snapshot: VolumeSnapshot }): void {
  const { name = '' } = snapshot.metadata
  const { labels, annotations } = item.metadata
  item.metadata.labels = {
    ...labels,
    [labelNames.volumeSnapshotName]: validLabelValue(name),
    [labelNames.backupName]: validLabelValue(backup.metadata.name ?? ''),
  }
  item.metadata.annotations = { ...annotations, [annotationNames.volumeSnapshotName]: name }
}

type ClassLister = (signal: AbortSignal) => Promise<readonly VolumeSnapshotClass[]>

/** Reads the classes once, however many claims there are. */
function classLister(client: KubeClient): ClassLister {
  let known: Promise<VolumeSnapshotClass[]> | undefined
  return signal => {
    const reading = known ?? client.resource(VolumeSnapshotClassKind).list({ signal }).toArray()
    known = reading
    reading.catch(() => {
      if (known === reading) known = undefined
    })
    return reading
  }
}
