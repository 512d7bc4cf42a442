import { type Backup, goDurationOf, labelNames, validLabelValue } from '@lateen/api'
import {
  builtInKind,
  type Clock,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  unlessNotFound,
} from '@lateen/kube'
import { chooseGroupSnapshotClass } from './choose-group-snapshot-class.ts'
import { type ClaimGroup, groupSnapshotName } from './claim-group.ts'
import { CsiError } from './csi-error.ts'
import { type GroupState, handlesWhenComplete, markGroup, readGroup } from './group-members.ts'
import {
  type VolumeGroupSnapshot,
  VolumeGroupSnapshotClassKind,
  VolumeGroupSnapshotKind,
} from './group-snapshot-kinds.ts'
import type { VolumeSnapshot } from './snapshot-kinds.ts'

interface Claim extends KubeObject {
  spec?: { volumeName?: string }
}

interface PersistentVolume extends KubeObject {
  spec?: { csi?: { driver?: string } }
}

const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')
const PersistentVolumeKind = builtInKind<PersistentVolume>('PersistentVolume')

/** A claim whose group is to be snapshotted. */
export interface GroupRequest {
  backup: Backup
  group: ClaimGroup
  claim: Pick<KubeObject, 'metadata'>
}

export interface GroupSnapshotPorts {
  client: KubeClient
  clock: Clock
  /** How long the driver may take, from when the group snapshot was asked for. */
  timeoutMs: number
  signal: AbortSignal
}

const STEPS_MS = { first: 100, longest: 1_000, growth: 1.5 }

/**
 * The snapshot of a claim that was taken together with those of its group. Whoever asks first has the group snapshot taken; others, and
 * whoever takes over after a crash, find it. It waits for the driver: before that nobody knows the names of the members.
 * Throws CsiError, KubeErrors, and the signal's reason.
 */
export async function takeGroupSnapshot(
  request: GroupRequest,
  ports: GroupSnapshotPorts,
): Promise<VolumeSnapshot> {
  const { clock, timeoutMs, signal } = ports
  const group = await ensureGroupSnapshot(request, ports)
  const deadline = Date.parse(group.metadata.creationTimestamp ?? '') + timeoutMs
  for (let step = STEPS_MS.first; ; step = Math.min(step * STEPS_MS.growth, STEPS_MS.longest)) {
    const state = await readAgain(group, ports)
    if (handlesWhenComplete(state) !== undefined) return memberOf(request, state, ports)
    if (clock.now() >= deadline) throw late(group, state, timeoutMs)
    await clock.sleep(step, signal)
  }
}

async function memberOf(
  { backup, claim, group }: GroupRequest,
  state: GroupState,
  ports: GroupSnapshotPorts,
): Promise<VolumeSnapshot> {
  const members = await markGroup(state, backup, ports)
  const found = members.find(({ snapshot }) => {
    return snapshot.spec.source.persistentVolumeClaimName === claim.metadata.name
  })
  if (found !== undefined) return found.snapshot
  throw new CsiError('SNAPSHOT_LOST', {
    reason: `the group ${group.label}=${group.value} was snapshotted without the claim ${group.namespace}/${claim.metadata.name}`,
    hint: 'See whether it got the label, or its volume, after the backup began; the next backup has it',
  })
}

async function readAgain(group: VolumeGroupSnapshot, ports: GroupSnapshotPorts): Promise<GroupState> {
  const { client, signal } = ports
  const { namespace, name = '', uid } = group.metadata
  const now = await client
    .resource(VolumeGroupSnapshotKind, namespace)
    .get(name, { signal })
    .catch(unlessNotFound)
  if (now !== undefined && now.metadata.uid === uid && now.metadata.deletionTimestamp === undefined)
    return readGroup(now, ports)
  throw new CsiError('SNAPSHOT_LOST', {
    reason: `the VolumeGroupSnapshot ${namespace}/${name} was deleted while the backup waited for it`,
    hint: 'Take the backup again',
  })
}

async function ensureGroupSnapshot(
  request: GroupRequest,
  ports: GroupSnapshotPorts,
): Promise<VolumeGroupSnapshot> {
  const { client, signal } = ports
  const { backup, group } = request
  const { uid = '' } = backup.metadata
  const name = groupSnapshotName(uid, group)
  const snapshots = client.resource(VolumeGroupSnapshotKind, group.namespace)
  const existing = await snapshots.get(name, { signal }).catch(unlessNotFound)
  if (existing !== undefined) return existing
  const wanted = await newGroupSnapshot(request, name, ports)
  return snapshots.create(wanted, { signal }).catch(error => {
    if (!isAlreadyExists(error)) throw error
    return snapshots.get(name, { signal })
  })
}

async function newGroupSnapshot(
  { backup, group, claim }: GroupRequest,
  name: string,
  ports: GroupSnapshotPorts,
): Promise<VolumeGroupSnapshot> {
  const { client, signal } = ports
  const driver = await driverOf(group, ports)
  const classes = await client.resource(VolumeGroupSnapshotClassKind).list({ signal }).toArray()
  const volumeGroupSnapshotClassName = chooseGroupSnapshotClass({
    driver,
    classes,
    claim: claim.metadata.annotations,
    backup: backup.metadata.annotations,
  })
  const labels = {
    [labelNames.backupName]: validLabelValue(backup.metadata.name ?? ''),
    [labelNames.backupUid]: backup.metadata.uid ?? '',
    [group.label]: group.value,
  }
  return {
    apiVersion: `${VolumeGroupSnapshotKind.group}/${VolumeGroupSnapshotKind.version}`,
    kind: VolumeGroupSnapshotKind.kind,
    metadata: { name, namespace: group.namespace, labels },
    spec: {
      volumeGroupSnapshotClassName,
      source: { selector: { matchLabels: { [group.label]: group.value } } },
    },
  }
}

/** The driver of all volumes of a group. */
async function driverOf(group: ClaimGroup, { client, signal }: GroupSnapshotPorts): Promise<string> {
  const { namespace, label, value } = group
  const drivers = new Map<string, string[]>()
  const claims = client.resource(ClaimKind, namespace).list({ labelSelector: `${label}=${value}`, signal })
  for await (const { metadata, spec } of claims) {
    const volume = spec?.volumeName
      ? await client.resource(PersistentVolumeKind).get(spec.volumeName, { signal }).catch(unlessNotFound)
      : undefined
    const driver = volume?.spec?.csi?.driver
    if (driver === undefined) throw notOfDriver(group, metadata.name ?? '', volume !== undefined)
    drivers.set(driver, [...(drivers.get(driver) ?? []), metadata.name ?? ''])
  }
  const [only, ...others] = drivers.keys()
  if (only !== undefined && others.length === 0) return only
  const parts = [...drivers].map(([driver, names]) => `${driver} (${names.join(', ')})`).join(' and ')
  throw new CsiError('GROUP_OF_SEVERAL_DRIVERS', {
    reason: `the claims of the group ${label}=${value} in ${namespace} have volumes of several CSI drivers: ${parts}`,
    hint: 'Only volumes of one driver can be snapshotted together; give them groups of their own',
  })
}

function notOfDriver({ namespace, label, value }: ClaimGroup, claim: string, bound: boolean): CsiError {
  return new CsiError('GROUP_OF_SEVERAL_DRIVERS', {
    reason: `the claim ${namespace}/${claim} of the group ${label}=${value} has ${bound ? 'no CSI volume' : 'no volume'}`,
    hint: `Take the label ${label} from it: the others of its group cannot be snapshotted with it`,
  })
}

function late({ metadata, status }: VolumeGroupSnapshot, state: GroupState, timeoutMs: number): CsiError {
  const fault = state.content?.status?.error?.message ?? status?.error?.message ?? ''
  return new CsiError('SNAPSHOT_LATE', {
    reason: `the group snapshot ${metadata.namespace}/${metadata.name} had no handles after ${goDurationOf(timeoutMs)}${fault && `; its driver says: ${fault}`}`,
    hint: 'See whether the CSI driver and its snapshotter run, or give them longer with --csi-snapshot-timeout',
  })
}
