import type { OwnerReference } from '@lateen/api'
import { isConflict, type KubeObject } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { messageOf } from '../../item/item-error.ts'
import { awaitEstablished, type Definition } from './definitions.ts'
import { explainRefusal } from './explain-refusal.ts'
import { asError, type ItemInHand, type ItemOutcome, itemId, placeOf } from './item-outcome.ts'
import { placeObject } from './place-object.ts'
import type { PreparedObject } from './prepare-object.ts'
import { RestoreItemError, resourceIdOf } from './restore-item-error.ts'
import type { RestoreRun } from './restore-run.ts'
import { throwIfOver } from './throw-if-over.ts'

/** An object with what was taken from it before it could be created. */
export interface ObjectToSend extends PreparedObject {
  item: ItemInHand
  status: unknown
  /** In the backup. */
  uid: string | undefined
  /** As they are in the backup. */
  owners: readonly OwnerReference[]
  /** For claims: the volume that they had, or nothing. */
  claimedVolume: string
}

const definitions = 'customresourcedefinitions.apiextensions.k8s.io'
const conflicts = 5

/** Puts an object into the cluster, and then what can only follow: status, owners, the data of its volumes, hooks. */
export async function sendObject(
  run: RestoreRun,
  sent: ObjectToSend,
  signal: AbortSignal,
): Promise<ItemOutcome> {
  const { item, object, groupResource, target, fieldOwners } = sent
  const links = run.owners.linked(sent.owners)
  const { outcome, created, live } = await placeObject({
    run,
    item,
    object,
    groupResource,
    target,
    signal,
    fieldManager: fieldOwners.fieldManager,
    metadata: links.references.length > 0 ? { ownerReferences: links.references } : undefined,
  })
  if (outcome.action !== 'failed') run.owners.learn(sent.uid, (created ?? live)?.metadata.uid)
  const { sink } = run.ports
  if (groupResource === definitions && (outcome.action === 'created' || outcome.action === 'updated')) {
    run.definitions.push((created ?? object) as Definition)
  }
  if (created === undefined) return outcome
  if (!sink.writes) {
    tellOfPodData(run, sent)
    return outcome
  }
  const { name = target.name } = created.metadata
  let placed: CreatedObject = { ...sent, target: { ...target, name }, created }
  placed = await restoreStatus(run, placed, signal)
  placed = await restoreFieldOwners(run, placed, signal)
  if (!links.complete) linkLater(run, placed, links.references.length)
  await afterCreate(run, placed, signal)
  return outcome
}

/** An object that is in the cluster now. */
interface CreatedObject extends ObjectToSend {
  /** As the server has it. */
  created: ActionItem
}

/** Says that an object is there without something it had: its status, the owners of its fields. */
function warnOfMissing(
  { report }: RestoreRun,
  { item, object }: ObjectToSend,
  { what, cause }: { what: string; cause: unknown },
): void {
  const { said, hint } = explainRefusal(cause, object)
  const id = itemId(item)
  const message = `${what} of ${resourceIdOf(id)} could not be restored: ${said}`
  const error = new RestoreItemError('ITEM_DIFFERS', id, { message, hint, cause })
  report.warn({ ...placeOf(item), error, message: 'An item is not all that it was' })
}

/** A status that is refused is a warning. */
async function restoreStatus(
  run: RestoreRun,
  placed: CreatedObject,
  signal: AbortSignal,
): Promise<CreatedObject> {
  const { item, object, target, status, created, fieldOwners } = placed
  const { restores } = run.scope.restoresStatus(item, object.metadata.annotations)
  if (!restores || status === undefined) return placed
  const { sink } = run.ports
  const write = { signal, fieldManager: fieldOwners.statusManager }
  let base: Pick<KubeObject, 'metadata'> = created
  for (let attempt = 1; ; attempt++) {
    // Many kinds take metadata with their status: what the cluster has written since it made the object is to stay.
    const { managedFields: _, ...metadata } = base.metadata
    try {
      const answer = await sink.updateStatus(target, { ...object, metadata, status }, write)
      return { ...placed, created: answer.object }
    } catch (error) {
      throwIfOver(error, signal)
      if (!isConflict(error) || attempt >= conflicts) {
        warnOfMissing(run, placed, { what: 'the status', cause: error })
        return placed
      }
    }
    base = (await sink.read(target, { signal })) ?? base
  }
}

/** Who owned the fields, where naming the manager was not enough. */
async function restoreFieldOwners(
  run: RestoreRun,
  placed: CreatedObject,
  signal: AbortSignal,
): Promise<CreatedObject> {
  const { entries: managedFields } = placed.fieldOwners
  if (managedFields === undefined) return placed
  try {
    const body = { metadata: { managedFields } }
    const answer = await run.ports.sink.patch(placed.target, { type: 'merge', body }, { signal })
    return { ...placed, created: answer.object }
  } catch (error) {
    throwIfOver(error, signal)
    warnOfMissing(run, placed, { what: 'the owners of fields', cause: error })
    return placed
  }
}

function linkLater(
  run: RestoreRun,
  { target, owners, fieldOwners, created }: CreatedObject,
  known: number,
): void {
  const { uid = '', resourceVersion = '' } = created.metadata
  const { fieldManager } = fieldOwners
  run.owners.later({ target, uid, resourceVersion, references: owners, known, fieldManager })
}

async function afterCreate(run: RestoreRun, sent: CreatedObject, signal: AbortSignal): Promise<void> {
  switch (sent.groupResource as string) {
    case 'pods':
      await beginPod(run, sent, signal)
      break
    case 'persistentvolumeclaims':
      noteClaim(run, sent)
      break
    case definitions:
      await awaitDefinition(run, sent, signal)
      break
  }
}

async function beginPod(
  run: RestoreRun,
  { item, created }: CreatedObject,
  signal: AbortSignal,
): Promise<void> {
  warnOfSharedClaims(run, item, created)
  try {
    await run.volumes.podRestored(created, item.source.namespace, signal)
  } catch (error) {
    throwIfOver(error, signal)
    podDataFailed(run, item, error)
  }
  run.ports.onPodRestored?.(created)
}

/** Where nothing is written: what would be said of the volumes of a pod. */
function tellOfPodData(run: RestoreRun, { item, groupResource, object }: ObjectToSend): void {
  if (groupResource !== 'pods') return
  warnOfSharedClaims(run, item, object)
  const error = run.volumes.missingPodData(object, item.source.namespace)
  if (error !== undefined) podDataFailed(run, item, error)
}

function warnOfSharedClaims({ volumes, report }: RestoreRun, item: ItemInHand, pod: ActionItem): void {
  const error = volumes.sharedClaims(pod, item.source.namespace)
  if (error === undefined) return
  report.warn({ ...placeOf(item), error, message: 'A pod does not wait for all of its volumes' })
}

function podDataFailed({ report }: RestoreRun, item: ItemInHand, error: unknown): void {
  report.error({ ...placeOf(item), error: asError(error), message: 'The volumes of a pod are not restored' })
}

function noteClaim(run: RestoreRun, { item, claimedVolume, created }: CreatedObject): void {
  const { namespace = '', name = '' } = created.metadata
  run.volumes.claimRestored(created)
  run.claims.push({
    namespace,
    name,
    sourceNamespace: item.source.namespace,
    volumeName: claimedVolume,
    provisioned: run.volumes.names.provisioned.has(claimedVolume),
  })
}

/** Objects of its kind can be created only then. */
async function awaitDefinition(
  run: RestoreRun,
  { item, target }: CreatedObject,
  signal: AbortSignal,
): Promise<void> {
  const { sink, discovery, clock, timeouts } = run.ports
  const { groupResource, namespace } = item
  const fail = (message: string, cause?: unknown): void => {
    const error = new RestoreItemError(
      'ITEM_NOT_READY',
      { groupResource, namespace, name: target.name },
      {
        message,
        hint: `see the conditions of the definition (kubectl get crd ${target.name} -o yaml)`,
        cause,
      },
    )
    run.report.error({ ...placeOf(item), error, message: 'A definition is not ready' })
  }
  try {
    const ports = { sink, discovery, clock, timeoutMs: timeouts.resource }
    if (await awaitEstablished(target, ports, signal)) return
    fail(`the CRD ${target.name} is not available to use for custom resources`)
  } catch (error) {
    throwIfOver(error, signal)
    fail(`error verifying the CRD ${target.name} is ready to use: ${messageOf(error)}`, error)
  }
}
