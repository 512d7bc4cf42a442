import type { ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { type GroupResource, groupResource } from '../../item/item.ts'
import type { SinkTarget } from '../sink/sink.ts'
import { type ItemInHand, itemId, placeOf } from './item-outcome.ts'
import { type OwnersPlan, planOwners } from './managed-fields.ts'
import { addRestoreLabels, dropFieldOwners } from './reset-object.ts'
import { RestoreItemError } from './restore-item-error.ts'
import type { RestoreRun } from './restore-run.ts'

export interface ObjectToPrepare {
  item: ItemInHand
  /** After its actions. It is changed. */
  object: ActionItem
  /** What it was in the backup. */
  kind: string
}

/** An object as it is to be in the cluster. */
export interface PreparedObject {
  object: ActionItem
  groupResource: GroupResource
  target: SinkTarget
  fieldOwners: OwnersPlan
}

/** What is left to do once the actions have run: claims, modifiers, namespace, labels, type. Throws RestoreItemError. */
export async function prepareObject(
  run: RestoreRun,
  { item, object: acted, kind }: ObjectToPrepare,
  signal: AbortSignal,
): Promise<PreparedObject> {
  if (item.groupResource === 'persistentvolumeclaims') run.volumes.rebind(acted)
  const object = modify(run, item, acted)
  if (item.namespace !== '') object.metadata.namespace = item.namespace
  addRestoreLabels(object, run.labels)
  const fieldOwners = planOwners(object)
  dropFieldOwners(object)
  const type = await typeOf(run, { item, object, kind }, signal)
  const { namespace = '', name = '' } = object.metadata
  return { object, groupResource: groupResource(type), target: { type, namespace, name }, fieldOwners }
}

/** Rules that fail are errors; what succeeded counts. */
function modify({ ports, report }: RestoreRun, item: ItemInHand, object: ActionItem): ActionItem {
  const { groupResource: type, source } = item
  const modified = ports.modify?.({ item: object, groupResource: type, namespace: source.namespace })
  for (const error of modified?.errors ?? []) {
    report.error({ ...placeOf(item), error, message: 'A resource modifier failed' })
  }
  return modified?.item ?? object
}

/** An action may have changed the version, the group or even the kind. */
async function typeOf(
  { ports }: RestoreRun,
  { item, object, kind }: ObjectToPrepare,
  signal: AbortSignal,
): Promise<ResourceType<Unstructured>> {
  const slash = object.apiVersion.indexOf('/')
  const group = slash < 0 ? '' : object.apiVersion.slice(0, slash)
  const version = object.apiVersion.slice(slash + 1)
  const namespaced = (object.metadata.namespace ?? '') !== ''
  if (object.kind === kind) {
    const plural = item.groupResource.split('.', 1)[0] ?? ''
    return { group, version, kind, plural, namespaced }
  }
  const found = await ports.discovery.findKind({ group, version, kind: object.kind }, { signal })
  if (found !== undefined) return { ...found, namespaced }
  throw new RestoreItemError('ITEM_KIND_UNKNOWN', itemId(item), {
    message: `error getting GVR for ${object.apiVersion}, Kind=${object.kind}: the cluster does not serve it`,
    hint: 'an action has changed the kind of the object: install the definition of the new kind',
  })
}
