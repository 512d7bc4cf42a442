import { describeItem, type NamedItem } from '../../item/item-error.ts'

export type RestoreItemErrorCode =
  | 'ITEM_UNREADABLE'
  | 'ITEM_ACTION_FAILED'
  | 'ITEM_NOT_READY'
  | 'ITEM_REFUSED'
  | 'ITEM_DIFFERS'
  | 'ITEM_KIND_UNKNOWN'
  | 'ITEM_VOLUME_FAILED'
  | 'NAMESPACE_UNUSABLE'
  | 'VOLUME_EMPTY'
  | 'VOLUME_SHARED'

export interface RestoreItemErrorDetails {
  /** The whole sentence, without the hint. */
  message: string
  hint: string
  cause?: unknown
}

/** Why one object is not in the cluster as it was in the backup. The restore goes on without it. */
export class RestoreItemError extends Error {
  override readonly name = 'RestoreItemError'
  readonly code: RestoreItemErrorCode
  readonly item: string
  readonly hint: string

  constructor(
    code: RestoreItemErrorCode,
    item: NamedItem,
    { message, hint, cause }: RestoreItemErrorDetails,
  ) {
    super(hint === '' ? message : `${message}; ${hint}`, cause === undefined ? {} : { cause })
    this.code = code
    this.item = describeItem(item)
    this.hint = hint
  }
}

/** `deployments.apps/shop/web`: how messages of restores call objects. */
export function resourceIdOf({ groupResource, namespace, name }: NamedItem): string {
  return namespace === '' ? `${groupResource}/${name}` : `${groupResource}/${namespace}/${name}`
}
