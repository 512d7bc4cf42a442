import { isTerminal, type Phased } from '@lateen/api'

/** Whether the work of a backup or restore is over. One that is being deleted has no other end than being gone. */
export function hasEnded(kind: Phased<string>, phase: string | undefined): boolean {
  return isTerminal(kind, phase) || phase === 'Deleting'
}
