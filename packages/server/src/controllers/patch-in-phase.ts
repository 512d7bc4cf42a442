import { isConflict, type KubeObject, keyOf, unlessNotFound } from '@lateen/kube'
import { type ObjectPatch, type PatchPorts, patchObject } from './patch-object.ts'

/** An object that goes from phase to phase. */
interface Phased extends KubeObject {
  status?: { phase?: string | undefined; startTimestamp?: string | null | undefined } | undefined
}

export interface PhasePatch<T extends KubeObject> extends Pick<ObjectPatch<T>, 'kind'> {
  /** Merged into the object. */
  body: { metadata?: object; spec?: object | undefined; status: object & { phase?: string | undefined } }
}

/**
 * Writes to an object that still has the phase that it has here. Undefined when it is gone, when there is another one of its name, or when
 * it has another phase meanwhile: whoever moved it has taken it over, and what this process knows counts no longer. That holds for a
 * request, too, that arrives late. Throws KubeErrors.
 */
export async function patchInPhase<T extends Phased>(
  object: T,
  { kind, body }: PhasePatch<T>,
  ports: PatchPorts<T>,
): Promise<T | undefined> {
  const before = object.status?.phase
  let now: T | undefined = ports.latest.get(keyOf(object)) ?? object
  if (!isIn(before, now, object)) now = await readObject(object, kind, ports)
  while (now !== undefined && isIn(before, now, object)) {
    const { resourceVersion } = now.metadata
    const versioned = { ...body, metadata: { ...body.metadata, resourceVersion } }
    try {
      return await patchObject(object, { kind, patch: { type: 'merge', body: versioned } }, ports)
    } catch (error) {
      if (!isConflict(error)) throw error
      now = await readObject(object, kind, ports)
    }
  }
  // The answer to a first try may have been lost on its way, and the second was late then.
  return now !== undefined && isIn(body.status.phase, now, object) ? now : undefined
}

/** What an object is told that begins. */
export interface Beginning<T extends KubeObject> extends Pick<ObjectPatch<T>, 'kind'> {
  /** Merged into the object. */
  body: { metadata?: object; spec?: object | undefined; status: NonNullable<Phased['status']> }
}

/**
 * Writes to an object that is as it is here, in every respect. Undefined when it is gone. Throws KubeErrors: a conflict when anything of it has
 * changed, unless that is this very beginning, whose answer was lost on its way.
 */
export async function beginObject<T extends Phased>(
  object: T,
  { kind, body }: Beginning<T>,
  ports: PatchPorts<T>,
): Promise<T | undefined> {
  const { resourceVersion } = object.metadata
  const versioned = { ...body, metadata: { ...body.metadata, resourceVersion } }
  try {
    return await patchObject(object, { kind, patch: { type: 'merge', body: versioned } }, ports)
  } catch (error) {
    if (!isConflict(error)) throw error
    const now = await readObject(object, kind, ports)
    const { phase, startTimestamp } = body.status
    const isOurs =
      now !== undefined && isIn(phase, now, object) && now.status?.startTimestamp === startTimestamp
    if (!isOurs) throw error
    ports.latest.note(now)
    return now
  }
}

function isIn(phase: string | undefined, now: Phased, object: Phased): boolean {
  return now.metadata.uid === object.metadata.uid && now.status?.phase === phase
}

function readObject<T extends Phased>(
  { metadata }: T,
  kind: PhasePatch<T>['kind'],
  { client, signal }: PatchPorts<T>,
): Promise<T | undefined> {
  return client
    .resource(kind, metadata.namespace)
    .get(metadata.name ?? '', { signal })
    .catch(unlessNotFound)
}
