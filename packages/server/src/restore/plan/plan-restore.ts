import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { Registered, RestoreItemAction } from '@lateen/plugin'
import type { Results } from '../../report/report.ts'
import type { BlockWorkers } from '../../workers/block-workers.ts'
import type { BackupArchive } from '../archive/backup-archive.ts'
import type { RestoreAction } from '../items/restored-item.ts'
import { applyModifiers } from '../modifiers/apply-modifiers.ts'
import type { ResourceModifiers } from '../modifiers/resource-modifiers.ts'
import type { RestoreOutcome, RestorePorts, RestoreProgress, RestoreRequest } from '../restore-request.ts'
import { runRestore } from '../run-restore.ts'
import { createClusterSink } from '../sink/cluster-sink.ts'
import { createPlanSink } from '../sink/plan-sink.ts'
import { RequestGate } from '../sink/request-gate.ts'
import type { VolumeRestore } from '../volumes/volume-restore.ts'
import { ObjectSchemas } from './object-schemas.ts'
import { PlanRows } from './plan-rows.ts'
import type { PlannedItem } from './planned-item.ts'
import { quotaWarnings } from './quota-warnings.ts'

/** A restore to plan: found valid, with its defaults. */
export interface PlanRequest extends RestoreRequest {
  modifiers?: ResourceModifiers | undefined
  /** Whether the objects are kept in scratch, for those who show differences. */
  withObjects: boolean
}

/** What plans are made with. */
export interface PlanPorts {
  client: KubeClient
  clock: Clock
  /** Hears what the restore's own log would. */
  log: Logger
  archive: BackupArchive
  /** A folder that exists and that only this plan uses. */
  scratch: string
  workers: BlockWorkers
  actions: readonly Registered<RestoreItemAction>[]
  volumes: VolumeRestore
  newUid(): string
  onProgress?: ((progress: RestoreProgress) => void) | undefined
}

/** What a restore would do. Disposing removes what is in scratch. */
export interface RestorePlan extends AsyncDisposable {
  readonly counts: Readonly<Record<RestoreAction, number>>
  readonly warnings: number
  readonly errors: number
  /** As the restore would store them. */
  readonly results: Results
  /** What the restore itself would not say before it happens. */
  readonly remarks: readonly string[]
  /** Every object that would come up, by type, namespace and name. Throws ScratchError. */
  items(): AsyncIterable<PlannedItem>
}

/** Nothing is written, so that there is nothing to wait for. */
const timeouts: RestorePorts['timeouts'] = { resource: 0, terminating: 0 }

/**
 * Asks what a restore would do, object by object, and writes nothing: the pipeline of the restore itself with a sink that only
 * asks. Hooks do not run and nothing is waited for. Throws as `runRestore` does.
 */
export async function planRestore(
  request: PlanRequest,
  ports: PlanPorts,
  signal: AbortSignal,
): Promise<RestorePlan> {
  await using undo = new AsyncDisposableStack()
  const { withObjects, modifiers, ...restoreRequest } = request
  const rows = undo.use(await PlanRows.create({ scratch: ports.scratch, withObjects }))
  const outcome = await runRestore(restoreRequest, restorePorts(ports, rows, modifiers), signal)
  const remarks = await quotaWarnings(outcome.items(), ports.client, signal)
  const kept = undo.move()
  return planOf(outcome, { rows, remarks, dispose: () => kept.disposeAsync() })
}

function restorePorts(
  ports: PlanPorts,
  rows: PlanRows,
  modifiers: ResourceModifiers | undefined,
): RestorePorts {
  const { client, clock, log, archive, workers, actions, volumes, onProgress } = ports
  const { discovery } = client
  const gate = new RequestGate({ clock, most: workers.count })
  const dryRun = createClusterSink({ client, gate, clock, log, dryRun: true })
  const schemas = new ObjectSchemas({ client, sink: dryRun })
  return {
    archive,
    sink: createPlanSink({ dryRun, discovery, schemas, ready: () => rows.ready() }),
    discovery,
    clock,
    newUid: () => ports.newUid(),
    log,
    actions,
    volumes,
    workers,
    timeouts,
    onItem: restored => rows.add(restored),
    ...(modifiers && { modify: item => applyModifiers(modifiers, item) }),
    ...(onProgress && { onProgress }),
  }
}

function planOf(
  { results, warnings, errors }: RestoreOutcome,
  { rows, remarks, dispose }: { rows: PlanRows; remarks: readonly string[]; dispose: () => Promise<void> },
): RestorePlan {
  return {
    counts: rows.counts,
    warnings,
    errors,
    results,
    remarks,
    items: () => rows.sorted(),
    [Symbol.asyncDispose]: dispose,
  }
}
