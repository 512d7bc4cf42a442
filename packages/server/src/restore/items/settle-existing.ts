import type { ActionItem } from '@lateen/plugin'
import { copyJson } from '../modifiers/copy-json.ts'
import { isBound } from '../volumes/keep-binding.ts'
import { decideExisting } from './existing-policy.ts'
import { explainRefusal } from './explain-refusal.ts'
import {
  type Compared,
  failWithError,
  failWithWarning,
  type ItemOutcome,
  itemId,
  reasons,
} from './item-outcome.ts'
import type { MergePatch } from './merge-patch.ts'
import { createReady, type PlacedObject, type ReadyObject } from './ready-object.ts'
import { dropFieldOwners, resetObject } from './reset-object.ts'
import { RestoreItemError, resourceIdOf } from './restore-item-error.ts'
import { throwIfOver } from './throw-if-over.ts'

const pollMs = 500

/** Does about an object that is there what the policy says. Throws the signal's reason. */
export async function settleExisting(ready: ReadyObject, found: ActionItem): Promise<PlacedObject> {
  const { run, object } = ready
  const live = copyJson(found)
  resetObject(live)
  dropFieldOwners(live)
  const { policy, labels } = run
  const { groupResource } = ready
  const bound = isBound(found)
  const decided = decideExisting({ policy, groupResource, wanted: object, live, labels, bound })
  const compared = { desired: object, live }
  switch (decided.step) {
    case 'leave':
      return { outcome: there(compared), live: found }
    case 'mark':
      return { outcome: (await mark(ready, decided.patch)) ?? there(compared), live: found }
    case 'keep':
      return { outcome: { ...failWithWarning(ready, differs(ready, decided.warning), true), ...compared } }
    case 'patch':
      return { outcome: { ...compared, ...(await change(ready, decided)) }, live: found }
    case 'replace':
      return replace(ready, found, compared)
  }
}

function there(compared: Compared): ItemOutcome {
  return { action: 'skipped', reason: reasons.same, exists: true, ...compared }
}

/** Undefined when it went well. */
async function mark(ready: ReadyObject, body: MergePatch): Promise<ItemOutcome | undefined> {
  const { run, target, signal } = ready
  try {
    await run.ports.sink.patch(target, { type: 'merge', body }, { signal })
    return undefined
  } catch (error) {
    throwIfOver(error, signal)
    return { ...failWithError(ready, refusal(ready, error)), exists: true }
  }
}

async function change(
  ready: ReadyObject,
  { patch, mark: labels }: { patch: MergePatch; mark: MergePatch | undefined },
): Promise<ItemOutcome> {
  const { run, target, fieldManager, signal } = ready
  try {
    const write = { fieldManager, signal }
    const body = { type: 'merge', body: patch } as const
    const { object: desired, note } = await run.ports.sink.patch(target, body, write)
    resetObject(desired)
    dropFieldOwners(desired)
    const reason = ready.groupResource === 'serviceaccounts' ? reasons.merged : reasons.updated
    return { action: 'updated', reason, exists: true, note, desired }
  } catch (error) {
    throwIfOver(error, signal)
    const outcome = failWithWarning(ready, refusal(ready, error), true)
    return (labels && (await mark(ready, labels))) ?? outcome
  }
}

async function replace(ready: ReadyObject, found: ActionItem, compared: Compared): Promise<PlacedObject> {
  const { run, target, fieldManager, signal } = ready
  const { sink } = run.ports
  let exists = true
  try {
    // What cannot be created again must not be deleted.
    await sink.probe(target, ready.object, { fieldManager, signal })
    if (sink.writes) {
      exists = false
      await sink.remove(target, { uid: found.metadata.uid ?? '', signal })
      await awaitGone(ready)
    }
    const { object: created, note } = sink.writes
      ? await createReady(ready)
      : { object: ready.object, note: 'dry-run under another name' }
    return {
      outcome: { action: 'updated', reason: reasons.replaced, exists: true, note, ...compared },
      created,
    }
  } catch (error) {
    throwIfOver(error, signal)
    return { outcome: { ...failWithError(ready, refusal(ready, error)), exists, ...compared } }
  }
}

/** Finalizers may take their time. Throws when it is too long. */
async function awaitGone(ready: ReadyObject): Promise<void> {
  const { run, target, signal } = ready
  const { sink, timeouts, clock } = run.ports
  const giveUp = clock.now() + timeouts.terminating
  while ((await sink.read(target, { signal })) !== undefined) {
    if (clock.now() >= giveUp) {
      const message = `it is still being deleted after ${timeouts.terminating / 1000} s`
      throw new RestoreItemError('ITEM_NOT_READY', itemId(ready.item), {
        message,
        hint: 'see which finalizers hold it',
      })
    }
    await clock.sleep(pollMs, signal)
  }
}

function differs({ item }: ReadyObject, message: string): RestoreItemError {
  return new RestoreItemError('ITEM_DIFFERS', itemId(item), { message, hint: '' })
}

function refusal({ item, object }: ReadyObject, cause: unknown): RestoreItemError {
  const id = itemId(item)
  const { said, hint } = explainRefusal(cause, object)
  const message = `error updating ${resourceIdOf(id)}: ${said}`
  return new RestoreItemError('ITEM_REFUSED', id, { message, hint, cause })
}
