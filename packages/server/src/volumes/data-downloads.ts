import { createHash } from 'node:crypto'
import {
  annotationNames,
  apiVersionOf,
  BackupKind,
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  generateNameFor,
  labelNames,
  maxLabelLength,
  parseTime,
  type Restore,
  validLabelValue,
  veleroGroup,
} from '@lateen/api'
import { builtInKind, isAlreadyExists, type KubeClient, unlessNotFound } from '@lateen/kube'
import type { ActionItem, OperationProgress } from '@lateen/plugin'
import { CsiError } from '../csi/csi-error.ts'
import { type ClaimToDownload, type DataDownloads, targetSelectorAnnotation } from '../csi/data-moves.ts'
import { isBuiltInMover } from './new-data-upload.ts'
import { nodeAgentNames } from './node-agent-on.ts'
import { settingsOf } from './pod-volume-restores.ts'

export interface DataDownloadsOptions {
  client: KubeClient
  /** False for a plan, which changes nothing. */
  writes?: boolean
}

/** Has volumes filled by DataDownloads, each found by the id of its operation. */
export function createDataDownloads({ client, writes = true }: DataDownloadsOptions): DataDownloads {
  return {
    async start(request, signal) {
      const upload = await uploadOf(request)
      if (upload === undefined) return undefined
      const { restore, claimFromBackup } = request
      const operationId = validLabelValue(`dd-${restore.metadata.uid}.${claimFromBackup.metadata.uid}`)
      const claim = waitingClaim(request)
      const scope = { client, restore, signal }
      if (writes && isBuiltInMover(upload.spec.datamover)) await requireNodeAgents(scope)
      if (writes) await begin(newDataDownload(request, { upload, operationId }), scope)
      return { operationId, claim }
    },
    async progress({ operationId, restore }, signal) {
      const found = await find(operationId, { client, restore, signal })
      return found === undefined ? gone(operationId) : progressOf(found)
    },
    async cancel({ operationId, restore }, signal) {
      const found = await find(operationId, { client, restore, signal })
      if (found === undefined || found.spec.cancel) return
      const { name = '', namespace } = found.metadata
      const patch = { type: 'merge', body: { spec: { cancel: true } } } as const
      await client.resource(DataDownloadKind, namespace).patch(name, patch, { signal }).catch(unlessNotFound)
    },
  }
}

/** A claim whose content the backup should have and has not. */
export class MovedDataError extends Error {
  override readonly name = 'MovedDataError'
  readonly code = 'DATA_NOT_MOVED'
  readonly hint: string

  constructor(reason: string, hint: string) {
    super(`${reason}. ${hint}`)
    this.hint = hint
  }
}

/** The DataUpload of a claim; undefined where there is nothing to fill its volume with. Throws `MovedDataError` where there should be. */
async function uploadOf(request: ClaimToDownload): Promise<DataUpload | undefined> {
  const { namespace, name, annotations } = request.claimFromBackup.metadata
  const named = annotations?.[annotationNames.dataUploadName]
  if (named === undefined) return undefined
  const upload = await findUpload(named, request)
  if (upload === undefined) {
    throw new MovedDataError(
      `the content of the claim ${namespace}/${name} was moved by the DataUpload ${named}, which is not in the backup`,
      anotherBackup,
    )
  }
  const { spec, status } = upload
  if (status?.phase !== 'Completed') {
    throw new MovedDataError(
      `the content of the claim ${namespace}/${name} is not in the backup: its DataUpload ${upload.metadata.name} is ${status?.phase || 'New'}`,
      anotherBackup,
    )
  }
  // Nothing was in the volume, and a new one has as much.
  return !status.snapshotID && isBuiltInMover(spec.datamover) ? undefined : upload
}

const anotherBackup =
  'Restore the claim from another backup, or without its content with --restore-volumes=false'

const uploads = { group: veleroGroup, resource: 'datauploads' } as const

/** By the name that the claim says, or else by the claim that it says. */
async function findUpload(
  named: string,
  { restore, claimFromBackup, backedUp }: ClaimToDownload,
): Promise<DataUpload | undefined> {
  const [namespace = '', name = ''] = named.split('/')
  const read = await backedUp.read({ ...uploads, namespace, name })
  if (read !== undefined) return read as unknown as DataUpload
  const backup = validLabelValue(restore.spec.backupName ?? '')
  const { metadata } = claimFromBackup
  for await (const object of backedUp.list(uploads)) {
    const upload = object as unknown as DataUpload
    const isOfClaim =
      upload.spec.sourceNamespace === metadata.namespace && upload.spec.sourcePVC === metadata.name
    // The backup may have those of others, too, when it has the namespace of the installation.
    if (isOfClaim && upload.metadata.labels?.[labelNames.backupName] === backup) return upload
  }
  return undefined
}

interface ClaimSpec {
  volumeName?: string
  dataSource?: object
  dataSourceRef?: object
  selector?: { matchLabels?: Record<string, string> } | null
}

/** The claim as it waits for its volume: with a selector that no other volume fits, so that nobody provisions an empty one for it. */
function waitingClaim(request: ClaimToDownload): ActionItem {
  const { claim } = request
  const { volumeName: _bound, dataSource: _, dataSourceRef: __, ...spec } = (claim.spec ?? {}) as ClaimSpec
  const matchLabels = {
    ...spec.selector?.matchLabels,
    [labelNames.dynamicPvRestore]: selectorOf(request),
  }
  return { ...claim, spec: { ...spec, selector: { ...spec.selector, matchLabels } } }
}

/** Of one claim of one restore. */
function selectorOf(request: ClaimToDownload): string {
  const { namespace, name } = targetOf(request)
  return validLabelValue(`${namespace}.${name}.${hashOf(request.restore.metadata.uid ?? '')}`)
}

/** Where the claim will be, whatever the item says yet. */
function targetOf({ restore, claim, claimFromBackup }: ClaimToDownload): { namespace: string; name: string } {
  const { namespace = '' } = claimFromBackup.metadata
  const mapping = restore.spec.namespaceMapping ?? {}
  return {
    namespace: (Object.hasOwn(mapping, namespace) ? mapping[namespace] : undefined) ?? namespace,
    name: claim.metadata.name ?? '',
  }
}

const hashLength = 5

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, hashLength)
}

interface Facts {
  upload: DataUpload
  operationId: string
}

/** The object without what its Backup says. */
function newDataDownload(request: ClaimToDownload, { upload, operationId }: Facts): DataDownload {
  const { restore } = request
  const { spec, status } = upload
  const { name = '', namespace = '', uid = '' } = restore.metadata
  const { namespace: targetNamespace, name: pvc } = targetOf(request)
  const settings = settingsOf(restore)
  return {
    apiVersion: apiVersionOf(DataDownloadKind),
    kind: DataDownloadKind.kind,
    metadata: {
      namespace,
      ownerReferences: [{ apiVersion: restore.apiVersion, kind: restore.kind, name, uid, controller: true }],
      labels: {
        [labelNames.restoreName]: validLabelValue(name),
        [labelNames.restoreUid]: uid,
        [labelNames.asyncOperationId]: operationId,
      },
      annotations: { [targetSelectorAnnotation]: selectorOf(request) },
    },
    spec: {
      targetVolume: { namespace: targetNamespace, pvc, pv: '' },
      backupStorageLocation: '',
      snapshotID: status?.snapshotID ?? '',
      sourceNamespace: spec.sourceNamespace,
      operationTimeout: defaultOperationTimeout,
      ...(status?.progress?.totalBytes !== undefined && { snapshotSize: status.progress.totalBytes }),
      ...(spec.datamover && { datamover: spec.datamover }),
      ...(status?.nodeOS && { nodeOS: status.nodeOS }),
      ...(settings && { dataMoverConfig: settings }),
    },
  }
}

const defaultOperationTimeout = '10m0s'

interface Scope {
  client: KubeClient
  restore: Restore
  signal: AbortSignal | undefined
}

/** Without any node agent, now or soon, nobody would ever fill a volume. */
async function requireNodeAgents({ client, restore, signal }: Scope): Promise<void> {
  const { namespace = '' } = restore.metadata
  const agents = client.resource(DaemonSetKind, namespace)
  for (const name of nodeAgentNames) {
    if ((await agents.get(name, { signal }).catch(unlessNotFound)) !== undefined) return
  }
  throw new CsiError('NO_DATA_MOVER', {
    reason: `there are no node agents in the namespace ${namespace}, which have volumes filled from the repository`,
    hint: 'Install them and restore again: lateen install --use-node-agent',
  })
}

async function find(
  operationId: string,
  { client, restore, signal }: Scope,
): Promise<DataDownload | undefined> {
  const labelSelector = `${labelNames.asyncOperationId}=${operationId}`
  const objects = client.resource(DataDownloadKind, restore.metadata.namespace)
  for await (const object of objects.list({ labelSelector, signal })) return object
  return undefined
}

const DaemonSetKind = builtInKind('DaemonSet')

/** How many names are tried: another claim of the restore may have the same by chance. */
const mostNames = 8

/** Creates the object, unless it is there. Its name is made from its operation, so that no lost answer makes two of one. */
async function begin(object: DataDownload, scope: Scope): Promise<void> {
  const operationId = object.metadata.labels?.[labelNames.asyncOperationId] ?? ''
  if ((await find(operationId, scope)) !== undefined) return
  const spec = { ...object.spec, ...(await ofBackup(scope)) }
  for (let attempt = 1; ; attempt += 1) {
    const name = nameOf(scope.restore.metadata.name ?? '', `${operationId}/${attempt}`)
    try {
      await create({ ...object, metadata: { ...object.metadata, name }, spec }, scope)
      return
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      if ((await find(operationId, scope)) !== undefined) return
      if (attempt === mostNames) throw error
    }
  }
}

function create(object: DataDownload, { client, signal }: Scope): Promise<DataDownload> {
  return client.resource(DataDownloadKind, object.metadata.namespace).create(object, { signal })
}

/** What the Backup in this cluster says: its location may have another name than where it was made. */
async function ofBackup({ client, restore, signal }: Scope): Promise<Partial<DataDownload['spec']>> {
  const backups = client.resource(BackupKind, restore.metadata.namespace)
  const { spec } = await backups.get(restore.spec.backupName ?? '', { signal })
  return {
    backupStorageLocation: spec.storageLocation ?? '',
    ...(spec.csiSnapshotTimeout && { operationTimeout: spec.csiSnapshotTimeout }),
  }
}

/** Pods and labels have it, too, so it is no longer than those may be. */
function nameOf(restore: string, what: string): string {
  return `${generateNameFor(restore).slice(0, maxLabelLength - hashLength)}${hashOf(what)}`
}

function gone(operationId: string): OperationProgress {
  return {
    ...{ completed: true, nCompleted: 0, nTotal: 0, operationUnits: 'Bytes', description: '' },
    error: `the DataDownload of the operation ${operationId} was deleted before it was over`,
  }
}

function progressOf({ status }: DataDownload): OperationProgress {
  const { phase = 'New', progress, message, startTimestamp, completionTimestamp } = status ?? {}
  const error = phase === 'Failed' ? message || 'DataDownload failed' : canceledWords(phase, message)
  return {
    completed: phase === 'Completed' || error !== '',
    error,
    nCompleted: progress?.bytesDone ?? 0,
    nTotal: progress?.totalBytes ?? 0,
    operationUnits: 'Bytes',
    description: phase || 'New',
    started: startTimestamp ? parseTime(startTimestamp) : undefined,
    updated: completionTimestamp ? parseTime(completionTimestamp) : undefined,
  }
}

function canceledWords(phase: string, message: string | undefined): string {
  if (phase !== 'Canceled') return ''
  return message ? `DataDownload is canceled: ${message}` : 'DataDownload is canceled'
}
