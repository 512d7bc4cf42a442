import { isTerminal, PodVolumeBackupKind, parseTime } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import type { NodeOs } from '../data-path/mover-pod.ts'
import type { MoveSort, VolumeMove } from './move-sort.ts'

/** A node agent, for work that any of them can take. */
export interface AnyNode {
  readonly node: string
  readonly os: NodeOs
}

interface Taken {
  status?: {
    phase?: string
    node?: string
    acceptedByNode?: string
    acceptedTimestamp?: string | null
  }
}

/**
 * Who does what of work that is for no node: the first node agent that accepts it prepares it, and that of the node where the scheduler puts its mover goes on.
 * What was not prepared in time, any of them ends; what was never accepted, any of them cleans up.
 */
export function takenByAnyNode<T extends VolumeMove & Taken>({
  node,
  os,
  clock,
  prepareTimeoutMs,
}: AnyNode & { clock: Clock; prepareTimeoutMs: number }): Pick<
  MoveSort<T>,
  'isOurs' | 'isHere' | 'accepted' | 'prepared' | 'started'
> {
  const isLate = ({ status }: Taken) =>
    Boolean(status?.acceptedTimestamp) &&
    clock.now() - parseTime(status?.acceptedTimestamp ?? '') > prepareTimeoutMs + PATIENCE_MS
  return {
    isOurs(object, mover) {
      const { phase, node: moving, acceptedByNode } = object.status ?? {}
      if (isTerminal(PodVolumeBackupKind, phase))
        return [undefined, '', node].includes(moving || acceptedByNode)
      switch (phase || 'New') {
        case 'New':
          return true
        case 'Accepted':
          return acceptedByNode === node || mover?.spec?.nodeName === node || isLate(object)
        default:
          return moving === node
      }
    },
    isHere: mover => mover.spec?.nodeName === node,
    accepted: () => ({ acceptedByNode: node }),
    prepared: () => ({ node }),
    started: () => ({ nodeOS: os }),
  }
}

/** For who is to end it first. */
const PATIENCE_MS = 60_000
