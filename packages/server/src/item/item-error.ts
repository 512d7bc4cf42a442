import type { ItemRef } from './item.ts'

type ItemErrorCode = 'ITEM_UNREADABLE' | 'ITEM_ACTION_FAILED' | 'ITEM_VOLUME_FAILED' | 'ITEM_TYPE_UNKNOWN'

export interface ItemErrorDetails {
  reason: string
  hint: string
  cause?: unknown
}

/** Why one object could not be stored. The backup goes on without it. */
export class ItemError extends Error {
  override readonly name = 'ItemError'
  readonly code: ItemErrorCode
  readonly item: string
  readonly hint: string

  constructor(code: ItemErrorCode, item: NamedItem, { reason, hint, cause }: ItemErrorDetails) {
    super(`${describeItem(item)}: ${reason}`, cause === undefined ? {} : { cause })
    this.code = code
    this.item = describeItem(item)
    this.hint = hint
  }
}

/** What names an object. */
export type NamedItem = Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>

/** `pods shop/web`, `persistentvolumes pv-1`. */
export function describeItem({ groupResource, namespace, name }: NamedItem): string {
  return `${groupResource} ${namespace === '' ? name : `${namespace}/${name}`}`
}

/** The fields that every line of the log about an object carries. */
export function itemFields({ groupResource, namespace, name }: NamedItem): Record<string, string> {
  return { resource: groupResource, namespace, name }
}

/** What an error says, whatever it is. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
