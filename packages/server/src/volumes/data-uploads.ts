import {
  type Backup,
  type DataUpload,
  DataUploadKind,
  durationMilliseconds,
  finalizerNames,
  isTerminal,
  labelNames,
  parseTime,
} from '@lateen/api'
import { builtInKind, type Clock, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import type { OperationProgress, ResourceIdentifier } from '@lateen/plugin'
import { CsiError } from '../csi/csi-error.ts'
import type { DataUploads, SnapshotToUpload } from '../csi/data-moves.ts'
import { dataUploadOperation, isBuiltInMover, newDataUpload } from './new-data-upload.ts'
import { nodeAgentNames } from './node-agent-on.ts'

export interface DataUploadsPorts {
  client: KubeClient
  clock: Clock
  /** Of the server's own objects. */
  namespace: string
}

interface DaemonSet extends KubeObject {
  status?: { desiredNumberScheduled?: number }
}

const PodKind = builtInKind<KubeObject>('Pod')
const DaemonSetKind = builtInKind<DaemonSet>('DaemonSet')

/** Node agents do not come and go from one claim to the next. */
const AGENTS_KNOWN_FOR_MS = 10_000

/** How long a node agent may take to start. */
const START_PATIENCE_MS = 60_000
const LOOK_AGAIN_MS = 500

/** How long a backup waits for a node agent to clear away what it made, unless the DataUpload says otherwise. */
const CLEAN_UP_PATIENCE_MS = 600_000

/** Has node agents, or the mover that a backup names, move the contents of snapshots. */
export function createDataUploads(ports: DataUploadsPorts): DataUploads {
  const { client, clock, namespace } = ports
  let agentsSeenAt = Number.NEGATIVE_INFINITY

  async function requireNodeAgent(signal: AbortSignal | undefined): Promise<void> {
    if (clock.now() - agentsSeenAt < AGENTS_KNOWN_FOR_MS) return
    await nodeAgentRuns({ client, clock, namespace, signal })
    agentsSeenAt = clock.now()
  }

  return {
    async start(request, signal) {
      if (isBuiltInMover(request.backup.spec.datamover)) await requireNodeAgent(signal)
      return begin(request, ports, signal)
    },
    async progress({ operationId, backup }, signal) {
      const object = await find(operationId, backup, { client, signal })
      return object === undefined ? gone(operationId) : dataUploadProgress(object, clock.now())
    },
    async cancel({ operationId, backup }, signal) {
      const object = await find(operationId, backup, { client, signal })
      if (object === undefined || object.spec.cancel || isOver(object)) return
      const { name = '' } = object.metadata
      await client
        .resource(DataUploadKind, object.metadata.namespace)
        .patch(name, { type: 'merge', body: { spec: { cancel: true } } }, { signal })
        .catch(unlessNotFound)
    },
  }
}

/** Waits for those that are about to start: node agents are restarted and updated like any pods. Throws CsiError NO_DATA_MOVER. */
async function nodeAgentRuns(ports: DataUploadsPorts & { signal: AbortSignal | undefined }): Promise<void> {
  const { client, clock, namespace, signal } = ports
  const deadline = clock.now() + START_PATIENCE_MS
  const agents = { labelSelector: 'role=node-agent', fieldSelector: 'status.phase=Running', limit: 1 }
  for (;;) {
    for await (const _ of client.resource(PodKind, namespace).list({ ...agents, signal })) return
    if (clock.now() >= deadline || !(await areNodeAgentsWanted(ports))) break
    await clock.sleep(LOOK_AGAIN_MS, signal)
  }
  throw new CsiError('NO_DATA_MOVER', {
    reason: `no node agent runs in the namespace ${namespace}, and the contents of snapshots are moved by node agents`,
    hint: 'Install them: lateen install --use-node-agent; or take the backup without --snapshot-move-data',
  })
}

async function areNodeAgentsWanted({
  client,
  namespace,
  signal,
}: DataUploadsPorts & { signal: AbortSignal | undefined }): Promise<boolean> {
  for (const name of nodeAgentNames) {
    const found = await client.resource(DaemonSetKind, namespace).get(name, { signal }).catch(unlessNotFound)
    if ((found?.status?.desiredNumberScheduled ?? 0) > 0) return true
  }
  return false
}

async function begin(
  request: SnapshotToUpload,
  { client }: DataUploadsPorts,
  signal: AbortSignal | undefined,
): Promise<{ operationId: string; dataUpload: ResourceIdentifier }> {
  const { backup, claim } = request
  const operationId = dataUploadOperation(backup.metadata.uid ?? '', claim.metadata.uid ?? '')
  const objects = client.resource(DataUploadKind, backup.metadata.namespace)
  const found =
    (await find(operationId, backup, { client, signal })) ??
    (await objects.create(newDataUpload(request), { signal }))
  const { namespace = '', name = '' } = found.metadata
  const { group, plural: resource } = DataUploadKind
  return { operationId, dataUpload: { group, resource, namespace, name } }
}

/** The object of an operation, which a user may have deleted. */
async function find(
  operationId: string,
  { metadata }: Backup,
  { client, signal }: { client: KubeClient; signal: AbortSignal | undefined },
): Promise<DataUpload | undefined> {
  const labelSelector = `${labelNames.asyncOperationId}=${operationId}`
  const found = client.resource(DataUploadKind, metadata.namespace).list({ labelSelector, signal })
  for await (const object of found) {
    if (object.metadata.labels?.[labelNames.backupUid] === metadata.uid) return object
  }
  return undefined
}

function isOver({ status }: DataUpload): boolean {
  return isTerminal(DataUploadKind, status?.phase)
}

function gone(operationId: string): OperationProgress {
  return {
    completed: true,
    error: `the DataUpload of the operation ${operationId} is gone, and with it the data that it was to move`,
    ...{ nCompleted: 0, nTotal: 0, operationUnits: 'Bytes', description: 'Gone' },
  }
}

/**
 * How far an upload is. One that is over is not complete before what was made for it is gone from the cluster, so that nothing is left of a
 * backup that has ended; but no backup waits for ever for a storage that does not delete.
 */
export function dataUploadProgress({ metadata, spec, status }: DataUpload, now: number): OperationProgress {
  const phase = status?.phase || 'New'
  const { progress, startTimestamp, completionTimestamp } = status ?? {}
  const isHeld = metadata.finalizers?.includes(finalizerNames.dataMove) ?? false
  const patience = durationMilliseconds(spec.operationTimeout) || CLEAN_UP_PATIENCE_MS
  const isLate = !completionTimestamp || now - parseTime(completionTimestamp) > patience
  const completed = isTerminal(DataUploadKind, phase) && (!isHeld || isLate)
  return {
    completed,
    error: completed ? errorOf(phase, status?.message) : '',
    nCompleted: progress?.bytesDone ?? 0,
    nTotal: progress?.totalBytes ?? 0,
    operationUnits: 'Bytes',
    description: phase,
    ...(startTimestamp && { started: parseTime(startTimestamp) }),
    ...(completionTimestamp && { updated: parseTime(completionTimestamp) }),
  }
}

function errorOf(phase: string, message = ''): string {
  if (phase === 'Completed') return ''
  if (phase === 'Failed') return message || 'the DataUpload failed and says no reason'
  return ['DataUpload is canceled', message].filter(Boolean).join(': ')
}
