import type { CallOptions, Patch, ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'

/** An object in the cluster that a restore writes to. */
export interface SinkTarget {
  readonly type: ResourceType<Unstructured>
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
}

export interface SinkOptions extends CallOptions {
  /** Who is to own the fields that are written. */
  fieldManager?: string | undefined
}

/** What a write came to. */
export interface SinkAnswer {
  /** The object as it is now, or would be. */
  readonly object: ActionItem
  /** What a reader must know of the answer, such as `not dry-run: namespace absent`. */
  readonly note?: string | undefined
}

/**
 * The cluster as a restore sees it. One implementation writes; another only asks what writing would do. All methods
 * repeat requests that failed for reasons which pass, and throw KubeErrors for others, or the signal's reason.
 */
export interface RestoreSink {
  /** Whether anything is changed. Where not, nothing that was written can be waited for or read back. */
  readonly writes: boolean
  /**
   * Creates the object; the name may be left to the server by `generateName`. Throws an error for which `isAlreadyExists` holds
   * when there is one, whoever made it: after a lost answer, the caller looks.
   */
  create(target: SinkTarget, object: ActionItem, options: SinkOptions): Promise<SinkAnswer>
  /** The object as it is; undefined when it, its namespace or its type is not there. */
  read(target: SinkTarget, options: CallOptions): Promise<ActionItem | undefined>
  patch(target: SinkTarget, patch: Patch, options: SinkOptions): Promise<SinkAnswer>
  /** Replaces the status; `object` carries the resource version that this is based on. */
  updateStatus(target: SinkTarget, object: ActionItem, options: SinkOptions): Promise<SinkAnswer>
  /** Deletes this very object, and leaves what it owns. One that is gone already is no error. */
  remove(target: SinkTarget, options: CallOptions & { uid: string }): Promise<void>
  /**
   * Asks whether an object could be created if the one of its name were gone. Changes nothing, whatever the sink. Throws a KubeError
   * only when it surely could not.
   */
  probe(target: SinkTarget, object: ActionItem, options: SinkOptions): Promise<void>
  /** All objects of a type in a namespace, as JSON. */
  list(
    target: Omit<SinkTarget, 'name'>,
    options: CallOptions,
  ): AsyncIterable<{ name: string; json: Uint8Array }>
}
