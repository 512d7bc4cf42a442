import { isAlreadyExists } from '@lateen/kube'
import { messageOf } from '../../item/item-error.ts'
import type { SinkAnswer } from '../sink/sink.ts'
import { explainRefusal } from './explain-refusal.ts'
import { failWithError, failWithWarning, type ItemOutcome, itemId, reasons } from './item-outcome.ts'
import { createReady, type PlacedObject, type ReadyObject } from './ready-object.ts'
import { RestoreItemError, resourceIdOf } from './restore-item-error.ts'
import { settleExisting } from './settle-existing.ts'
import { throwIfOver } from './throw-if-over.ts'

/** How often an object is sent that is there whenever it is created, and gone whenever it is looked for. */
const attempts = 4

/**
 * Creates an object, or settles what is to be done about the one that is there. Refusals are errors or warnings in the outcome.
 * Throws what ends a restore.
 */
export async function placeObject(ready: ReadyObject): Promise<PlacedObject> {
  const known = await ready.run.existing.known(ready.target, ready.signal)
  if (known !== undefined) return settleExisting(ready, known)
  for (let attempt = 1; ; attempt++) {
    try {
      return created(ready, await createReady(ready))
    } catch (error) {
      throwIfOver(error, ready.signal)
      const found = await look(ready, error)
      if (found !== undefined) return found
      if (isAlreadyExists(error) && attempt < attempts) continue
      return { outcome: failWithError(ready, refusalOf(ready, error)) }
    }
  }
}

function created({ item, object }: ReadyObject, { object: answer, note }: SinkAnswer): PlacedObject {
  const name = answer.metadata.name ?? ''
  const outcome: ItemOutcome = {
    action: 'created',
    reason: reasons.created,
    exists: true,
    note,
    desired: object,
    ...(name !== item.source.name && { createdName: name }),
  }
  return { outcome, created: answer }
}

/**
 * After a create failed: the object may be there, however the server put it. A quota or a webhook speaks before the server looks, and
 * a port that is taken is taken by the very service. Undefined when it is not there.
 */
async function look(ready: ReadyObject, error: unknown): Promise<PlacedObject | undefined> {
  const { run, target, signal } = ready
  if (target.name === '') return undefined
  try {
    const live = await run.existing.look(target, signal)
    return live && (await settleExisting(ready, live))
  } catch (cause) {
    throwIfOver(cause, signal)
    if (!isAlreadyExists(error)) return undefined
    const id = itemId(ready.item)
    const message = `${resourceIdOf(id)} exists and could not be read, so nothing was done about it: ${messageOf(cause)}`
    const unread = new RestoreItemError('ITEM_REFUSED', id, { message, hint: '', cause })
    return { outcome: failWithWarning(ready, unread, false) }
  }
}

function refusalOf(ready: ReadyObject, cause: unknown): Error {
  const { said, hint } = explainRefusal(cause, ready.object)
  const id = itemId(ready.item)
  return new RestoreItemError('ITEM_REFUSED', id, {
    message: `error restoring ${resourceIdOf(id)}: ${said}`,
    hint,
    cause,
  })
}
