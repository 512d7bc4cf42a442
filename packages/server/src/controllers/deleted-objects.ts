import { type KubeObject, keyOf, type ObjectEvent } from '@lateen/kube'

/**
 * Objects that were deleted while somebody had to look after them, until that is done. It is told of every event, because a worker comes
 * to a key when it is free: by then the object that it should have seen may be gone, or another one may have its name.
 */
export class DeletedObjects<T extends KubeObject> {
  readonly #matters: (object: T) => boolean
  readonly #byUid = new Map<string, T>()

  /** `matters` tells of an object, as it was last, whether something is to be done now that it is gone. */
  constructor(matters: (object: T) => boolean) {
    this.#matters = matters
  }

  note({ type, object }: ObjectEvent<T>): void {
    if (type === 'deleted' && this.#matters(object)) this.#byUid.set(object.metadata.uid ?? '', object)
  }

  /** All that had this key, the first first. */
  of(key: string): T[] {
    return [...this.#byUid.values()].filter(object => keyOf(object) === key)
  }

  /** What was to be done about it is done. */
  settle({ metadata }: T): void {
    this.#byUid.delete(metadata.uid ?? '')
  }
}
