import { lateenAnnotation, type OwnerReference, type Restore } from '@lateen/api'
import { isConflict, isInvalid, isNotFound } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { RestoreSink, SinkTarget } from '../sink/sink.ts'

/** An annotation of Restores: `false` leaves restored objects without owners, as Velero does. */
export const relinkOwnersAnnotation = lateenAnnotation('relink-owners')

/** Whether a restore links objects to their owners again. */
export function relinksOwners({ metadata }: Restore): boolean {
  return metadata.annotations?.[relinkOwnersAnnotation] !== 'false'
}

/**
 * Controllers that take over objects by their labels, the owned kind first. They set the reference themselves, within the second;
 * setting it for them would be a race and a request for each pod.
 */
const adopted: ReadonlySet<string> = new Set([
  'Pod apps/ReplicaSet',
  'Pod apps/StatefulSet',
  'Pod apps/DaemonSet',
  'Pod batch/Job',
  'Pod /ReplicationController',
  'ReplicaSet apps/Deployment',
  'ControllerRevision apps/StatefulSet',
  'ControllerRevision apps/DaemonSet',
])

/** An object whose owners were not all there when it was created. */
export interface UnlinkedObject {
  readonly target: SinkTarget
  readonly uid: string
  readonly resourceVersion: string
  /** As they are in the backup. */
  readonly references: readonly OwnerReference[]
  /** How many of them it was created with. */
  readonly known: number
  readonly fieldManager: string | undefined
}

/** The references of an object, those of which the owner is there with its new uid. */
export interface LinkedReferences {
  readonly references: OwnerReference[]
  /** Whether the others may still come to be there. */
  readonly complete: boolean
}

const conflicts = 5

/**
 * Who owned what in the backup, with the uids that objects have now. References to owners that are not restored are dropped: the
 * garbage collector would delete what refers to an owner that does not exist.
 */
export class OwnerLinks {
  readonly #enabled: boolean
  readonly #uids = new Map<string, string>()
  readonly #unlinked: UnlinkedObject[] = []

  constructor(enabled: boolean) {
    this.#enabled = enabled
  }

  /** An object of the backup is in the cluster now. */
  learn(oldUid: string | undefined, newUid: string | undefined): void {
    if (this.#enabled && oldUid && newUid) this.#uids.set(oldUid, newUid)
  }

  /** The references that matter of an object in the backup. */
  wanted(object: ActionItem): readonly OwnerReference[] {
    const references = object.metadata.ownerReferences
    if (!this.#enabled || references === undefined) return []
    return references.filter(({ apiVersion, kind }) => {
      const slash = apiVersion.indexOf('/')
      const group = slash < 0 ? '' : apiVersion.slice(0, slash)
      return !adopted.has(`${object.kind} ${group}/${kind}`)
    })
  }

  linked(references: readonly OwnerReference[]): LinkedReferences {
    const found = references.flatMap(reference => {
      const uid = this.#uids.get(reference.uid)
      return uid === undefined ? [] : [{ ...reference, uid }]
    })
    return { references: found, complete: found.length === references.length }
  }

  /** Remembers an object until all owners are there. */
  later(object: UnlinkedObject): void {
    this.#unlinked.push(object)
  }

  /** The objects to be linked now that all is restored, and the references for each. */
  *pending(): Iterable<UnlinkedObject> {
    for (const object of this.#unlinked.splice(0)) {
      const { references } = this.linked(object.references)
      if (references.length > object.known) yield { ...object, references }
    }
  }
}

/**
 * Gives an object its owners, those that the cluster has set meanwhile kept. An object that is gone, or was replaced, is left
 * alone. Throws KubeError, or the signal's reason.
 */
export async function linkOwners(
  sink: RestoreSink,
  object: UnlinkedObject,
  signal: AbortSignal,
): Promise<void> {
  let attempt: UnlinkedObject | undefined = object
  for (let left = conflicts; attempt !== undefined; left--) {
    const { target, resourceVersion, references: ownerReferences, fieldManager } = attempt
    const body = { metadata: { resourceVersion, ownerReferences } }
    try {
      await sink.patch(target, { type: 'merge', body }, { signal, fieldManager })
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (!(isConflict(error) || isInvalid(error)) || left <= 1) throw error
    }
    attempt = await readAgain(sink, object, signal)
  }
}

/** The object with what it refers to now; undefined when it is another one. */
async function readAgain(
  sink: RestoreSink,
  object: UnlinkedObject,
  signal: AbortSignal,
): Promise<UnlinkedObject | undefined> {
  const live = await sink.read(object.target, { signal })
  if (live === undefined || live.metadata.uid !== object.uid) return undefined
  const { resourceVersion = '', ownerReferences = [] } = live.metadata
  return { ...object, resourceVersion, references: joinReferences(ownerReferences, object.references) }
}

/** The references of both, at most one of them to a controller: the one that is set already. */
export function joinReferences(
  set: readonly OwnerReference[],
  wanted: readonly OwnerReference[],
): OwnerReference[] {
  const hasController = set.some(({ controller }) => controller === true)
  const known = new Set(set.map(({ uid }) => uid))
  const added = wanted.filter(({ uid, controller }) => !known.has(uid) && !(hasController && controller))
  return [...set, ...added]
}
