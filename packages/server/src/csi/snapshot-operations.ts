import { type Backup, durationMilliseconds, formatTime } from '@lateen/api'
import { type Clock, type KubeClient, unlessNotFound } from '@lateen/kube'
import type { OperationInput, OperationProgress } from '@lateen/plugin'
import { isSnapshotOf } from './backup-snapshots.ts'
import { CsiError } from './csi-error.ts'
import { contentOf, discardSnapshot } from './release-snapshot.ts'
import { type VolumeSnapshot, VolumeSnapshotKind } from './snapshot-kinds.ts'
import { snapshotProgress } from './snapshot-progress.ts'

/** Where a snapshot is, and when it began: all that its operation is known by. */
export interface SnapshotOperation {
  namespace: string
  name: string
  /** Milliseconds since 1970. */
  began: number
}

/** `<namespace>/<snapshot>/<time>`, as Velero has it. */
export function snapshotOperationId({ metadata }: VolumeSnapshot, now: number): string {
  return `${metadata.namespace}/${metadata.name}/${metadata.creationTimestamp ?? formatTime(now)}`
}

/** Undefined for what is not the id of a snapshot's operation. */
export function parseSnapshotOperation(operationId: string): SnapshotOperation | undefined {
  const [namespace, name, time, ...more] = operationId.split('/')
  if (!namespace || !name || !time || more.length > 0) return undefined
  const began = Date.parse(time)
  return Number.isNaN(began) ? undefined : { namespace, name, began }
}

/** How long a driver may take until it tells the handle of a snapshot of the backup. */
export function handleTimeoutOf({ spec }: Backup): number {
  return durationMilliseconds(spec.csiSnapshotTimeout) || DEFAULT_HANDLE_TIMEOUT_MS
}

/** Velero's. */
const DEFAULT_HANDLE_TIMEOUT_MS = 600_000

/** Snapshots as operations of backups, asked about by their ids alone. */
export class SnapshotOperations {
  readonly #client: KubeClient
  readonly #clock: Clock

  constructor({ client, clock }: { client: KubeClient; clock: Clock }) {
    this.#client = client
    this.#clock = clock
  }

  /** Throws KubeErrors, and CsiError SNAPSHOT_LOST for an id that is none. */
  async progress({ operationId, backup, signal = never }: OperationInput): Promise<OperationProgress> {
    const operation = required(operationId)
    const snapshot = await this.#read(operation, signal)
    const content = snapshot && (await contentOf(snapshot, { client: this.#client, signal }))
    const { began } = operation
    const patience = { began, now: this.#clock.now(), handleTimeoutMs: handleTimeoutOf(backup) }
    return snapshotProgress({ snapshot, content }, patience)
  }

  /** CSI cannot stop a snapshot that is being taken: it is deleted, with what comes of it. Throws KubeErrors, and CsiErrors. */
  async cancel({ operationId, backup, signal = never }: OperationInput): Promise<void> {
    const snapshot = await this.#read(required(operationId), signal)
    if (snapshot === undefined || !isSnapshotOf(snapshot, backup.metadata.uid ?? '')) return
    await discardSnapshot(snapshot, { client: this.#client, clock: this.#clock, signal })
  }

  #read({ namespace, name }: SnapshotOperation, signal: AbortSignal): Promise<VolumeSnapshot | undefined> {
    return this.#client.resource(VolumeSnapshotKind, namespace).get(name, { signal }).catch(unlessNotFound)
  }
}

const never = new AbortController().signal

function required(operationId: string): SnapshotOperation {
  const operation = parseSnapshotOperation(operationId)
  if (operation !== undefined) return operation
  throw new CsiError('SNAPSHOT_LOST', {
    reason: `${JSON.stringify(operationId)} is not the id of a snapshot's operation`,
    hint: 'It has the form <namespace>/<snapshot>/<time>',
  })
}
