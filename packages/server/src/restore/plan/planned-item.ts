import type { ActionItem } from '@lateen/plugin'
import type { RestoredItem } from '../items/restored-item.ts'

/** What was there, and what would be there then. */
export interface PlannedObject {
  /** Without metadata of the server and without status; undefined when nothing is there. */
  readonly live?: ActionItem | undefined
  /** Undefined when the plan did not come so far as to know it. */
  readonly desired?: ActionItem | undefined
}

/** What a restore would do about an object, in the words of its own report. */
export interface PlannedItem extends RestoredItem {
  /** Namespace and name in the backup. */
  readonly source: { readonly namespace: string; readonly name: string }
  /** Reads the objects from scratch; nothing if the plan was made without them. Throws ScratchError. */
  objects(): Promise<PlannedObject>
}
